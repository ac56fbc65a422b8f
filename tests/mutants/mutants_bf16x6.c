/* Bugs in the family for FP32 as three BF16 pieces. */
#include "mutants.h"

#define PLAIN "bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define WALKS "bf16x6 BM=64 BN=24 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=1 GROUP=2 SPLIT_K=1 SMS=2"
#define PAIR  "bf16x6 BM=128 BN=16 BK=64 STAGES=4 FUSE=0 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=1 SMS=1"

#define PARTS "bf16x6 BM=64 BN=16 BK=64 STAGES=4 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=3 SMS=132"

#define FUSED       "bf16x6 BM=64 BN=16 BK=64 STAGES=6 FUSE=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=2"
#define FUSED_PARTS "bf16x6 BM=64 BN=32 BK=64 STAGES=6 FUSE=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=3 SMS=3"
#define FUSED_WIDE  "bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=1 VA=4 VB=4 VC=1 GROUP=1 SPLIT_K=1 SMS=132"

#define HALF      "bf16x6 BM=64 BN=16 BK=64 STAGES=4 FUSE=2 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=2"
#define HALF_PAIR "bf16x6 BM=128 BN=16 BK=64 STAGES=3 FUSE=2 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define HALF_SWAP "bf16x6 BM=16 BN=64 BK=64 STAGES=5 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define WHOLE     "bf16x6 BM=64 BN=32 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=1 SMS=2"

#define LOOP(find, replace)                                                                                  \
    {                                                                                                        \
        "bf16x6.cu", find, replace                                                                           \
    }
#define SPLIT(find, replace)                                                                                 \
    {                                                                                                        \
        "bf16x6_split.cuh", find, replace                                                                    \
    }
#define FUSE(find, replace)                                                                                  \
    {                                                                                                        \
        "bf16x6_fuse.cuh", find, replace                                                                     \
    }
#define RAW(find, replace)                                                                                   \
    {                                                                                                        \
        "bf16x6_raw.cuh", find, replace                                                                      \
    }
#define STORE(find, replace)                                                                                 \
    {                                                                                                        \
        "bf16x6_store.cuh", find, replace                                                                    \
    }

