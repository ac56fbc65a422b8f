/* Bugs in the family for FP32 as two FP16 pieces. */
#include "mutants.h"

#define PLAIN   "f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=16 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define WALKS   "f16x3 BM=64 BN=24 BK=64 STAGES=5 LOW=16 VC=1 GROUP=2 SPLIT_K=1 SMS=1"
#define PAIR    "f16x3 BM=128 BN=16 BK=64 STAGES=2 LOW=16 VC=2 GROUP=1 SPLIT_K=1 SMS=1"
#define EIGHTHS "f16x3 BM=64 BN=16 BK=128 STAGES=3 LOW=8 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define PARTS   "f16x3 BM=64 BN=16 BK=64 STAGES=4 LOW=16 VC=1 GROUP=1 SPLIT_K=3 SMS=132"

#define LOOP(find, replace)                                                                                  \
    {                                                                                                        \
        "f16x3.cu", find, replace                                                                            \
    }
#define SCALE(find, replace)                                                                                 \
    {                                                                                                        \
        "f16x3_scale.cuh", find, replace                                                                     \
    }
#define SPLIT(find, replace)                                                                                 \
    {                                                                                                        \
        "f16x3_split.cuh", find, replace                                                                     \
    }
#define STORE(find, replace)                                                                                 \
    {                                                                                                        \
        "f16x3_store.cuh", find, replace                                                                     \
    }

