/* Bugs in the streaming family for 16-bit operands. */
#include "mutants.h"

#define PLAIN                                                                                                \
    "gemv16 SIDE=0 FEW=8 TX=2 VX=2 VS=1 VC=2 WARPS_X=2 WARPS_K=2 SPAN=2 DEPTH=2 MIN_BLOCKS=1 REDUCE=1 "      \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define DEEP                                                                                                 \
    "gemv16 SIDE=0 FEW=8 TX=1 VX=1 VS=1 VC=1 WARPS_X=1 WARPS_K=2 SPAN=2 DEPTH=2 MIN_BLOCKS=1 REDUCE=1 "      \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define WIDE                                                                                                 \
    "gemv16 SIDE=0 FEW=16 TX=1 VX=8 VS=8 VC=1 WARPS_X=1 WARPS_K=2 SPAN=4 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 "     \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define TALL                                                                                                 \
    "gemv16 SIDE=0 FEW=24 TX=4 VX=4 VS=1 VC=4 WARPS_X=1 WARPS_K=2 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 "     \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define COLUMNS                                                                                              \
    "gemv16 SIDE=1 FEW=16 TX=2 VX=2 VS=2 VC=2 WARPS_X=1 WARPS_K=2 SPAN=2 DEPTH=2 MIN_BLOCKS=1 REDUCE=1 "     \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define ELEMENTS                                                                                             \
    "gemv16 SIDE=0 FEW=8 TX=1 VX=1 VS=1 VC=1 WARPS_X=1 WARPS_K=1 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 "      \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define PARTS                                                                                                \
    "gemv16 SIDE=0 FEW=8 TX=2 VX=1 VS=1 VC=2 WARPS_X=1 WARPS_K=2 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 "      \
    "SPLIT_K=3 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define CLUSTER                                                                                              \
    "gemv16 SIDE=1 FEW=8 TX=1 VX=1 VS=1 VC=2 WARPS_X=2 WARPS_K=1 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=3 "      \
    "SPLIT_K=3 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"
#define DEPENDENT                                                                                            \
    "gemv16 SIDE=0 FEW=8 TX=2 VX=2 VS=1 VC=2 WARPS_X=1 WARPS_K=2 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 "      \
    "SPLIT_K=3 "                                                                                             \
    "PDL=1 ASK=2 PAD=0"

#define RUN(find, replace)                                                                                   \
    {                                                                                                        \
        "gemv16_run.cuh", find, replace                                                                      \
    }
#define MAIN(find, replace)                                                                                  \
    {                                                                                                        \
        "gemv16.cu", find, replace                                                                           \
    }
#define SUM(find, replace)                                                                                   \
    {                                                                                                        \
        "gt_sum16.cuh", find, replace                                                                        \
    }

