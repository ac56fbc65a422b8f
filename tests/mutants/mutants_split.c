/* Bugs in the families for FP32 as pieces of 16 bits; those in what bf16x6 and f16x3 share are planted in
 * both.
 */
#include "mutants.h"

#define BF16X6_PLAIN       "bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define BF16X6_WALKS       "bf16x6 BM=64 BN=24 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=1 GROUP=2 SPLIT_K=1 SMS=2"
#define BF16X6_PAIR        "bf16x6 BM=128 BN=16 BK=64 STAGES=4 FUSE=0 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=1 SMS=1"
#define BF16X6_PARTS       "bf16x6 BM=64 BN=16 BK=64 STAGES=4 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=3 SMS=132"
#define BF16X6_FUSED       "bf16x6 BM=64 BN=16 BK=64 STAGES=6 FUSE=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=2"
#define BF16X6_FUSED_PARTS "bf16x6 BM=64 BN=32 BK=64 STAGES=6 FUSE=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=3 SMS=3"
#define BF16X6_FUSED_WIDE  "bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=1 VA=4 VB=4 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define BF16X6_HALF        "bf16x6 BM=64 BN=16 BK=64 STAGES=4 FUSE=2 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=2"
#define BF16X6_HALF_PAIR   "bf16x6 BM=128 BN=16 BK=64 STAGES=3 FUSE=2 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define BF16X6_HALF_SWAP                                                                                     \
    "bf16x6 BM=16 BN=64 BK=64 STAGES=5 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define BF16X6_WHOLE  "bf16x6 BM=64 BN=32 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=1 SMS=2"
#define F16X3_PLAIN   "f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=16 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define F16X3_WALKS   "f16x3 BM=64 BN=24 BK=64 STAGES=5 LOW=16 VC=1 GROUP=2 SPLIT_K=1 SMS=1"
#define F16X3_PAIR    "f16x3 BM=128 BN=16 BK=64 STAGES=2 LOW=16 VC=2 GROUP=1 SPLIT_K=1 SMS=1"
#define F16X3_EIGHTHS "f16x3 BM=64 BN=16 BK=128 STAGES=3 LOW=8 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define F16X3_PARTS   "f16x3 BM=64 BN=16 BK=64 STAGES=4 LOW=16 VC=1 GROUP=1 SPLIT_K=3 SMS=132"

#define IN(file, find, replace)                                                                              \
    {                                                                                                        \
        file, find, replace                                                                                  \
    }
#define RING(find, replace)         IN("gt_split_ring.cuh", find, replace)
#define STORE(find, replace)        IN("gt_split_store.cuh", find, replace)
#define BF16X6_LOOP(find, replace)  IN("bf16x6.cu", find, replace)
#define BF16X6_SPLIT(find, replace) IN("bf16x6_split.cuh", find, replace)
#define FUSE(find, replace)         IN("bf16x6_fuse.cuh", find, replace)
#define RAW(find, replace)          IN("bf16x6_raw.cuh", find, replace)
#define F16X3_LOOP(find, replace)   IN("f16x3.cu", find, replace)
#define F16X3_SPLIT(find, replace)  IN("f16x3_split.cuh", find, replace)
#define SCALE(find, replace)        IN("f16x3_scale.cuh", find, replace)
#define EXPONENT(find, replace)     IN("gt_exponent.cuh", find, replace)

