/* Bugs in the tensor-core family for 16-bit operands. */
#include "mutants.h"

#define PLAIN                                                                                                \
    "mma16 BM=32 BN=32 BK=32 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=1 SPLIT_K=1"
#define WIDE                                                                                                 \
    "mma16 BM=16 BN=32 BK=16 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=1 SPLIT_K=1"
#define LATE                                                                                                 \
    "mma16 BM=32 BN=32 BK=16 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=0 PACK=0 VA=4 VB=4 VC=4 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=2 SPLIT_K=1"
#define ELEMENTS                                                                                             \
    "mma16 BM=16 BN=16 BK=32 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=1 VB=1 VC=1 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=1 SPLIT_K=1"
#define SWAPPED                                                                                              \
    "mma16 BM=8 BN=32 BK=32 WM=8 WN=16 SWAP=1 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=0 VA=1 VB=2 VC=2 "           \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=1 SPLIT_K=1"
#define PARTS                                                                                                \
    "mma16 BM=16 BN=16 BK=16 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=1 SPLIT_K=3"
#define TEAMS                                                                                                \
    "mma16 BM=16 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=2 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=1 GROUP=1 SPLIT_K=1"
#define CLUSTER                                                                                              \
    "mma16 BM=16 BN=32 BK=16 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 "                                                                                          \
    "REDUCE=3 GROUP=1 SPLIT_K=3"

#define TEAM_PARTS                                                                                           \
    "mma16 BM=16 BN=16 BK=32 WM=16 WN=16 SWAP=0 WARPS_K=2 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=3"
#define DEPENDENT                                                                                            \
    "mma16 BM=16 BN=16 BK=16 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=1 VA=8 VB=2 VC=2 "         \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=3 PDL=1 ASK=1"

#define PACKED                                                                                               \
    "mma16 BM=16 BN=16 BK=16 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=3 VA=8 VB=8 VC=1 "         \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1"

#define COPY(find, replace)                                                                                  \
    {                                                                                                        \
        "mma16_copy.cuh", find, replace                                                                      \
    }
#define LOOP(find, replace)                                                                                  \
    {                                                                                                        \
        "mma16.cu", find, replace                                                                            \
    }
#define STORE16(find, replace)                                                                               \
    {                                                                                                        \
        "gt_store16.cuh", find, replace                                                                      \
    }
#define PACK16(find, replace)                                                                                \
    {                                                                                                        \
        "gt_pack16.cuh", find, replace                                                                       \
    }
#define SUM16(find, replace)                                                                                 \
    {                                                                                                        \
        "gt_sum16.cuh", find, replace                                                                        \
    }
#define STORE(find, replace)                                                                                 \
    {                                                                                                        \
        "mma16_store.cuh", find, replace                                                                     \
    }