const struct mutant mutants_gemv16[] = {
    /* A lane's elements. */
    {"columns across k where those along k are", PLAIN, "nn",
     RUN("j / V * (8 * V) + g * V + j % V", "8 * j + g")},
    {"columns along k side by side in a lane", PLAIN, "nt",
     RUN("ALONG_K ? 8 * j + g\n", "ALONG_K ? COUNT * g + j\n")},
    {"neighbours along k exchanged", PLAIN, "nt",
     RUN("if (V == 1) return low | high << 16;\n", "if (V == 1) return low << 16 | high;\n")},
    {"both halves of a word of the first column", PLAIN, "nn",
     RUN("j % 2 == 0 ? (low & 0xffff)", "true ? (low & 0xffff)")},
    {"the wrong half of a neighbour along k", PLAIN, "nn",
     RUN("(low & 0xffff) | high << 16", "(low & 0xffff) | (high & 0xffff0000u)")},
    {"all pairs are the first", PLAIN, "nt", RUN("slot(j, 2 * q + 1)", "slot(j, 1)")},
    {"lanes of a group on the same k", PLAIN, "nt", RUN("k = k0 + lane % 4 * 8", "k = k0")},
    {"lanes take turns by 4 k", PLAIN, "nn", RUN("k = k0 + lane % 4 * 8", "k = k0 + lane % 4 * 4")},
    {"offset of a line in 32 bits", PLAIN, "nt", RUN("x * leading + k", "x * (int)leading + k")},
    {"offset of a line across k in 32 bits", PLAIN, "nn", RUN("k * leading + x", "k * (int)leading + x")},
    {"lines one element too far apart", PLAIN, "nt", RUN("ld = leading;", "ld = leading + 1;")},
    {"the next line of a lane is its neighbour's", PLAIN, "nt",
     RUN("                    at = moved_on(at, ALONG_K ? 8 * ld : ld);",
         "                    at = moved_on(at, ld);")},
    {"all pieces of a run are the first", PLAIN, "nn", RUN("run * RUN_K + piece * 32;", "run * RUN_K;")},
    {"runs are half as long", PLAIN, "nt", RUN("run * RUN_K + piece * 32;", "run * 32 + piece * 32;")},
    {"columns beyond the edge loaded", PLAIN, "nt", RUN("valid && x < left", "valid")},
    {"columns beyond the edge loaded across k", PLAIN, "nn",
     RUN("valid && x < left", "valid && (x < left || !ALONG_K)")},
    {"the last column not loaded", PLAIN, "nt", RUN("left = x_end - x;", "left = x_end - x - 1;")},
    {"runs beyond the end loaded", PLAIN, "nt", RUN("valid && x < left", "x < left")},
    {"the second vector of a line is the first", TALL, "nt",
     RUN("at + (ALONG_K ? i : x), valid", "at + (ALONG_K ? 0 : x), valid")},
    {"the rest takes k beyond the end", PLAIN, "nt", RUN("k < mine &&", "")},
    {"the rest loses its last k", PLAIN, "nt", RUN("count - piece * 32 -", "count - 1 - piece * 32 -")},
    {"the rest is the same for all lanes", PLAIN, "nn", RUN("- thread_index() % 4 * 8", "")},
    {"the rest takes columns beyond the edge", PLAIN, "nt", RUN("k < mine && x < left - moved", "k < mine")},
    {"the rest loses the second element of a word", PLAIN, "nt", RUN("to | bits << 16", "to")},
    /* Long pieces of memory. */
    {"pieces not exchanged", WIDE, "nt", MAIN("in.stream.exchange(on_the_way[d].stream);", "")},
    {"pieces of the small operand not exchanged", WIDE, "nt",
     MAIN("in.small.exchange(on_the_way[d].small);", "")},
    {"pieces exchanged with the wrong lane", WIDE, "nt",
     RUN("upper ? low : high, 4 * bit)", "upper ? low : high, 2 * bit)")},
    {"the piece that is kept is sent", WIDE, "nt",
     RUN("upper ? low : high, 4 * bit)", "upper ? high : low, 4 * bit)")},
    {"columns are those of a load", WIDE, "nt", RUN("8 * j + g % SPAN * AT_ONCE + g / SPAN", "8 * j + g")},
    {"every second lines skipped", WIDE, "nt", RUN("moved_on(at, AT_ONCE * ld)", "moved_on(at, 8 * ld)")},
    {"all lanes load the same piece of a line", WIDE, "nt", RUN("(SPREAD ? group % SPAN * 32 : 0);", "0;")},
    {"pieces beyond the edge loaded", WIDE, "nt", RUN("valid && AT_ONCE * load < left", "valid")},
    {"the rest from the line that the lane loads", WIDE, "nt",
     RUN("SPREAD ? place(0, group) - group / SPAN : 0", "0")},
    {"the rest from the piece that the lane loads", WIDE, "nt",
     RUN("moved * ld - group % SPAN * 32", "moved * ld")},
    /* The loop. */
    {"the rest left out", PLAIN, "nn", MAIN("&& rest > 0", "&& false")},
    {"every warp takes the rest", PLAIN, "nn", MAIN("&& warp_k == WARPS_K - 1 && rest", "&& rest")},
    {"the rest begins with the first run", PLAIN, "nn",
     MAIN("stream.fetch_rest(on_the_way[d].stream, whole, rest)",
          "stream.fetch_rest(on_the_way[d].stream, 0, rest)")},
    {"runs beyond the last multiplied", DEEP, "nt", MAIN("if (run + d < whole) {", "{")},
    {"warps begin with the same run", PLAIN, "nt", MAIN("int run = warp_k * DEPTH;", "int run = 0;")},
    {"warps do not step over each other's runs", PLAIN, "nt",
     MAIN("run < whole; run += WARPS_K * DEPTH", "run < whole; run += DEPTH")},
    {"the next runs are those of a neighbour", PLAIN, "nt",
     MAIN("next = run + d + WARPS_K * DEPTH", "next = run + d + DEPTH")},
    {"the small operand of the run before", PLAIN, "nt",
     MAIN("small.fetch(on_the_way[d].small, next, next < whole)",
          "small.fetch(on_the_way[d].small, next - 1, next < whole)")},
    {"both instructions of a run have the first's rows", PLAIN, "nt",
     MAIN("eight : 0, q + e / 2)", "eight : 0, e / 2)")},
    {"both instructions of a run have the first's columns", PLAIN, "nt",
     MAIN("{stream_runs::pair(stream, piece, j, q),", "{stream_runs::pair(stream, piece, j, 0),")},
    {"upper rows are the lower ones", TALL, "nt", MAIN("eight = 2 * i + e % 2;", "eight = 2 * i;")},
    {"rows of the second instruction are the first's", TALL, "nt",
     MAIN("eight = 2 * i + e % 2;", "eight = e % 2;")},
    {"warps side by side on the same columns", PLAIN, "nt",
     MAIN("part.first_column + warp / WARPS_K * (8 * TX)", "part.first_column")},
    {"each block begins with the first k", PARTS, "nt",
     MAIN("part.begin = blockIdx.y * args.k_per_split;", "part.begin = 0;")},
    {"each block ends with the last k", PARTS, "nt",
     MAIN("min(args.k - part.begin, args.k_per_split)", "args.k - part.begin")},
    {"alpha 0 reads A and B", PLAIN, "nt", MAIN(" && scalar_of(args.alpha_device, args.alpha) != 0.0f", "")},
    {"leading dimension of A is that of B", PLAIN, "nn",
     MAIN("SIDE == 0 ? args.lda : args.ldb, 0", "args.ldb, 0")},
    {"batch stride of the small operand ignored", PLAIN, "nt",
     MAIN("SIDE == 0 ? item_of_batch<const unsigned short>(args.a, args.stride_a)",
          "SIDE == 0 ? item_of_batch<const unsigned short>(args.a, 0)")},
    {"batch stride of the streamed operand ignored", COLUMNS, "nn",
     MAIN(": item_of_batch<const unsigned short>(args.a, args.stride_a)",
          ": item_of_batch<const unsigned short>(args.a, 0)")},
    /* Sums. */
    {"rows and columns of C exchanged", COLUMNS, "nt",
     MAIN("SIDE == 0 ? row * ROW + x : x * ROW + row", "row * ROW + x")},
    {"rows of an instruction side by side", TALL, "nt", MAIN("eight = 2 * i + e / 2;", "eight = 2 * i;")},
    {"columns of an instruction exchanged", PLAIN, "nt",
     MAIN("lane % 4 * 2 + e % 2", "lane % 4 * 2 + 1 - e % 2")},
    {"warps side by side store the same columns", PLAIN, "nt",
     MAIN("x = first + stream_runs", "x = stream_runs")},
    {"tiles of warps on top of each other", PLAIN, "nt", MAIN("warp % WARPS_K * (TILE_BYTES / 4)", "0")},
    {"columns of C where the rows begin", COLUMNS, "nt",
     MAIN("{SIDE == 0 ? 0 : (int)blockIdx.x * TILE_X,", "{0,")},
    {"sums added before all are there", PLAIN, "nt",
     SUM("    __syncthreads();\n    if constexpr (CLUSTER) {", "    if constexpr (CLUSTER) {")},
    {"parts of all blocks in one place", PARTS, "nt",
     SUM("parts + (long long)blockIdx.y * (BM * BN)", "parts")},
    {"parts of all tiles in one place", PARTS, "nt", MAIN("tile * args.splits * (BM * BN)", "0")},
    {"counters of all tiles are the first's", PARTS, "nt",
     MAIN("(args.workspace) + tile, to)", "(args.workspace), to)")},
    {"parts over the counters", PARTS, "nt", MAIN("args.workspace + args.counters +", "args.workspace +")},
    {"parts stored before all sums are there", PARTS, "nt",
     SUM("    __syncthreads();\n    team_tiles", "    team_tiles")},
    {"a part forgotten", PARTS, "nt", SUM("BM * BN, 0, args.splits)", "BM * BN, 1, args.splits)")},
    {"a block that is not the last stores C", PARTS, "nt", SUM("inbox())) return;", "inbox())) {}")},
    {"a part's second vector where its first is", PARTS, "nt", SUM("parts + i * W,", "parts + i,")},
    {"blocks of a cluster send before the others have begun", CLUSTER, "nt",
     SUM("cluster::wait_for_others();", "")},
    {"the inbox read before it is full", CLUSTER, "nt", SUM("mbarrier_wait(cluster::full(inbox()), 0);", "")},
    {"all blocks of a cluster store the first rows", CLUSTER, "nt",
     SUM("(int)blockIdx.y * cluster::SHARE}", "0}")},
    {"rows of the next tile stored by the last block", CLUSTER, "nt", SUM("if (first + row < BM) to", "to")},
    /* Kernels that begin early. */
    {"does not wait for the kernel before", DEPENDENT, "nt", MAIN("    wait_for_kernel_before();\n", "")},
    {"only blocks with products wait", DEPENDENT, "nt",
     MAIN("    wait_for_kernel_before();\n", "    if (args.alpha != 0.0f) wait_for_kernel_before();\n")},
    {"waits after the first loads",
     DEPENDENT,
     "nt",
     {"gemv16.cu", "    wait_for_kernel_before();\n    float sum", "    float sum"}},
    {"asks for lines beyond the operand", DEPENDENT, "nt",
     MAIN("min(part.columns - part.first_column, TILE_X), part.begin", "TILE_X, part.begin")},
    {"asks for k beyond the operand", DEPENDENT, "nt",
     MAIN("min(part.length, all.ask * EARLY_K)", "all.ask * EARLY_K")},
};
const int mutants_gemv16_count = sizeof mutants_gemv16 / sizeof *mutants_gemv16;