#define BOTH(name, kernel, op, ...)                                                                          \
    {name, BF16X6_##kernel, op, __VA_ARGS__},                                                                \
    {                                                                                                        \
        name, F16X3_##kernel, op, __VA_ARGS__                                                                \
    }

#define LOOPS(name, kernel, op, find, replace)                                                               \
    {name, BF16X6_##kernel, op, BF16X6_LOOP(find, replace)},                                                 \
    {                                                                                                        \
        name, F16X3_##kernel, op, F16X3_LOOP(find, replace)                                                  \
    }

const struct mutant mutants_split[] = {
    /* Of both: what makes them accurate. */
    BOTH("sums of the step before stay", PLAIN, "nn", RING("if (ANEW && k == 0)", "if (false)")),
    BOTH("the last sums only", PLAIN, "nn", RING("sum[q][e] += part[q][e];", "sum[q][e] = part[q][e];")),
    BOTH("the last 16 k of a step are left out", PLAIN, "nn",
         RING("k < STEP_K / 16; k++", "k < STEP_K / 16 - 1; k++")),
    /* The ring. */
    LOOPS("copies into a stage that is still read", PLAIN, "nn",
          "mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);\n", "\n"),
    BOTH("all groups multiply the first rows", PAIR, "nn",
         RING("ring.stage(a.stage), group * (64 * 128)", "ring.stage(a.stage), 0")),
    BOTH("a block takes its first tile again", WALKS, "nn",
         RING("return {number % tiles, split", "return {blockIdx.x % tiles, split")),
    LOOPS("sums of the tile before stay", WALKS, "nn", "            clear(sum);\n",
          "            if (number == blockIdx.x) clear(sum);\n"),
    LOOPS("alpha is taken for 0 where it is not", WALKS, "nn", "k > 0, sum", "k > 1, sum"),
    /* Infinity and NaN. */
    BOTH("sums that are not finite are stored", PLAIN, "nn",
         STORE("if (all_finite(sum[q])) to", "if (true) to")),
    BOTH("only the first sum of a quad is looked at", PLAIN, "nn",
         STORE("for (int e = 0; e < 4; e++) zero", "for (int e = 0; e < 1; e++) zero")),
    BOTH("the second pass takes the first column", PLAIN, "nn",
         STORE("sum_strictly(args, row, column + q * 8, quad)", "sum_strictly(args, row, column, quad)")),
    BOTH("the second pass leaves out the last k", PLAIN, "nn",
         STORE("k < args.k; k++", "k < args.k - 1; k++")),
    /* Blocks that share tiles. */
    BOTH("the last block stores its own part only", PARTS, "nn",
         STORE("    part::add(parts, args.splits, sum);\n", "")),
    BOTH("counters are not reset", PARTS, "nn",
         STORE("        if (last) *arrivals = 0; /* for the next launch */\n", "")),
    BOTH("parts of all tiles in one place", PARTS, "nn",
         STORE("(blockIdx.z * (long long)tiles + tile) * args.splits * part::FLOATS", "0")),
    BOTH("parts where pieces are", PARTS, "nn", STORE(" + gridDim.z * before", "")),
    BOTH("a block takes the first k", PARTS, "nn", RING("begin = split * args.k_per_split", "begin = 0")),
    BOTH("the last part goes beyond k", PARTS, "nn", RING("end < k ? end : k}", "end}")),
    /* Storing. */
    BOTH("rows beyond C are stored", PLAIN, "nn",
         STORE("if (row >= m || column >= n) return;", "if (column >= n) return;")),
    BOTH("the second of two columns is stored beyond C", PLAIN, "nn",
         STORE("            if (column + 1 < n)\n", "")),
    LOOPS("beta is left out", PLAIN, "nn", "if (to.blend != 0.0f) store_quads<true>",
          "if (false) store_quads<true>"),
    LOOPS("all warps store the first rows", PLAIN, "nn", " + threadIdx.x / 32 * 16 +", " +"),
    /* bf16x6: what makes it accurate. */
    {"sums are not promoted", BF16X6_PLAIN, "nn",
     RING("        if (ANEW && k == 0) WGMMA_ANEW(part, left, right);\n"
          "        else wgmma<PIECES_BF16, true, true, WGMMA_N, 0>(part, left + k * 2, right + k * 2);\n"
          "    }\n"
          "}\n"
          "\n"
          "/* By FADD, which rounds to nearest. */\n"
          "static __device__ __forceinline__ void promote(const float (&part)[QUADS][4], float "
          "(&sum)[QUADS][4])\n"
          "{\n"
          "#pragma unroll\n"
          "    for (int q = 0; q < QUADS; q++)\n"
          "#pragma unroll\n"
          "        for (int e = 0; e < 4; e++) sum[q][e] += part[q][e];",
          "        wgmma<PIECES_BF16, true, true, WGMMA_N, 0>(part, left + k * 2, right + k * 2);\n"
          "    }\n"
          "}\n"
          "\n"
          "/* By FADD, which rounds to nearest. */\n"
          "static __device__ __forceinline__ void promote(const float (&part)[QUADS][4], float "
          "(&sum)[QUADS][4])\n"
          "{\n"
          "#pragma unroll\n"
          "    for (int q = 0; q < QUADS; q++)\n"
          "#pragma unroll\n"
          "        for (int e = 0; e < 4; e++) sum[q][e] = part[q][e];")},
    {"the product of the low piece of A is left out", BF16X6_PLAIN, "nn",
     BF16X6_LOOP(
         "    multiply_pieces<true>(ring, low, high, group, part);\n    multiply_pieces<false>(ring, high, "
         "low",
         "    multiply_pieces<true>(ring, high, low")},
    {"the product of the low piece of B is left out", BF16X6_PLAIN, "nt",
     BF16X6_LOOP("    multiply_pieces<false>(ring, high, low, group, part);\n", "")},
    {"the product of the middle pieces is left out", BF16X6_PLAIN, "nn",
     BF16X6_LOOP("    multiply_pieces<false>(ring, middle, middle, group, part);\n", "")},
    {"a product of high and middle piece twice, the other not", BF16X6_PLAIN, "nn",
     BF16X6_LOOP("multiply_pieces<false>(ring, high, middle, group",
                 "multiply_pieces<false>(ring, middle, high, group")},
    {"the middle piece is the rest of nothing", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("x -= unpacked<true>((unsigned short)word[p - 1]);",
                  "if (p > 1) x -= unpacked<true>((unsigned "
                  "short)word[p - 1]);")},
    {"the low piece of every second element is lost", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("piece[p][e + 1] = (unsigned short)(word[p] >> 16);",
                  "piece[p][e + 1] = p == 2 ? 0 : (unsigned short)(word[p] >> 16);")},
    {"pieces are scaled by half", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("word[p] = packed<true>(x, y);", "word[p] = packed<true>(0.5f * x, 0.5f * y);")},
    {"values near the largest are rounded to infinity", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("word[0] = packed<true>(high_x, high_y);", "word[0] = packed<true>(x, y) & 0xff7fff7fu;")},
    /* Splitting. */
    {"the first item of the batch for all, of A", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("return SHARED_ITEMS && args.stride_a == 0 ? 0 : blockIdx.z;", "return 0;")},
    {"the first item of the batch for all, of B", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("return SHARED_ITEMS && args.stride_b == 0 ? 0 : blockIdx.z;", "return 0;")},
    {"pieces of all items in one place", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("blockIdx.z * (PIECES * apart)", "0")},
    {"rows of A where columns of B belong", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("to + args.m * line, line", "to, line")},
    {"reads beyond the last row", BF16X6_PLAIN, "nn", BF16X6_SPLIT("row < rows && own_k < k)", "own_k < k)")},
    {"reads beyond the last k", BF16X6_PLAIN, "nt", BF16X6_SPLIT("row < rows && own_k < k)", "row < rows)")},
    {"a tile is not turned", BF16X6_PLAIN, "tn",
     BF16X6_SPLIT("inner * SPLIT_LINE + outer),", "outer * SPLIT_LINE + inner),")},
    {"a tile is read before it is there", BF16X6_PLAIN, "nn",
     BF16X6_SPLIT("    __syncthreads();\n    /* A warp", "    /* A warp")},
    /* The ring. */
    {"multiplies before the copies have landed", BF16X6_PLAIN, "nn",
     BF16X6_LOOP("    mbarrier_wait(ring.full(middle.stage), middle.parity);\n", "")},
    {"the low pieces are given back while they are multiplied", BF16X6_WALKS, "nn",
     BF16X6_LOOP("    wgmma_wait<1>(part);\n    mbarrier_arrive(ring.empty(step.low.stage), speaks);\n",
                 "    mbarrier_arrive(ring.empty(step.low.stage), speaks);\n    wgmma_wait<1>(part);\n")},
    {"the other pieces are given back while they are multiplied", BF16X6_PAIR, "nn",
     BF16X6_LOOP("    wgmma_wait<0>(part);\n    mbarrier_arrive(ring.empty(step.high.stage), speaks);\n",
                 "    mbarrier_arrive(ring.empty(step.high.stage), speaks);\n    wgmma_wait<0>(part);\n")},
    {"pieces arrive in another order than they are taken", BF16X6_PLAIN, "nn",
     BF16X6_LOOP("return i == 0 ? 2 : i - 1;", "return i;")},
    {"all steps are the first", BF16X6_PLAIN, "nn",
     BF16X6_LOOP("tensor_copy(to, args.left, k, left_of", "tensor_copy(to, args.left, 0, left_of")},
    /* Splitting by the block itself. */
    {"pieces are stored where they are still read", BF16X6_FUSED, "nn",
     FUSE("            mbarrier_wait(ring.empty(taken[i].stage), taken[i].parity ^ 1);\n", "")},
    {"pieces are stored without the swizzle", BF16X6_FUSED, "nn", FUSE("(run_of(i) ^ row % 8)", "run_of(i)")},
    {"pieces of B where those of A are", BF16X6_FUSED, "nn",
     FUSE("taken[i].stage * (STAGE_BYTES / 4) + LEFT_BYTES / 4;", "taken[i].stage * (STAGE_BYTES / 4);")},
    {"a piece takes the place of another", BF16X6_FUSED, "nn", FUSE("to_a[piece_in_turn(i)]", "to_a[i]")},
    {"all steps split the first k of A", BF16X6_FUSED, "nn", FUSE("        a += BK * step_a;\n", "")},
    {"all steps split the first k of B", BF16X6_FUSED, "nt", FUSE("        b += BK * step_b;\n", "")},
    {"A is loaded beyond the end of k", BF16X6_FUSED, "nn",
     FUSE("tile_a.load(a, gemm.lda, rows, left - BK)", "tile_a.load(a, gemm.lda, rows, left)")},
    {"B is loaded beyond its columns", BF16X6_FUSED, "nn", FUSE("columns, left);", "columns + 1, left);")},
    {"a vector is read beyond the end of k", BF16X6_FUSED_WIDE, "nt",
     FUSE("first + 8 <= k)", "first + 4 <= k)")},
    {"only the first warp says that pieces are there", BF16X6_FUSED, "nn",
     BF16X6_LOOP("RIGHT_SPLIT ? WARPGROUP / 32 : 1", "1")},
    {"parts of k begin where all k does", BF16X6_FUSED_PARTS, "nn",
     FUSE("share.begin * step_b", "0 * step_b")},
    /* Splitting by those that multiply, and by seven warps. */
    {"rows arrive where they are still read", BF16X6_WHOLE, "nn",
     RAW("    mbarrier_wait(ring.raw_empty(turn.stage), turn.parity ^ 1);\n", "")},
    {"rows are split before they have arrived", BF16X6_HALF, "nn",
     BF16X6_LOOP("    mbarrier_wait(ring.raw_full(raw.stage), raw.parity);\n", "")},
    {"rows are given back before they are split", BF16X6_HALF, "nn",
     BF16X6_LOOP("    left.split(ring.raw(raw.stage), group);\n",
                 "    mbarrier_arrive(ring.raw_empty(raw.stage), threadIdx.x % 32 == 0);\n    "
                 "left.split(ring.raw(raw.stage), group);\n")},
    {"the second 32 k of rows are the first", BF16X6_HALF, "nn", RAW("map, k + 32 * i, row", "map, k, row")},
    {"the second 32 rows across k are the first", BF16X6_HALF, "tn",
     RAW("map, row + 32 * i, k", "map, row, k")},
    {"all items have the first one's rows", BF16X6_HALF, "nn",
     RAW("item_a = args.gemm.stride_a != 0 ? blockIdx.z : 0", "item_a = 0")},
    {"all groups split the first rows", BF16X6_HALF_PAIR, "nn", RAW("group * (128 * 64)", "0")},
    {"rows are read without the swizzle", BF16X6_HALF, "nn", RAW("(t / 2 ^ row % 8) << 4", "(t / 2) << 4")},
    {"rows across k are read without the swizzle", BF16X6_HALF, "tn",
     RAW("row % 32 * 4 ^ k << 4", "row % 32 * 4")},
    {"the rows of a product are not those that are stored", BF16X6_HALF, "nn",
     RAW("* 16 + row_in_eight(lane / 4)", "* 16 + lane / 4")},
    {"k and rows of a piece change places", BF16X6_HALF, "nn",
     RAW("step, i / 2, i % 2)", "step, i % 2, i / 2)")},
    {"the low piece of the left operand is left out", BF16X6_HALF, "nn",
     BF16X6_LOOP("    left.multiply<2, true>(ring.stage(high.stage), part);\n    left.multiply<0, false>",
                 "    left.multiply<0, true>")},
    {"the low piece of the right operand is left out", BF16X6_HALF, "nn",
     BF16X6_LOOP("    left.multiply<0, false>(ring.stage(low.stage), part);\n", "")},
    {"the middle piece of the left operand once", BF16X6_HALF, "nn",
     BF16X6_LOOP("left.multiply<1, false>(ring.stage(high.stage)",
                 "left.multiply<0, false>(ring.stage(high.stage)")},
    {"large values of a raw operand become infinite", BF16X6_HALF, "nn",
     BF16X6_SPLIT("packed_finite(x, y)", "packed<true>(x, y)")},
    {"parts where pieces of the right operand are", BF16X6_HALF, "nn",
     STORE("(SWAP ? args.m : args.n)", "(SWAP ? args.n : args.m)")},
    {"C is not turned back", BF16X6_HALF_SWAP, "nn",
     STORE("put_one<BLEND>(right + e % 2, left + 8 * (e / 2)",
           "put_one<BLEND>(left + 8 * (e / 2), right + e % 2")},
    {"the second pass takes rows for columns", BF16X6_HALF_SWAP, "nn",
     STORE("x[SWAP ? e % 2 : e / 2], y[SWAP ? e / 2 : e % 2]", "x[e / 2], y[e % 2]")},
    {"a run has its first 4 k twice", BF16X6_WHOLE, "nt", RAW("flipped(first, 16)", "first")},
    {"runs across k are read without the swizzle", BF16X6_WHOLE, "nn",
     RAW("moved(flipped(first, e << 4), e", "moved(first, e")},
    {"pieces of runs are stored without the swizzle", BF16X6_WHOLE, "nn",
     RAW("(run ^ row % 8) * 16;", "run * 16;")},
    {"the last runs are left out", BF16X6_WHOLE, "nn",
     RAW("COUNT = (ALL + SPLITTERS - 1) / SPLITTERS", "COUNT = ALL / SPLITTERS")},
    {"runs are split before they have arrived", BF16X6_WHOLE, "nn",
     RAW("        mbarrier_wait(ring.raw_full(raw.stage), raw.parity);\n", "")},
    {"pieces of runs are stored where they are still read", BF16X6_WHOLE, "nn",
     RAW("            mbarrier_wait(ring.empty(taken[i].stage), taken[i].parity ^ 1);\n", "")},
    {"two warps say that all have split", BF16X6_WHOLE, "nn",
     BF16X6_LOOP("full(i), RIGHT_RAW ? SPLITTERS / 32 :", "full(i), RIGHT_RAW ? 2 :")},
    {"rows are given back before they are split by the others", BF16X6_WHOLE, "nn",
     BF16X6_LOOP("CONSUMERS * 4 + (RIGHT_RAW ? SPLITTERS / 32 : 0)", "CONSUMERS * 4")},
    /* f16x3: what makes it accurate. */
    {"the product of the low piece of A is left out", F16X3_PLAIN, "nn",
     F16X3_LOOP("if (LOW == 16 || has_eighths) multiply_pieces<false>(ring, low, high, group, part);",
                "if (LOW == 16 || has_eighths) {}")},
    {"the product of the low piece of B is left out", F16X3_PLAIN, "nt",
     F16X3_LOOP("    multiply_pieces<false>(ring, high, low, group, part);\n", "")},
    {"a product twice, another not", F16X3_PLAIN, "nn",
     F16X3_LOOP("multiply_pieces<false>(ring, high, low, group",
                "multiply_pieces<false>(ring, low, high, group")},
    {"the low piece of every second element is lost", F16X3_PLAIN, "nn",
     F16X3_SPLIT("piece[p][e + 1] = (unsigned short)(word[p] >> 16);",
                 "piece[p][e + 1] = p == 1 ? 0 : (unsigned short)(word[p] >> 16);")},
    {"the low piece is rounded as if it were 11 bits", F16X3_PLAIN, "nn",
     F16X3_SPLIT("0x1p-13f : -", "0x1p-11f : -")},
    /* Low pieces of 8 bits. */
    {"pieces of 8 bits are not stored", F16X3_EIGHTHS, "nn", F16X3_SPLIT("if (LOW == 8) {", "if (false) {")},
    {"high pieces where low ones belong", F16X3_EIGHTHS, "nn",
     F16X3_SPLIT("rounded_to_e5m2(piece[1][e]) |", "rounded_to_e5m2(piece[0][e]) |")},
    {"a quarter of the low pieces is multiplied", F16X3_EIGHTHS, "nn",
     F16X3_LOOP("k < BK / 32; k++", "k < 1; k++")},
    {"products of 8 bits are added to old sums", F16X3_EIGHTHS, "nn",
     F16X3_LOOP("wgmma_e5m2<true>(part, left, right);", "wgmma_e5m2<false>(part, left, right);")},
    {"all steps multiply the first 8 bits", F16X3_EIGHTHS, "nn",
     F16X3_LOOP("start_copies(ring, turn, k / 2, args.left8", "start_copies(ring, turn, 0, args.left8")},
    {"both halves of a step are the first", F16X3_EIGHTHS, "nn",
     F16X3_LOOP("start_copies(ring, turn, step, args.left, args.right, origin, item);",
                "start_copies(ring, turn, k, args.left, args.right, origin, item);")},
    {"pieces of 8 bits are multiplied before they have landed", F16X3_EIGHTHS, "nn",
     F16X3_LOOP("            mbarrier_wait(ring.full(eighths.stage), eighths.parity);\n", "")},
    {"pieces of 8 bits are not given back", F16X3_EIGHTHS, "nn",
     F16X3_LOOP("        if (has_eighths) mbarrier_arrive(ring.empty(eighths.stage), speaks);\n", "")},
    /* Scaling. */
    {"there is no equilibration", F16X3_PLAIN, "nn", SCALE("s = (to - from) >> 1;", "s = 0;")},
    {"A and B are equilibrated the same way", F16X3_PLAIN, "nn", SCALE("if (OF_B) s = -s;", "")},
    {"each operand is equilibrated on its own", F16X3_PLAIN, "nn",
     SCALE("s = (to - from) >> 1;", "s = (OF_B ? to : -from) >> 1;")},
    {"rows are not scaled", F16X3_PLAIN, "nn", F16X3_SPLIT("min(TOP_EXPONENT - exponent, 252)", "0")},
    {"rows are scaled up by one too much", F16X3_PLAIN, "nn",
     F16X3_SPLIT("min(TOP_EXPONENT - exponent, 252)", "min(TOP_EXPONENT + 2 - exponent, 252)")},
    {"a row's scale is its neighbour's", F16X3_PLAIN, "nn",
     F16X3_SPLIT("scale.of_row(first_row + row) : 0", "scale.of_row(first_row + (row ^ 1) % rows) : 0")},
    {"a k's scale is its neighbour's", F16X3_PLAIN, "nn",
     F16X3_SPLIT("scale.factor(own) : 0.0f", "scale.factor(own > 0 ? own - 1 : own) : 0.0f")},
    {"the table begins above the smallest exponent", F16X3_PLAIN, "nn",
     SCALE("int u = -extreme[1]; u <= extreme[0]; u++", "int u = 0; u <= extreme[0]; u++")},
    {"rows below the table have its first value", F16X3_PLAIN, "nn",
     SCALE(" + min(exponent - least, 0)", "")},
    {"exponents are not taken back for rows", F16X3_PLAIN, "nn",
     F16X3_LOOP("? of_rows[row + 8 * i] : 0", "? 0 : 0")},
    {"exponents are not taken back for columns", F16X3_PLAIN, "nn",
     F16X3_LOOP("? of_columns[own] : 0", "? 0 : 0")},
    {"the lower rows have the upper ones' exponents", F16X3_PLAIN, "nn",
     F16X3_LOOP("scaled(sum[q][2 + i], r[1] + c)", "scaled(sum[q][2 + i], r[0] + c)")},
    {"one factor where two are needed", F16X3_PLAIN, "nn",
     EXPONENT("x * power_of_two(half) * power_of_two(most - half)",
              "x * power_of_two(most < -126 ? -126 : most > 127 ? 127 : most)")},
    {"an infinity is the largest of its column", F16X3_PLAIN, "nn",
     EXPONENT("return bits < 0x7f800000u ? bits : 0;", "return bits;")},
    {"exponents of denormal numbers are those of 0", F16X3_PLAIN, "nn",
     EXPONENT("31 - leading_zeros(bits) - 149", "0")},
    /* Maxima. */
    {"maxima of the last line are left out", F16X3_PLAIN, "nn",
     SCALE("first + i + l < lines && place", "first + i + l < lines - 1 && place")},
    {"reads beyond the last line", F16X3_PLAIN, "nn", SCALE("first + i + l < lines && place", "place")},
    {"reads beyond the end of lines", F16X3_PLAIN, "nt",
     SCALE("first + i + l < lines && place + w * 32 < length", "first + i + l < lines")},
    {"one warp's maxima of columns", F16X3_PLAIN, "nn",
     SCALE("for (int w = 0; w < WARPS; w++) largest = max(largest, shared[w",
           "for (int w = 0; w < 1; w++) largest = max(largest, shared[w")},
    {"maxima are read before all warps have theirs", F16X3_PLAIN, "nn",
     SCALE("    __syncthreads();\n    const int own = threadIdx.x;", "    const int own = threadIdx.x;")},
    {"rows' maxima where columns' belong", F16X3_PLAIN, "tn",
     SCALE("args.lda, lines_a, length_a, TRANS_A ? to.a_columns : to.a_rows",
           "args.lda, lines_a, length_a, to.a_rows")},
    {"maxima stay for the next launch", F16X3_PLAIN, "nn",
     F16X3_LOOP("    if (gemm.k > 0) clear_maxima(gemm);\n", "")},
    {"the table is read before it is made", F16X3_PLAIN, "nn",
     SCALE("            bound[v - EXPONENT_MIN] = most;\n        }\n        __syncthreads();\n",
           "            bound[v - EXPONENT_MIN] = most;\n        }\n")},
    {"maxima are read before they are there", F16X3_PLAIN, "nn",
     F16X3_SPLIT("    wait_for_kernel_before();\n", "")},
    /* Splitting. */
    {"pieces of all items in one place", F16X3_PLAIN, "nn",
     F16X3_SPLIT("blockIdx.z * (PIECES * pieces_apart(args))", "0")},
    {"exponents of all items in one place", F16X3_PLAIN, "nn",
     F16X3_SPLIT(" + blockIdx.z * EXPONENT_WORDS((long long)args.m, args.n)", "")},
    {"exponents where pieces are", F16X3_PLAIN, "nn",
     F16X3_SPLIT("gridDim.z * (PIECES * pieces_apart(args) / 2)", "gridDim.z * (pieces_apart(args) / 2)")},
    {"rows of A where columns of B belong", F16X3_PLAIN, "nn",
     F16X3_SPLIT("to + args.m * piece_line(args)", "to")},
    {"reads beyond the last row, splitting", F16X3_PLAIN, "nn",
     F16X3_SPLIT("first_line + i * STEP < lines && place < length", "place < length")},
    {"reads beyond the last k, splitting", F16X3_PLAIN, "nt",
     F16X3_SPLIT("first_line + i * STEP < lines && place < length", "first_line + i * STEP < lines")},
    {"a tile is not turned", F16X3_PLAIN, "tn",
     F16X3_SPLIT("inner * SPLIT_LINE + line),", "line * SPLIT_LINE + inner),")},
    {"a tile is read before it is there", F16X3_PLAIN, "nn",
     F16X3_SPLIT("exponents[first_row + row] = exponent;\n        __syncthreads();",
                 "exponents[first_row + row] = exponent;")},
    {"a tile is overwritten while it is read", F16X3_WALKS, "nn",
     F16X3_SPLIT("        __syncthreads(); /* shared memory is free */\n", "")},
    {"blocks leave out tiles", F16X3_WALKS, "nn", F16X3_SPLIT("tile -= step", "tile -= step + 1")},
    /* The ring. */
    {"multiplies before the copies have landed", F16X3_PLAIN, "nn",
     F16X3_LOOP("    mbarrier_wait(ring.full(high.stage), high.parity);\n", "")},
    {"the low pieces are given back while they are multiplied", F16X3_WALKS, "nn",
     F16X3_LOOP("        wgmma_wait<1>(part);\n", "")},
    {"the high pieces are given back while they are multiplied", F16X3_PAIR, "nn",
     F16X3_LOOP("        wgmma_wait<0>(part);\n        mbarrier_arrive(ring.empty(high.stage), speaks);\n",
                "        mbarrier_arrive(ring.empty(high.stage), speaks);\n        wgmma_wait<0>(part);\n")},
    {"all steps are the first", F16X3_PLAIN, "nn",
     F16X3_LOOP("tensor_copy(to, a, k, origin.m", "tensor_copy(to, a, 0, origin.m")},
    /* Blocks that share tiles. */
    {"arrivals where maxima are", F16X3_PARTS, "nn", F16X3_LOOP(" + gridDim.z * maxima_words(args)", "")},
    {"parts where exponents are", F16X3_PARTS, "nn",
     F16X3_LOOP(" + EXPONENT_WORDS((long long)(args).m, (args).n))", ")")},
};
const int mutants_split_count = sizeof mutants_split / sizeof *mutants_split;
