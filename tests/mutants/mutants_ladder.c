/* Bugs in the rungs of the ladder. */
#include "mutants.h"

#define NAIVE     "ladder_naive BM=7 BN=5", "nn"
#define COALESCED "ladder_coalesced BM=3 BN=64", "nn"
#define SHARED    "ladder_shared BM=16 BN=64 BK=8", "nn"
#define COLUMN    "ladder_blocktile_1d BM=64 BN=64 BK=8 TM=8", "nn"
#define PIECE     "ladder_blocktile_2d BM=32 BN=64 BK=12 TM=2 TN=4", "nn"
#define VECTORS   "ladder_vectorized BM=32 BN=64 BK=8 TM=4 TN=8", "nn"
#define BUFFERED  "ladder_double_buffered BM=64 BN=32 BK=8 TM=8 TN=8 MIN_BLOCKS=1", "nn"
#define WARPS     "ladder_warptiled BM=64 BN=64 BK=16 WM=64 WN=32 TM=8 TN=8 MIN_BLOCKS=1", "nn"

const struct mutant mutants_ladder[] = {
    {"K sum starts at 1", NAIVE, {"naive.cu", "int k = 0", "int k = 1"}},
    {"one row past the edge", NAIVE, {"naive.cu", "m >= args.m", "m > args.m"}},
    {"A taken as transposed", NAIVE, {"naive.cu", "m * args.lda + k", "k * args.lda + m"}},
    {"last column not written", COALESCED, {"coalesced.cu", "n >= args.n", "n >= args.n - 1"}},
    {"ldc ignored", COALESCED, {"coalesced.cu", "m * args.ldc", "m * (long long)args.n"}},
    {"row offset in 32 bits",
     COALESCED,
     {"coalesced.cu", "m * args.ldc", "(unsigned)m * (unsigned)args.ldc"}},
    {"no barrier after loading", SHARED, {"shared.cu", "        __syncthreads();\n\n", "\n"}},
    {"no barrier before loading again", SHARED, {"shared.cu", "        __syncthreads();\n    }", "    }"}},
    {"threads outside C leave early",
     SHARED,
     {"shared.cu", "    float sum = 0.0f;\n",
      "    float sum = 0.0f;\n    if (tile_m + row >= args.m || tile_n + col >= args.n) return;\n"}},
    {"K tail of A not zeroed", SHARED, {"shared.cu", "args.m, s.k);", "args.m, s.k + 1);"}},
    {"K tail of B not zeroed", SHARED, {"shared.cu", "s.k, args.n);", "s.k + 1, args.n);"}},
    {"last step of K left out", COLUMN, {"blocktile_1d.cu", "k0 < s.k;", "k0 + BK <= s.k;"}},
    {"threads a column too close", COLUMN, {"blocktile_1d.cu", "tid / BN * TM", "tid / BN * (TM - 1)"}},
    {"a and b swapped in the outer product",
     PIECE,
     {"blocktile_2d.cu", "sum[i][j] += a[i] * b[j]", "sum[i][j] += a[j % TM] * b[i]"}},
    {"tiles ordered by the wrong count",
     PIECE,
     {"blocktile_2d.cu", "tile_of_block<BM, BN>(args.n)", "tile_of_block<BM, BN>(args.m)"}},
    {"no barrier after loading vectors", VECTORS, {"vectorized.cu", "        __syncthreads();\n\n", "\n"}},
    {"vectors on misaligned rows",
     VECTORS,
     {"vectorized.cu", "vectors_a = fits_vectors(args.a, args.lda)", "vectors_a = true"}},
    {"misaligned vectors of C", VECTORS, {"ladder_device.cuh", "fits_vectors(args.c, args.ldc)", "true"}},
    {"vector load past the row's end",
     VECTORS,
     {"ladder_device.cuh", "if (vectors && row < rows && col + 3 < cols)",
      "if (vectors && row < rows && col < cols)"}},
    {"vector store past the row's end",
     VECTORS,
     {"ladder_device.cuh", "if (vectors && col + 3 < cols) {", "if (vectors && col < cols) {"}},
    {"one of four floats misplaced", VECTORS, {"vectorized.cu", "As[k + 2][m] = v.z", "As[k + 2][m] = v.y"}},
    {"beta 0 reads C", PIECE, {"ladder_device.cuh", "s.beta == 0.0f ? s.alpha * sum :", "false ? 0.0f :"}},
    {"alpha 0 reads A and B", PIECE, {"ladder_device.cuh", "s.alpha == 0.0f ? 0 : args.k", "args.k"}},
    {"alpha by pointer ignored",
     PIECE,
     {"ladder_device.cuh", "args.alpha_device ? *args.alpha_device : args.alpha", "args.alpha"}},
    {"no barrier between the buffers",
     BUFFERED,
     {"double_buffered.cu", "            __syncthreads();\n        }", "        }"}},
    {"always the same buffer", BUFFERED, {"double_buffered.cu", "buffer = 1 - buffer;", ""}},
    {"the next fragments into the current registers",
     BUFFERED,
     {"double_buffered.cu", "read_fragment<TN>(b[(k + 1) % 2]", "read_fragment<TN>(b[k % 2]"}},
    {"the same tile fetched again",
     BUFFERED,
     {"double_buffered.cu", "k0 + BK, s.k, vectors", "k0, s.k, vectors"}},
    {"lanes share a place", WARPS, {"warptiled.cu", "lane / 2 % LANES_N", "lane % LANES_N"}},
    {"pieces of a thread too close",
     WARPS,
     {"warptiled.cu", "#define STEP_N  (LANES_N * 4)", "#define STEP_N  4"}},
    {"rows of warps from the wrong count",
     WARPS,
     {"warptiled.cu", "warp / (BN / WN) * WM", "warp / (BM / WM) * WM"}},
};
const int mutants_ladder_count = sizeof mutants_ladder / sizeof *mutants_ladder;