const struct mutant mutants_bf16x6[] = {
    /* What makes it accurate. */
    {"sums are not promoted", PLAIN, "nn",
     LOOP("        if (ANEW && k == 0) wgmma_anew(part, left, right);\n"
          "        else wgmma<true, true, true, WGMMA_N, 0>(part, left + k * 2, right + k * 2);\n"
          "    }\n"
          "}\n"
          "#endif\n"
          "\n"
          "/* By FADD, which rounds to nearest. */\n"
          "static __device__ __forceinline__ void promote(const float (&part)[QUADS][4], float "
          "(&sum)[QUADS][4])\n"
          "{\n"
          "#pragma unroll\n"
          "    for (int q = 0; q < QUADS; q++)\n"
          "#pragma unroll\n"
          "        for (int e = 0; e < 4; e++) sum[q][e] += part[q][e];",
          "        wgmma<true, true, true, WGMMA_N, 0>(part, left + k * 2, right + k * 2);\n"
          "    }\n"
          "}\n"
          "#endif\n"
          "\n"
          "/* By FADD, which rounds to nearest. */\n"
          "static __device__ __forceinline__ void promote(const float (&part)[QUADS][4], float "
          "(&sum)[QUADS][4])\n"
          "{\n"
          "#pragma unroll\n"
          "    for (int q = 0; q < QUADS; q++)\n"
          "#pragma unroll\n"
          "        for (int e = 0; e < 4; e++) sum[q][e] = part[q][e];")},
    {"the product of the low piece of A is left out", PLAIN, "nn",
     LOOP("    multiply_pieces<true>(ring, low, high, group, part);\n    multiply_pieces<false>(ring, high, "
          "low",
          "    multiply_pieces<true>(ring, high, low")},
    {"the product of the low piece of B is left out", PLAIN, "nt",
     LOOP("    multiply_pieces<false>(ring, high, low, group, part);\n", "")},
    {"the product of the middle pieces is left out", PLAIN, "nn",
     LOOP("    multiply_pieces<false>(ring, middle, middle, group, part);\n", "")},
    {"a product of high and middle piece twice, the other not", PLAIN, "nn",
     LOOP("multiply_pieces<false>(ring, high, middle, group",
          "multiply_pieces<false>(ring, middle, high, group")},
    {"sums of the step before are multiplied again", PLAIN, "nn",
     LOOP("if (ANEW && k == 0) wgmma_anew(part, left, right);\n        else wgmma", "wgmma")},
    {"the last 16 k of a step are left out", PLAIN, "nn", LOOP("k < BK / 16; k++", "k < BK / 16 - 1; k++")},
    {"the middle piece is the rest of nothing", PLAIN, "nn",
     SPLIT("x -= unpacked<true>((unsigned short)word[p - 1]);", "if (p > 1) x -= unpacked<true>((unsigned "
                                                                "short)word[p - 1]);")},
    {"the low piece of every second element is lost", PLAIN, "nn",
     SPLIT("piece[p][e + 1] = (unsigned short)(word[p] >> 16);",
           "piece[p][e + 1] = p == 2 ? 0 : (unsigned short)(word[p] >> 16);")},
    {"pieces are scaled by half", PLAIN, "nn",
     SPLIT("word[p] = packed<true>(x, y);", "word[p] = packed<true>(0.5f * x, 0.5f * y);")},
    {"values near the largest are rounded to infinity", PLAIN, "nn",
     SPLIT("word[0] = packed<true>(high_x, high_y);", "word[0] = packed<true>(x, y) & 0xff7fff7fu;")},
    /* Infinity and NaN. */
    {"sums that are not finite are stored", PLAIN, "nn", STORE("if (all_finite(sum[q])) to", "if (true) to")},
    {"only the first sum of a quad is looked at", PLAIN, "nn",
     STORE("for (int e = 0; e < 4; e++) zero", "for (int e = 0; e < 1; e++) zero")},
    {"the second pass takes the first column", PLAIN, "nn",
     STORE("sum_strictly(args, row, column + q * 8, quad)", "sum_strictly(args, row, column, quad)")},
    {"the second pass leaves out the last k", PLAIN, "nn", STORE("k < args.k; k++", "k < args.k - 1; k++")},
    /* Splitting. */
    {"the first item of the batch for all, of A", PLAIN, "nn",
     SPLIT("return SHARED_ITEMS && args.stride_a == 0 ? 0 : blockIdx.z;", "return 0;")},
    {"the first item of the batch for all, of B", PLAIN, "nn",
     SPLIT("return SHARED_ITEMS && args.stride_b == 0 ? 0 : blockIdx.z;", "return 0;")},
    {"pieces of all items in one place", PLAIN, "nn", SPLIT("blockIdx.z * (PIECES * apart)", "0")},
    {"rows of A where columns of B belong", PLAIN, "nn", SPLIT("to + args.m * line, line", "to, line")},
    {"reads beyond the last row", PLAIN, "nn", SPLIT("row < rows && own_k < k)", "own_k < k)")},
    {"reads beyond the last k", PLAIN, "nt", SPLIT("row < rows && own_k < k)", "row < rows)")},
    {"a tile is not turned", PLAIN, "tn",
     SPLIT("inner * SPLIT_LINE + outer),", "outer * SPLIT_LINE + inner),")},
    {"a tile is read before it is there", PLAIN, "nn",
     SPLIT("    __syncthreads();\n    /* A warp", "    /* A warp")},
    /* The ring. */
    {"copies into a stage that is still read", PLAIN, "nn",
     LOOP("            mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);\n", "")},
    {"multiplies before the copies have landed", PLAIN, "nn",
     LOOP("    mbarrier_wait(ring.full(middle.stage), middle.parity);\n", "")},
    {"the low pieces are given back while they are multiplied", WALKS, "nn",
     LOOP("    wgmma_wait<1>(part);\n    mbarrier_arrive(ring.empty(step.low.stage), speaks);\n",
          "    mbarrier_arrive(ring.empty(step.low.stage), speaks);\n    wgmma_wait<1>(part);\n")},
    {"the other pieces are given back while they are multiplied", PAIR, "nn",
     LOOP("    wgmma_wait<0>(part);\n    mbarrier_arrive(ring.empty(step.high.stage), speaks);\n",
          "    mbarrier_arrive(ring.empty(step.high.stage), speaks);\n    wgmma_wait<0>(part);\n")},
    {"pieces arrive in another order than they are taken", PLAIN, "nn",
     LOOP("return i == 0 ? 2 : i - 1;", "return i;")},
    {"all steps are the first", PLAIN, "nn",
     LOOP("tensor_copy(to, args.left, k, left_of", "tensor_copy(to, args.left, 0, left_of")},
    {"all groups multiply the first rows", PAIR, "nn", LOOP("group * (64 * 128)", "0")},
    {"a block takes its first tile again", WALKS, "nn",
     LOOP("return {number % tiles, split", "return {blockIdx.x % tiles, split")},
    {"sums of the tile before stay", WALKS, "nn",
     LOOP("            clear(sum);\n", "            if (number == blockIdx.x) clear(sum);\n")},
    {"alpha is taken for 0 where it is not", WALKS, "nn", LOOP("k > 0, sum", "k > 1, sum")},
    /* Blocks that share tiles. */
    {"the last block stores its own part only", PARTS, "nn",
     STORE("    part::add(parts, args.splits, sum);\n", "")},
    {"counters are not reset", PARTS, "nn",
     STORE("        if (last) *arrivals = 0; /* for the next launch */\n", "")},
    {"parts of all tiles in one place", PARTS, "nn",
     STORE("(blockIdx.z * (long long)tiles + tile) * args.splits * part::FLOATS", "0")},
    {"parts where pieces are", PARTS, "nn", STORE(" + gridDim.z * pieces", "")},
    {"a block takes the first k", PARTS, "nn", LOOP("begin = split * args.k_per_split", "begin = 0")},
    {"the last part goes beyond k", PARTS, "nn", LOOP("end < k ? end : k}", "end}")},
    /* Splitting by the block itself. */
    {"pieces are stored where they are still read", FUSED, "nn",
     FUSE("            mbarrier_wait(ring.empty(taken[i].stage), taken[i].parity ^ 1);\n", "")},
    {"pieces are stored without the swizzle", FUSED, "nn", FUSE("(run_of(i) ^ row % 8)", "run_of(i)")},
    {"pieces of B where those of A are", FUSED, "nn",
     FUSE("taken[i].stage * (STAGE_BYTES / 4) + LEFT_BYTES / 4;", "taken[i].stage * (STAGE_BYTES / 4);")},
    {"a piece takes the place of another", FUSED, "nn", FUSE("to_a[piece_in_turn(i)]", "to_a[i]")},
    {"all steps split the first k of A", FUSED, "nn", FUSE("        a += BK * step_a;\n", "")},
    {"all steps split the first k of B", FUSED, "nt", FUSE("        b += BK * step_b;\n", "")},
    {"A is loaded beyond the end of k", FUSED, "nn",
     FUSE("tile_a.load(a, gemm.lda, rows, left - BK)", "tile_a.load(a, gemm.lda, rows, left)")},
    {"B is loaded beyond its columns", FUSED, "nn", FUSE("columns, left);", "columns + 1, left);")},
    {"a vector is read beyond the end of k", FUSED_WIDE, "nt", FUSE("first + 8 <= k)", "first + 4 <= k)")},
    {"only the first warp says that pieces are there", FUSED, "nn",
     LOOP("RIGHT_SPLIT ? WARPGROUP / 32 : 1", "1")},
    {"parts of k begin where all k does", FUSED_PARTS, "nn", FUSE("share.begin * step_b", "0 * step_b")},
    /* Splitting by those that multiply, and by seven warps. */
    {"rows arrive where they are still read", WHOLE, "nn",
     RAW("    mbarrier_wait(ring.raw_empty(turn.stage), turn.parity ^ 1);\n", "")},
    {"rows are split before they have arrived", HALF, "nn",
     LOOP("    mbarrier_wait(ring.raw_full(raw.stage), raw.parity);\n", "")},
    {"rows are given back before they are split", HALF, "nn",
     LOOP("    left.split(ring.raw(raw.stage), group);\n",
          "    mbarrier_arrive(ring.raw_empty(raw.stage), threadIdx.x % 32 == 0);\n    "
          "left.split(ring.raw(raw.stage), group);\n")},
    {"the second 32 k of rows are the first", HALF, "nn", RAW("map, k + 32 * i, row", "map, k, row")},
    {"the second 32 rows across k are the first", HALF, "tn", RAW("map, row + 32 * i, k", "map, row, k")},
    {"all items have the first one's rows", HALF, "nn",
     RAW("item_a = args.gemm.stride_a != 0 ? blockIdx.z : 0", "item_a = 0")},
    {"all groups split the first rows", HALF_PAIR, "nn", RAW("group * (128 * 64)", "0")},
    {"rows are read without the swizzle", HALF, "nn", RAW("(t / 2 ^ row % 8) << 4", "(t / 2) << 4")},
    {"rows across k are read without the swizzle", HALF, "tn", RAW("row % 32 * 4 ^ k << 4", "row % 32 * 4")},
    {"the rows of a product are not those that are stored", HALF, "nn",
     RAW("* 16 + row_in_eight(lane / 4)", "* 16 + lane / 4")},
    {"k and rows of a piece change places", HALF, "nn", RAW("step, i / 2, i % 2)", "step, i % 2, i / 2)")},
    {"the low piece of the left operand is left out", HALF, "nn",
     LOOP("    left.multiply<2, true>(ring.stage(high.stage), part);\n    left.multiply<0, false>",
          "    left.multiply<0, true>")},
    {"the low piece of the right operand is left out", HALF, "nn",
     LOOP("    left.multiply<0, false>(ring.stage(low.stage), part);\n", "")},
    {"the middle piece of the left operand once", HALF, "nn",
     LOOP("left.multiply<1, false>(ring.stage(high.stage)",
          "left.multiply<0, false>(ring.stage(high.stage)")},
    {"large values of a raw operand become infinite", HALF, "nn",
     SPLIT("packed_finite(x, y)", "packed<true>(x, y)")},
    {"parts where pieces of the right operand are", HALF, "nn",
     SPLIT("(SWAP ? args.m : args.n) * piece_line", "(SWAP ? args.n : args.m) * piece_line")},
    {"C is not turned back", HALF_SWAP, "nn",
     STORE("put_one<BLEND>(right + e % 2, left + 8 * (e / 2)",
           "put_one<BLEND>(left + 8 * (e / 2), right + e % 2")},
    {"the second pass takes rows for columns", HALF_SWAP, "nn",
     STORE("x[SWAP ? e % 2 : e / 2], y[SWAP ? e / 2 : e % 2]", "x[e / 2], y[e % 2]")},
    {"a run has its first 4 k twice", WHOLE, "nt", RAW("flipped(first, 16)", "first")},
    {"runs across k are read without the swizzle", WHOLE, "nn",
     RAW("moved(flipped(first, e << 4), e", "moved(first, e")},
    {"pieces of runs are stored without the swizzle", WHOLE, "nn", RAW("(run ^ row % 8) * 16;", "run * 16;")},
    {"the last runs are left out", WHOLE, "nn",
     RAW("COUNT = (ALL + SPLITTERS - 1) / SPLITTERS", "COUNT = ALL / SPLITTERS")},
    {"runs are split before they have arrived", WHOLE, "nn",
     RAW("        mbarrier_wait(ring.raw_full(raw.stage), raw.parity);\n", "")},
    {"pieces of runs are stored where they are still read", WHOLE, "nn",
     RAW("            mbarrier_wait(ring.empty(taken[i].stage), taken[i].parity ^ 1);\n", "")},
    {"two warps say that all have split", WHOLE, "nn",
     LOOP("full(i), RIGHT_RAW ? SPLITTERS / 32 :", "full(i), RIGHT_RAW ? 2 :")},
    {"rows are given back before they are split by the others", WHOLE, "nn",
     LOOP("CONSUMERS * 4 + (RIGHT_RAW ? SPLITTERS / 32 : 0)", "CONSUMERS * 4")},
    /* Storing. */
    {"rows beyond C are stored", PLAIN, "nn",
     STORE("if (row >= m || column >= n) return;", "if (column >= n) return;")},
    {"the second of two columns is stored beyond C", PLAIN, "nn",
     STORE("            if (column + 1 < n)\n", "")},
    {"beta is left out", PLAIN, "nn",
     STORE("if (to.blend != 0.0f) store_quads<true>", "if (false) store_quads<true>")},
    {"all warps store the first rows", PLAIN, "nn",
     STORE("origin.m + threadIdx.x / 32 * 16 +", "origin.m +")},
};
const int mutants_bf16x6_count = sizeof mutants_bf16x6 / sizeof *mutants_bf16x6;