const struct mutant mutants_f16x3[] = {
    /* What makes it accurate. */
    {"sums of the step before stay", PLAIN, "nn",
     LOOP("if (ANEW && k == 0) wgmma_anew16(part, left, right);\n        else wgmma", "wgmma")},
    {"the last sums only", PLAIN, "nn", LOOP("sum[q][e] += part[q][e];", "sum[q][e] = part[q][e];")},
    {"the product of the low piece of A is left out", PLAIN, "nn",
     LOOP("if (LOW == 16 || has_eighths) multiply_pieces<false>(ring, low, high, group, part);",
          "if (LOW == 16 || has_eighths) {}")},
    {"the product of the low piece of B is left out", PLAIN, "nt",
     LOOP("    multiply_pieces<false>(ring, high, low, group, part);\n", "")},
    {"a product twice, another not", PLAIN, "nn",
     LOOP("multiply_pieces<false>(ring, high, low, group", "multiply_pieces<false>(ring, low, high, group")},
    {"the last 16 k of a step are left out", PLAIN, "nn",
     LOOP("k < STEP_K / 16; k++", "k < STEP_K / 16 - 1; k++")},
    {"the low piece of every second element is lost", PLAIN, "nn",
     SPLIT("piece[p][e + 1] = (unsigned short)(word[p] >> 16);",
           "piece[p][e + 1] = p == 1 ? 0 : (unsigned short)(word[p] >> 16);")},
    {"the low piece is rounded as if it were 11 bits", PLAIN, "nn", SPLIT("0x1p-13f : -", "0x1p-11f : -")},
    /* Low pieces of 8 bits. */
    {"pieces of 8 bits are not stored", EIGHTHS, "nn", SPLIT("if (LOW == 8) {", "if (false) {")},
    {"high pieces where low ones belong", EIGHTHS, "nn",
     SPLIT("rounded_to_e5m2(piece[1][e]) |", "rounded_to_e5m2(piece[0][e]) |")},
    {"a quarter of the low pieces is multiplied", EIGHTHS, "nn", LOOP("k < BK / 32; k++", "k < 1; k++")},
    {"products of 8 bits are added to old sums", EIGHTHS, "nn",
     LOOP("wgmma_e5m2<true>(part, left, right);", "wgmma_e5m2<false>(part, left, right);")},
    {"all steps multiply the first 8 bits", EIGHTHS, "nn",
     LOOP("start_copies(ring, turn, k / 2, args.a8", "start_copies(ring, turn, 0, args.a8")},
    {"both halves of a step are the first", EIGHTHS, "nn",
     LOOP("start_copies(ring, turn, step, args.a, args.b, origin, item);",
          "start_copies(ring, turn, k, args.a, args.b, origin, item);")},
    {"pieces of 8 bits are multiplied before they have landed", EIGHTHS, "nn",
     LOOP("            mbarrier_wait(ring.full(eighths.stage), eighths.parity);\n", "")},
    {"pieces of 8 bits are not given back", EIGHTHS, "nn",
     LOOP("        if (has_eighths) mbarrier_arrive(ring.empty(eighths.stage), speaks);\n", "")},
    /* Scaling. */
    {"there is no equilibration", PLAIN, "nn", SCALE("s = (to - from) >> 1;", "s = 0;")},
    {"A and B are equilibrated the same way", PLAIN, "nn", SCALE("if (OF_B) s = -s;", "")},
    {"each operand is equilibrated on its own", PLAIN, "nn",
     SCALE("s = (to - from) >> 1;", "s = (OF_B ? to : -from) >> 1;")},
    {"rows are not scaled", PLAIN, "nn", SPLIT("min(TOP_EXPONENT - exponent, 252)", "0")},
    {"rows are scaled up by one too much", PLAIN, "nn",
     SPLIT("min(TOP_EXPONENT - exponent, 252)", "min(TOP_EXPONENT + 2 - exponent, 252)")},
    {"a row's scale is its neighbour's", PLAIN, "nn",
     SPLIT("scale.of_row(first_row + row) : 0", "scale.of_row(first_row + (row ^ 1) % rows) : 0")},
    {"a k's scale is its neighbour's", PLAIN, "nn",
     SPLIT("scale.factor(own) : 0.0f", "scale.factor(own > 0 ? own - 1 : own) : 0.0f")},
    {"the table begins above the smallest exponent", PLAIN, "nn",
     SCALE("int u = -extreme[1]; u <= extreme[0]; u++", "int u = 0; u <= extreme[0]; u++")},
    {"rows below the table have its first value", PLAIN, "nn", SCALE(" + min(exponent - least, 0)", "")},
    {"exponents are not taken back for rows", PLAIN, "nn", STORE("? of_rows[row + 8 * i] : 0", "? 0 : 0")},
    {"exponents are not taken back for columns", PLAIN, "nn", STORE("? of_columns[own] : 0", "? 0 : 0")},
    {"the lower rows have the upper ones' exponents", PLAIN, "nn",
     STORE("scaled(sum[q][2 + i], r[1] + c)", "scaled(sum[q][2 + i], r[0] + c)")},
    {"one factor where two are needed",
     PLAIN,
     "nn",
     {"gt_exponent.cuh", "x * power_of_two(half) * power_of_two(most - half)",
      "x * power_of_two(most < -126 ? -126 : most > 127 ? 127 : most)"}},
    {"an infinity is the largest of its column",
     PLAIN,
     "nn",
     {"gt_exponent.cuh", "return bits < 0x7f800000u ? bits : 0;", "return bits;"}},
    {"exponents of denormal numbers are those of 0",
     PLAIN,
     "nn",
     {"gt_exponent.cuh", "31 - leading_zeros(bits) - 149", "0"}},
    /* Maxima. */
    {"maxima of the last line are left out", PLAIN, "nn",
     SCALE("first + i + l < lines && place", "first + i + l < lines - 1 && place")},
    {"reads beyond the last line", PLAIN, "nn", SCALE("first + i + l < lines && place", "place")},
    {"reads beyond the end of lines", PLAIN, "nt",
     SCALE("first + i + l < lines && place + w * 32 < length", "first + i + l < lines")},
    {"one warp's maxima of columns", PLAIN, "nn",
     SCALE("for (int w = 0; w < WARPS; w++) largest = max(largest, shared[w",
           "for (int w = 0; w < 1; w++) largest = max(largest, shared[w")},
    {"maxima are read before all warps have theirs", PLAIN, "nn",
     SCALE("    __syncthreads();\n    const int own = threadIdx.x;", "    const int own = threadIdx.x;")},
    {"rows' maxima where columns' belong", PLAIN, "tn",
     SCALE("args.lda, lines_a, length_a, TRANS_A ? to.a_columns : to.a_rows",
           "args.lda, lines_a, length_a, to.a_rows")},
    {"maxima stay for the next launch", PLAIN, "nn", LOOP("    if (gemm.k > 0) clear_maxima(gemm);\n", "")},
    {"the table is read before it is made", PLAIN, "nn",
     SCALE("            bound[v - EXPONENT_MIN] = most;\n        }\n        __syncthreads();\n",
           "            bound[v - EXPONENT_MIN] = most;\n        }\n")},
    {"maxima are read before they are there", PLAIN, "nn", SPLIT("    wait_for_kernel_before();\n", "")},
    /* Infinity and NaN. */
    {"sums that are not finite are stored", PLAIN, "nn", STORE("if (all_finite(sum[q])) to", "if (true) to")},
    {"only the first sum of a quad is looked at", PLAIN, "nn",
     STORE("for (int e = 0; e < 4; e++) zero", "for (int e = 0; e < 1; e++) zero")},
    {"the second pass takes the first column", PLAIN, "nn",
     STORE("sum_strictly(args, row, column + q * 8, quad)", "sum_strictly(args, row, column, quad)")},
    {"the second pass leaves out the last k", PLAIN, "nn", STORE("k < args.k; k++", "k < args.k - 1; k++")},
    /* Splitting. */
    {"pieces of all items in one place", PLAIN, "nn",
     SPLIT("blockIdx.z * (PIECES * pieces_apart(args))", "0")},
    {"exponents of all items in one place", PLAIN, "nn",
     SPLIT(" + blockIdx.z * EXPONENT_WORDS((long long)args.m, args.n)", "")},
    {"exponents where pieces are", PLAIN, "nn",
     SPLIT("gridDim.z * (PIECES * pieces_apart(args) / 2)", "gridDim.z * (pieces_apart(args) / 2)")},
    {"rows of A where columns of B belong", PLAIN, "nn", SPLIT("to + args.m * piece_line(args)", "to")},
    {"reads beyond the last row, splitting", PLAIN, "nn",
     SPLIT("first_line + i * STEP < lines && place < length", "place < length")},
    {"reads beyond the last k, splitting", PLAIN, "nt",
     SPLIT("first_line + i * STEP < lines && place < length", "first_line + i * STEP < lines")},
    {"a tile is not turned", PLAIN, "tn",
     SPLIT("inner * SPLIT_LINE + line),", "line * SPLIT_LINE + inner),")},
    {"a tile is read before it is there", PLAIN, "nn",
     SPLIT("exponents[first_row + row] = exponent;\n        __syncthreads();",
           "exponents[first_row + row] = exponent;")},
    {"a tile is overwritten while it is read", WALKS, "nn",
     SPLIT("        __syncthreads(); /* shared memory is free */\n", "")},
    {"blocks leave out tiles", WALKS, "nn", SPLIT("tile -= step", "tile -= step + 1")},
    /* The ring. */
    {"copies into a stage that is still read", PLAIN, "nn",
     LOOP("    mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);\n", "")},
    {"multiplies before the copies have landed", PLAIN, "nn",
     LOOP("    mbarrier_wait(ring.full(high.stage), high.parity);\n", "")},
    {"the low pieces are given back while they are multiplied", WALKS, "nn",
     LOOP("        wgmma_wait<1>(part);\n", "")},
    {"the high pieces are given back while they are multiplied", PAIR, "nn",
     LOOP("        wgmma_wait<0>(part);\n        mbarrier_arrive(ring.empty(high.stage), speaks);\n",
          "        mbarrier_arrive(ring.empty(high.stage), speaks);\n        wgmma_wait<0>(part);\n")},
    {"all steps are the first", PLAIN, "nn",
     LOOP("tensor_copy(to, a, k, origin.m", "tensor_copy(to, a, 0, origin.m")},
    {"all groups multiply the first rows", PAIR, "nn",
     LOOP("ring.stage(a.stage), group * (64 * 128)", "ring.stage(a.stage), 0")},
    {"a block takes its first tile again", WALKS, "nn",
     LOOP("return {number % tiles, split", "return {blockIdx.x % tiles, split")},
    {"sums of the tile before stay", WALKS, "nn",
     LOOP("            clear(sum);\n", "            if (number == blockIdx.x) clear(sum);\n")},
    /* Blocks that share tiles. */
    {"the last block stores its own part only", PARTS, "nn",
     STORE("    part::add(parts, args.splits, sum);\n", "")},
    {"counters are not reset", PARTS, "nn",
     STORE("        if (last) *arrivals = 0; /* for the next launch */\n", "")},
    {"arrivals where maxima are", PARTS, "nn", STORE(" + gridDim.z * maxima_words(args)", "")},
    {"parts of all tiles in one place", PARTS, "nn",
     STORE("(blockIdx.z * (long long)tiles + tile) * args.splits * part::FLOATS", "0")},
    {"parts where pieces are", PARTS, "nn", STORE(" + gridDim.z * before", "")},
    {"parts where exponents are", PARTS, "nn", STORE(" + EXPONENT_WORDS((long long)args.m, args.n);", ";")},
    {"a block takes the first k", PARTS, "nn", LOOP("begin = split * args.k_per_split", "begin = 0")},
    {"the last part goes beyond k", PARTS, "nn", LOOP("end < k ? end : k}", "end}")},
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
const int mutants_f16x3_count = sizeof mutants_f16x3 / sizeof *mutants_f16x3;
