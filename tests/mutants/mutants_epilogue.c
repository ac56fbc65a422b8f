/* Bugs in epilogues, in all families. */
#include "mutants.h"

#define PLAIN                                                                                                \
    "simt BM=32 BN=32 BK=8 WM=16 WN=32 TM=4 TN=4 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=8 STORE_AT=4 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
#define SPLIT                                                                                                \
    "simt BM=32 BN=32 BK=4 WM=16 WN=32 TM=4 TN=4 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=9"
#define CLUSTER                                                                                              \
    "simt BM=32 BN=32 BK=4 WM=16 WN=32 TM=4 TN=4 STAGES=4 LOADER=1 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=3 GROUP=1 SPLIT_K=3"
#define TEAMS                                                                                                \
    "simt BM=32 BN=32 BK=16 WM=32 WN=32 TM=4 TN=8 WARPS_K=4 STAGES=4 LOADER=1 PACK=0 VA=1 VB=1 VC=1 "        \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
#define LAST_BLOCK                                                                                           \
    "simt BM=32 BN=32 BK=4 WM=16 WN=32 TM=4 TN=4 STAGES=4 LOADER=1 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=5"
#define SKINNY                                                                                               \
    "skinny SIDE=1 ROWS=6 TX=2 VX=1 VS=1 VC=1 LANES_X=8 WARPS_X=2 WARPS_K=1 DEPTH=1 STEPS=2 LOADER=0 "       \
    "MIN_BLOCKS=1 SPLIT_K=3"
#define RESIDENT                                                                                             \
    "resident SIDE=0 BM=32 BN=64 BK=8 WM=32 WN=32 TM=8 TN=4 STAGES=3 VS=1 VC=1 UNROLL=8 MIN_BLOCKS=1 SMS=1"
#define MMA      "mma BM=32 BN=32 BK=16 WM=32 WN=32 STAGES=2 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 SPLIT_K=1"
#define MMA_WIDE "mma BM=32 BN=64 BK=16 WM=32 WN=64 STAGES=2 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 SPLIT_K=1"

const struct mutant mutants_epilogue[] = {
    {"bias of the column before",
     PLAIN,
     "nn:bias",
     {"gt_epilogue.cuh", "__ldg(from + offset)", "__ldg(from + offset - (column + offset > 0))"}},
    {"bias beyond the last column",
     PLAIN,
     "nn:bias",
     {"gt_epilogue.cuh", "blend.finishes && column + offset < n", "blend.finishes"}},
    {"a bias for each row taken by columns",
     PLAIN,
     "nn:rowbias",
     {"gt_epilogue.cuh", "if (BIAS == 1)", "if (BIAS)"}},
    {"bias of the first item for all",
     PLAIN,
     "nt:rowbias+relu",
     {"gt_epilogue.cuh", "args.bias + blockIdx.z * args.stride_bias", "args.bias"}},
    {"activation before the bias",
     PLAIN,
     "nn:bias+relu",
     {"gt_epilogue.cuh", "activated(BIAS ? value[e] + bias.of[e] : value[e], blend.limit)",
      "activated(value[e], blend.limit) + bias.of[e]"}},
    {"a NaN becomes 0",
     PLAIN,
     "nn:bias+relu",
     {"gt_epilogue.cuh", "x < limit ? 0.0f : x", "x >= limit ? x : 0.0f"}},
    {"a digit of GELU is wrong", PLAIN, "nn:gelu", {"gt_epilogue.cuh", "-0.10294324f", "-0.10394324f"}},
    {"C read where D is stored",
     PLAIN,
     "nn:out",
     {"gt_epilogue.cuh", "reinterpret_cast<const char *>(c) + blend.to_source",
      "reinterpret_cast<const char *>(c)"}},
    {"C read from the element before",
     PLAIN,
     "nn:bias+out",
     {"gt_epilogue.cuh", "+ blend.to_source)", "+ blend.to_source - 4)"}},
    {"stored to the source",
     PLAIN,
     "nn:relu+out",
     {"gt_store.cuh", "store_global<V>(c + e, out + e)",
      "store_global<V>(const_cast<float *>(source_of(blend, c)) + e, out + e)"}},
    {"parts are finished",
     SPLIT,
     "nn:relu",
     {"gt_epilogue.cuh", "0.0f, false, -infinite()", "0.0f, false, 0.0f"}},
    {"parts get the bias, too",
     SPLIT,
     "nn:bias",
     {"gt_epilogue.cuh", "0.0f, false, -infinite()", "0.0f, true, -infinite()"}},
    {"the sum of parts is not finished",
     SPLIT,
     "nn:gelu",
     {"gt_reduce.cuh", "blend = blend_of(args)", "blend = blend_of_parts(blend_of(args))"}},
    {"a row's bias at the row of another vector",
     SPLIT,
     "tn:rowbias",
     {"gt_reduce.cuh", "biases_at<V>(blend, row, column)", "biases_at<V>(blend, row / 2, column)"}},
    {"the last block finishes its part before it is added",
     LAST_BLOCK,
     "nn:relu",
     {"gt_reduce.cuh", "out[e] = alpha * sum[(i + e) / TILE_N][(i + e) % TILE_N];",
      "out[e] = activated(alpha * sum[(i + e) / TILE_N][(i + e) % TILE_N], 0.0f);"}},
    {"the block's rows of a cluster's tile counted from its first",
     CLUSTER,
     "tn:rowbias+relu",
     {"gt_cluster.cuh", "blend_from(blend, begin, 0)", "blend"}},
    {"bias of the first tile for all",
     TEAMS,
     "nn:bias+gelu",
     {"simt.cu", "blend_from(blend, origin.m, origin.n)", "blend"}},
    {"a tile's bias counted by its rows",
     TEAMS,
     "tn:bias",
     {"gt_epilogue.cuh", "BIAS == 1 ? column : row", "BIAS == 1 ? row : column"}},
    {"rows and columns of few columns exchanged",
     SKINNY,
     "nn:bias+out",
     {"skinny_sum.cuh", "SIDE == 0 ? row : column, SIDE == 0 ? column : row", "row, column"}},
    {"a row's bias as if a thread's rows were neighbours",
     RESIDENT,
     "nn:rowbias",
     {"gt_store.cuh", "bias.load_row(blend, row + i / CM * (GRID_M * CM) + i % CM)",
      "bias.load_row(blend, row + i)"}},
    {"without products the bias of the first row",
     RESIDENT,
     "nn:rowbias+gelu",
     {"gt_stream.cuh", "biases_at<1>(blend, row, column)", "biases_at<1>(blend, 0, column)"}},
    {"bias of the wrong half of a lane's columns",
     MMA,
     "nt:bias",
     {"mma.cu", "SWAPPED ? j : j * 2 + half * 4", "SWAPPED ? j : j * 2 + (1 - half) * 4"}},
    {"biases of a transposed product's pieces side by side",
     MMA_WIDE,
     "nn:bias",
     {"mma.cu", "4, SWAPPED ? 8 : 4>(blend", "4, SWAPPED ? 4 : 4>(blend"}},
};
const int mutants_epilogue_count = sizeof mutants_epilogue / sizeof *mutants_epilogue;