const struct mutant mutants_mma16[] = {
    /* Copies to shared memory. */
    {"pairs stored where their chunk was before the exchange", ELEMENTS, "nn",
     COPY("store_pair(moved(stage, place(l, e))", "store_pair(moved(stage, 2 * LINE * l + 2 * e)")},
    {"copies land where their chunk was before the exchange", PLAIN, "nt",
     COPY("copy_elements<V>(moved(stage, place(l, e))",
          "copy_elements<V>(moved(stage, 2 * LINE * l + 2 * e)")},
    {"chunks of a line all in one place", PLAIN, "nn",
     COPY("(e / 8 ^ l / (8 / CYCLE) % CYCLE)", "(l / (8 / CYCLE) % CYCLE)")},
    {"chunks exchanged beyond their line", PLAIN, "tn", COPY("% CYCLE)", "% (2 * CYCLE))")},
    {"lines one element too far apart", PLAIN, "tn", COPY("pitch = leading;", "pitch = leading + 1;")},
    {"offset of a line in 32 bits", PLAIN, "nt", COPY("(x0 + line) * leading", "(x0 + line) * (int)leading")},
    {"offset of a line across k in 32 bits", PLAIN, "tn",
     COPY("(k0 + line) * leading", "(k0 + line) * (int)leading")},
    {"x0 counted in lines along k, too", PLAIN, "tn", COPY("* leading + x0 + at)", "* leading + at)")},
    {"the next tile begins a k too late", PLAIN, "nt",
     COPY("ALONG_K ? BK : BK * leading;", "ALONG_K ? BK + 1 : BK * leading;")},
    {"all tiles across k are the first", PLAIN, "tn",
     COPY("ALONG_K ? BK : BK * leading;", "ALONG_K ? BK : 0;")},
    {"k beyond the end copied along lines", PLAIN, "nt",
     COPY("if (TAIL) count = min(max(k_left - e, 0), UNIT);", "")},
    {"half of a word beyond k copied", ELEMENTS, "nt", COPY("max(k_left - e, 0)", "max(k_left - e + 1, 0)")},
    {"last k dropped if it is alone in a word", ELEMENTS, "nt",
     COPY("max(k_left - e, 0)", "max((k_left - e) / 2 * 2, 0)")},
    {"k beyond the end copied across lines", PLAIN, "tn", COPY("if (TAIL && l >= k_left) count = 0;", "")},
    {"last line of k dropped", PLAIN, "tn", COPY("l >= k_left)", "l >= k_left - 1)")},
    {"rows beyond the edge copied", PLAIN, "nt", COPY("if (j * ROWS >= left) count = 0;", "")},
    {"last row dropped", PLAIN, "nt", COPY("j * ROWS >= left)", "j * ROWS >= left - 1)")},
    {"columns beyond the edge copied", PLAIN, "tn",
     COPY("min(max(left - i * (COLUMNS * UNIT), 0), UNIT)", "UNIT")},
    {"the tail of k copied as if it were whole", PLAIN, "nn",
     COPY("if (k_left >= BK) fetch<false>", "if (true) fetch<false>")},
    {"second element of a word is the first", ELEMENTS, "nn",
     COPY("load_element(source + 1, count > 1)", "load_element(source, count > 1)")},
    {"words loaded and never stored", ELEMENTS, "nn", COPY("held[j * PASSES_ALONG + i]);", "0);")},
    /* Fragments. */
    {"matrices of a left operand along k in another order", PLAIN, "nn",
     COPY("place(first + lane % 16, k + lane / 16 * 8)",
          "place(first + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)")},
    {"matrices of a left operand across k in another order", PLAIN, "tn",
     COPY("place(k + lane / 16 * 8 + lane % 8, first + lane / 8 % 2 * 8)",
          "place(k + lane % 16, first + lane / 16 * 8)")},
    {"a left operand across k not transposed", PLAIN, "tn",
     COPY("load_matrices<!ALONG_K>(\n                f[i]", "load_matrices<false>(\n                f[i]")},
    {"matrices of a right operand along k in another order", PLAIN, "nt",
     COPY("place(first + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)",
          "place(first + lane % 16, k + lane / 16 * 8)")},
    {"matrices of a right operand across k in another order", PLAIN, "nn",
     COPY("place(k + lane % 16, first + lane / 16 * 8)",
          "place(k + lane / 16 * 8 + lane % 8, first + lane / 8 % 2 * 8)")},
    {"a right operand across k not transposed", PLAIN, "nn",
     COPY("load_matrices<!ALONG_K>(\n                    two",
          "load_matrices<false>(\n                    two")},
    {"all right fragments are the first", WIDE, "nn",
     COPY("const int first = x + j * MMA_N;", "const int first = x;")},
    {"one right fragment of the wrong k", SWAPPED, "nn",
     COPY("place(x + lane % 8, k + lane / 8 % 2 * 8)", "place(x + lane % 8, k)")},
    {"both sets hold the same k", PLAIN, "nn",
     LOOP("place.k + (step + 1) * MMA_K", "place.k + step * MMA_K")},
    {"a product with the other set's fragment", PLAIN, "nn",
     LOOP("left[set][i], right[set][j]", "left[set][i], right[1 - set][j]")},
    {"B's fragments where A's are", PLAIN, "nn", LOOP("b = moved(stage, tile_a::BYTES);", "b = stage;")},
    {"rows are columns though operands are swapped", SWAPPED, "nt",
     LOOP("if constexpr (SWAP) {\n            tile_b", "if constexpr (false) {\n            tile_b")},
    /* The loop. */
    {"no wait for the copies", PLAIN, "nn", LOOP("cp_async_wait<STAGES - 2>();", "")},
    {"wait for one group too few", PLAIN, "nn",
     LOOP("cp_async_wait<STAGES - 2>", "cp_async_wait<STAGES - 1>")},
    {"no barrier between stages", PLAIN, "nn", LOOP("    __syncthreads();\n}\n\n/* sum", "}\n\n/* sum")},
    {"copies of the first tiles never committed", PLAIN, "nn",
     LOOP("        k_left -= BK;\n        cp_async_commit();\n    }\n", "        k_left -= BK;\n    }\n")},
    {"stages wrap around too late", PLAIN, "nn",
     LOOP("now == (STAGES - 1) * STAGE_BYTES", "now == STAGES * STAGE_BYTES")},
    {"copy into the stage that is read next", PLAIN, "nn", LOOP("free = now;", "free = next;")},
    {"fragments of the next tile from this one", PLAIN, "nn",
     LOOP("f.load(0, moved(stages, next)", "f.load(0, moved(stages, now)")},
    {"fragments of the next stage before it is there", PLAIN, "nn",
     LOOP("        next_stage_ready();\n        if (PRELOAD)", "        if (PRELOAD)")},
    {"words of a stage that is read are overwritten", ELEMENTS, "nn",
     LOOP("in.fetch(moved(stages, free), k_left);\n        k_left",
          "in.fetch(moved(stages, free), k_left), in.put(moved(stages, now));\n        k_left")},
    {"last tile of k not copied", PLAIN, "nn",
     LOOP("if (left > STAGES - 1) in.fetch", "if (left > STAGES) in.fetch")},
    {"the last step of a tile left out", LATE, "nn", LOOP("if (!LATE) f.multiply(LAST, sum);", "")},
    {"the last step of a tile multiplied after the next was loaded", PLAIN, "nn",
     LOOP("if (LATE) f.multiply(LAST, sum);", "if (LATE) f.multiply(0, sum);")},
    {"k_left of all tiles is that of the first", PLAIN, "nt",
     LOOP("in.fetch(moved(stages, free), k_left);\n        k_left -= BK;",
          "in.fetch(moved(stages, free), k_left);")},
    {"alpha 0 reads A and B", PLAIN, "nn", LOOP(" && scalar_of(args.alpha_device, args.alpha) != 0.0f", "")},
    {"batch stride of A ignored", PLAIN, "nn",
     LOOP("if (!PACK_A) return {item_of_batch<const unsigned short>(args.a, args.stride_a)",
          "if (!PACK_A) return {item_of_batch<const unsigned short>(args.a, 0)")},
    {"batch stride of B is that of A", PLAIN, "nn",
     LOOP("if (!PACK_B) return {item_of_batch<const unsigned short>(args.b, args.stride_b)",
          "if (!PACK_B) return {item_of_batch<const unsigned short>(args.b, args.stride_a)")},
    {"batch strides of floats", PLAIN, "nn", STORE16("+ blockIdx.z * stride;", "+ 2 * blockIdx.z * stride;")},
    {"arrays of addresses of which only the first counts", ELEMENTS, "nn:pointers",
     STORE16("(operand)[blockIdx.z]", "(operand)[0]")},
    /* Sums to C. */
    {"alpha forgotten", PLAIN, "nn", STORE16("out[e] = alpha * sum[e];", "out[e] = sum[e];")},
    {"beta forgotten", PLAIN, "nn",
     STORE16("alpha * sum[e];\n        if (beta != 0.0f)", "alpha * sum[e];\n        if (false)")},
    {"beta 0 reads C", PLAIN, "nn",
     STORE16("alpha * sum[e];\n        if (beta != 0.0f)", "alpha * sum[e];\n        if (true)")},
    {"C truncated, not rounded", PLAIN, "nn",
     STORE16("packed<BF16>(v[e], e + 1 < V ? v[e + 1] : 0.0f)",
             "packed<BF16>(v[e] * 0.998f, e + 1 < V ? v[e + 1] * 0.998f : 0.0f)")},
    {"neighbours of a word exchanged", PLAIN, "nn",
     STORE16("bits[e + 1] = (unsigned short)(two >> 16);",
             "bits[e + 1] = bits[e], bits[e] = (unsigned short)(two >> 16);")},
    {"rows beyond the edge stored", PLAIN, "nn", STORE16("row >= m || column >= n", "column >= n")},
    {"columns beyond the edge stored", ELEMENTS, "nn", STORE16("row >= m || column >= n", "row >= m")},
    {"the end of a line stored in whole vectors", LATE, "nn", STORE16("INSIDE || column + V <= n", "true")},
    {"the end of a line not stored", LATE, "nn",
     STORE16("if (column + e < n) store_c<1>", "if (false) store_c<1>")},
    {"batch stride of C ignored", PLAIN, "nn", STORE16("(args.c, args.stride_c)", "(args.c, 0)")},
    {"offset of C in 32 bits", PLAIN, "nn",
     STORE16("offset = row * ldc + column;\n        float out",
             "offset = row * (int)ldc + column;\n        float out")},
    {"strips of all warps in one place", PLAIN, "nn", STORE("thread_index() / 32 * (STRIP_BYTES / 4)", "0")},
    {"a strip read before its lanes have written it", PLAIN, "nn",
     STORE("        __syncwarp();\n#pragma unroll 2", "#pragma unroll 2")},
    {"the second strip written over the first",
     "mma16 BM=32 BN=16 BK=16 WM=32 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "
     "MIN_BLOCKS=1 "
     "REDUCE=1 GROUP=1 SPLIT_K=1",
     "nn", STORE("if (s > 0) __syncwarp();", "")},
    {"all strips of a warp on the same rows",
     "mma16 BM=32 BN=16 BK=16 WM=32 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=2 VB=2 VC=2 "
     "MIN_BLOCKS=1 "
     "REDUCE=1 GROUP=1 SPLIT_K=1",
     "nn", STORE("row + s * STRIP + r", "row + r")},
    {"rows of an instruction side by side", PLAIN, "nn",
     STORE16("store_shared<2>(tile + (left + 8) * ROW + right, quad + 2)",
             "store_shared<2>(tile + (left + 1) * ROW + right, quad + 2)")},
    {"rows and columns of a quad not exchanged", SWAPPED, "nt",
     STORE16("(right + e % 2) * ROW + left + e / 2 * 8", "(right + e / 2) * ROW + left + e % 2 * 8")},
    /* Parts, teams, clusters. */
    {"parts of all blocks in one place", PARTS, "nn",
     STORE("parts + (long long)blockIdx.y * part::FLOATS", "parts")},
    {"parts of all tiles in one place", PARTS, "nn",
     STORE("(long long)blockIdx.x * args.splits * (BM * BN)", "0")},
    {"parts over the counters", PARTS, "nn", PACK16("args.workspace + args.counters +", "args.workspace +")},
    {"counters of all items are the first's", PARTS, "nn",
     STORE("((long long)blockIdx.z * gridDim.x + blockIdx.x)", "blockIdx.x")},
    {"a part forgotten", PARTS, "nn",
     STORE("part::add(parts, args.splits, sum);", "part::add(parts, args.splits - 1, sum);")},
    {"a block that is not the last stores C", PARTS, "nn",
     STORE("inbox())) return false;", "inbox())) return true;")},
    {"each block begins with the first k", PARTS, "nn",
     LOOP("begin = blockIdx.y * args.k_per_split,", "begin = 0,")},
    {"each block ends with the last k", PARTS, "nn",
     LOOP("min(args.k - begin, args.k_per_split) + begin", "args.k")},
    {"teams multiply the same k", TEAMS, "nn", LOOP("team * (BK / WARPS_K), team}", "0, team}")},
    {"tiles of teams on top of each other", TEAMS, "nn", STORE("team * (TILE_BYTES / 4)", "0")},
    {"teams' sums added before all are there", TEAMS, "nn",
     SUM16("    __syncthreads();\n    if constexpr (CLUSTER) {", "    if constexpr (CLUSTER) {")},
    {"blocks of a cluster send before the others have begun", CLUSTER, "nn",
     SUM16("cluster::wait_for_others();", "")},
    {"the inbox read before it is full", CLUSTER, "nn",
     SUM16("mbarrier_wait(cluster::full(inbox()), 0);", "")},
    {"all blocks of a cluster store the first rows", CLUSTER, "nn",
     SUM16("(int)blockIdx.y * cluster::SHARE}", "0}")},
    {"rows of the next tile stored by the last block", CLUSTER, "nn",
     SUM16("if (first + row < BM) to", "to")},
    {"parts of teams in one place", TEAM_PARTS, "nn",
     SUM16("parts + (long long)blockIdx.y * (BM * BN)", "parts")},
    {"a part of teams forgotten", TEAM_PARTS, "nn",
     SUM16("BM * BN, 0, args.splits)", "BM * BN, 1, args.splits)")},
    /* Kernels that begin early, and items anywhere. */
    {"does not wait for the kernel before", DEPENDENT, "nn", LOOP("    wait_for_kernel_before();\n", "")},
    {"packs before the kernel before has ended", DEPENDENT, "nn",
     PACK16("    wait_for_kernel_before();\n", "")},
    {"only blocks with products wait", DEPENDENT, "nn",
     LOOP("    wait_for_kernel_before();\n", "    if (args.alpha != 0.0f) wait_for_kernel_before();\n")},
    {"asks for columns beyond the operand", DEPENDENT, "nt",
     LOOP("min(args.n - origin.n, BN), begin, k", "BN, begin, k")},
    {"asks for k beyond the operand", DEPENDENT, "nn",
     LOOP("min(end - begin, all.ask * EARLY_K)", "all.ask * EARLY_K")},
    {"copies of items that are not aligned", PLAIN, "nn:pointers",
     LOOP("is_aligned<VA>(a.matrix) && is_aligned<VB>(b.matrix)", "true")},
    {"vectors of C that is not aligned", PLAIN, "nn:pointers",
     LOOP("if (is_aligned<VC>(to.c))", "if (true)")},
    /* Packed operands. */
    {"packed items of a batch in one place", PACKED, "nn", PACK16("blockIdx.z * item.floats", "0")},
    {"packed B over packed A", PACKED, "nn", PACK16("base_of(args, item) + item.b", "base_of(args, item)")},
    {"lines of packed A too close", PACKED, "nn",
     LOOP("packed_line(TRANS_A ? args.m : args.k)}", "TRANS_A ? args.m : args.k}")},
    {"B packed and not used", PACKED, "nt", LOOP("if (!PACK_B) return", "if (true) return")},
    {"second element of a packed word forgotten", PACKED, "nn", {"gt_pack16.cuh", "e + 1 < width", "false"}},
    {"words beyond a line packed, too", PACKED, "nn", {"gt_pack16.cuh", "if (e < row) store", "store"}},
    {"elements beyond the matrix packed",
     PACKED,
     "nn",
     {"gt_pack16.cuh", "from + e, e < width", "from + e, true"}},
    {"pieces of B begin with the first of A", PACKED, "nn", {"gt_pack16.cuh", "piece - pieces_a", "piece"}},
    {"offset of a packed line in 32 bits",
     PACKED,
     "nt",
     {"gt_pack16.cuh", "from += line * ld;", "from += line * (int)ld;"}},
    /* Epilogues. */
    {"bias of columns from the tile's first column", PLAIN, "nn:bias",
     STORE16("(BIAS == 1 ? origin.n : origin.m)", "0")},
    {"bias of rows by the column", PLAIN, "nn:rowbias",
     STORE16("out[e] += element_of_c(bias + row)", "out[e] += element_of_c(bias + column)")},
    {"one bias for all items", PLAIN, "nn:bias", STORE16("blockIdx.z * args.stride_bias +", "")},
    {"C read where the result is stored", PLAIN, "nn:out",
     STORE16("from = source + offset;\n#else\n            const c_element *const from = c + "
             "offset;\n#endif\n            float old",
             "from = c + offset;\n#else\n            const c_element *const from = c + offset;\n#endif\n     "
             "       float old")},
    {"activation forgotten", PLAIN, "nn:relu",
     STORE16("out[e] = activated(out[e], ACTIVATION == 1 ? 0.0f : infinite());", "")},
};
const int mutants_mma16_count = sizeof mutants_mma16 / sizeof *mutants_mma16;
