/* Bugs in the family for wgmma. */
#include "mutants.h"

#define PLAIN                                                                                                \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=3 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=2 "  \
    "SPLIT_K=1 SMS=1"
#define PAIR                                                                                                 \
    "wgmma BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=2 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 " \
    "SPLIT_K=1 SMS=1"
#define TALL                                                                                                 \
    "wgmma BM=128 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 " \
    "SPLIT_K=1 SMS=1"
#define LONG                                                                                                 \
    "wgmma BM=64 BN=24 BK=128 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 " \
    "SPLIT_K=1 SMS=1"
#define SWAPPED                                                                                              \
    "wgmma BM=8 BN=128 BK=64 SWAP=1 CONSUMERS=2 STAGES=3 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 "  \
    "SPLIT_K=1 SMS=1"
#define PARTS                                                                                                \
    "wgmma BM=64 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 "  \
    "SPLIT_K=3 SMS=1"
#define CLUSTER                                                                                              \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=3 WALK=0 GROUP=1 "  \
    "SPLIT_K=3 SMS=1"

#define WALKING                                                                                              \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=1 WALK=1 GROUP=1 "  \
    "SPLIT_K=1 SMS=1"
#define PACKED                                                                                               \
    "wgmma BM=64 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 "  \
    "SPLIT_K=1 SMS=1"

#define DEPENDENT                                                                                            \
    "wgmma BM=64 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 "  \
    "SPLIT_K=3 SMS=1 PDL=1"

#define BOXES                                                                                                \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=1 "  \
    "GROUP=1 SPLIT_K=1 SMS=1"
#define TURNS                                                                                                \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=2 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=2 GROUP=1 "  \
    "SPLIT_K=1 SMS=1"

/* TF32: both operands along k (nt), the left one through registers (tt; nn with SWAP), turned before. */
#define TF32_PLAIN                                                                                           \
    "wgmma_tf32 BM=128 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "    \
    "GROUP=1 SPLIT_K=1 SMS=1"
#define TF32_SWAPPED                                                                                         \
    "wgmma_tf32 BM=16 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=2 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "    \
    "GROUP=1 SPLIT_K=1 SMS=1"
#define TF32_AHEAD                                                                                           \
    "wgmma_tf32 BM=16 BN=128 BK=64 SWAP=1 CONSUMERS=2 STAGES=2 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "    \
    "PRELOAD=2 GROUP=1 SPLIT_K=1 SMS=1"
#define TF32_DIRECT                                                                                          \
    "wgmma_tf32 BM=16 BN=64 BK=32 SWAP=1 CONSUMERS=1 STAGES=2 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=1 "     \
    "STORE=1 PRELOAD=1 GROUP=1 SPLIT_K=1 SMS=1"
#define TF32_PACKED                                                                                          \
    "wgmma_tf32 BM=64 BN=24 BK=32 SWAP=0 CONSUMERS=1 STAGES=2 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "     \
    "GROUP=1 SPLIT_K=1 SMS=1 PDL=1"

#define LOOP(find, replace)                                                                                  \
    {                                                                                                        \
        "wgmma.cu", find, replace                                                                            \
    }
#define STORE(find, replace)                                                                                 \
    {                                                                                                        \
        "wgmma_store.cuh", find, replace                                                                     \
    }
#define RULES(find, replace)                                                                                 \
    {                                                                                                        \
        "wgmma_rules.h", find, replace                                                                       \
    }

const struct mutant mutants_wgmma[] = {
    /* The producer. */
    {"copies into a stage that is still read", PLAIN, "nt",
     LOOP("        mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);\n", "")},
    {"waits for the wrong phase of an empty stage", PLAIN, "nt",
     LOOP("ring.empty(turn.stage), turn.parity ^ 1", "ring.empty(turn.stage), turn.parity")},
    {"fewer bytes announced than copied", PLAIN, "nt",
     LOOP("(full, STAGE_BYTES, true)", "(full, LEFT_BYTES, true)")},
    {"the first item of the batch for all, of A", PLAIN, "nt",
     LOOP("item_a = PACK_A || args.gemm.stride_a != 0 ? blockIdx.z : 0", "item_a = 0")},
    {"the first item of the batch for all, of B", PLAIN, "nn",
     LOOP("item_b = PACK_B || args.gemm.stride_b != 0 ? blockIdx.z : 0", "item_b = 0")},
    {"left and right item exchanged", SWAPPED, "nn", LOOP("SWAP ? item_a : item_b, full", "0, full")},
    {"all tiles of k are the first", PLAIN, "nn", LOOP("begin + tile * BK + piece", "begin + piece")},
    {"both pieces of a stage are the first", LONG, "nt", LOOP("tile * BK + piece * PIECE_K;", "tile * BK;")},
    {"pieces of a stage in one place", LONG, "nt",
     LOOP("moved(ring.stage(turn.stage), piece * (LEFT_BYTES + RIGHT_BYTES))", "ring.stage(turn.stage)")},
    {"row and k of a map exchanged", PLAIN, "nt",
     LOOP("tensor_copy(to, map, k, row, item, full)", "tensor_copy(to, map, row, k, item, full)")},
    {"blocks across k all begin at the first row", PAIR, "tn",
     LOOP("map, row + i * PIECE_K, k", "map, row, k")},
    {"blocks across k overlap", PAIR, "tn",
     LOOP("tensor_copy(moved(to, i * BLOCK_BYTES)", "tensor_copy(moved(to, i * BLOCK_BYTES / 2)")},
    {"copies the first tile of rows for all blocks", PLAIN, "nt",
     LOOP("left = SWAP ? origin.n : origin.m", "left = 0")},
    {"copies the first tile of columns for all blocks", PLAIN, "nt",
     LOOP("right = SWAP ? origin.m : origin.n", "right = 0")},
    /* The consumers. */
    {"multiplies before the copies have landed", PLAIN, "nt",
     LOOP("        mbarrier_wait(ring.full(turn.stage), turn.parity);\n", "")},
    {"waits for the wrong phase of a full stage", PLAIN, "nt",
     LOOP("ring.full(turn.stage), turn.parity)", "ring.full(turn.stage), turn.parity ^ 1)")},
    {"a stage is given back while it is multiplied", PLAIN, "nt",
     LOOP("ring.empty(before), speaks && tile > 0", "ring.empty(turn.stage), speaks")},
    {"a stage is given back before the products before it are waited for", PAIR, "nt",
     LOOP("        wgmma_wait<1>(sum);\n        mbarrier_arrive(ring.empty(before), speaks && tile > 0);\n",
          "        mbarrier_arrive(ring.empty(before), speaks && tile > 0);\n        wgmma_wait<1>(sum);\n")},
    {"one group of warps gives a stage back for all", PAIR, "nt",
     LOOP("mbarrier_init(ring.empty(i), SHARERS * 4)", "mbarrier_init(ring.empty(i), 4)")},
    {"sums are stored while products are on the way", PLAIN, "nt", LOOP("    wgmma_wait<0>(sum);\n", "")},
    {"products begin without a fence", PLAIN, "nt",
     LOOP("        wgmma_begin();\n        multiply_stage", "        multiply_stage")},
    {"the parity does not change", PLAIN, "nt", LOOP("        parity ^= 1;\n", "")},
    {"sums begin with what registers hold", PLAIN, "nt", LOOP("sum[q][e] = 0.0f;", "sum[q][e] = 1.0f;")},
    {"all groups of warps multiply the first rows", PAIR, "nt", LOOP("moved(at, group * TALL * 8192)", "at")},
    {"the second instruction multiplies the first rows", TALL, "nt", LOOP("+ (8192 >> 4), right", ", right")},
    {"steps along k of the wrong operand", PLAIN, "nn",
     LOOP("LEFT_STEP = LEFT_ALONG_K ? 2 : 128", "LEFT_STEP = LEFT_ALONG_K ? 128 : 2")},
    {"steps across k of half the length", PLAIN, "nn",
     LOOP("RIGHT_STEP = RIGHT_ALONG_K ? 2 : 128", "RIGHT_STEP = RIGHT_ALONG_K ? 2 : 64")},
    {"the last k of 64 dropped", PLAIN, "nt",
     LOOP("k < PIECE_K / WGMMA_K; k++) {\n            multiply<0>",
          "k < PIECE_K / WGMMA_K - 1; k++) {\n            multiply<0>")},
    {"the right operand is said to lie along k", PLAIN, "nn",
     LOOP("RIGHT_ALONG_K, RIGHT, FIRST>(sum", "true, RIGHT, FIRST>(sum")},
    {"the right operand begins in the left one", PLAIN, "nt",
     LOOP("                                 right = matrix_at(moved(at, LEFT_BYTES))",
          "                                 right = matrix_at(at)")},
    {"a tail of k dropped", PLAIN, "nt", LOOP(" + BK - 1) / BK;", ") / BK;")},
    {"a tail of k dropped in the last split", PARTS, "nt", LOOP(" + BK - 1) / BK;", ") / BK;")},
    {"every split begins at the first k", PARTS, "nt",
     LOOP("begin = blockIdx.y * args.gemm.k_per_split, k_left", "begin = 0, k_left")},
    {"A and B are read with an alpha of 0", PLAIN, "nt",
     LOOP("if (scalar_of(args.gemm.alpha_device, args.gemm.alpha) == 0.0f) tiles = 0;", "")},
    /* To C. */
    {"sums put into the ring while another group reads it", PAIR, "nt",
     STORE("    if (!WALK) consumers_sync(); /* all groups have read the ring */\n", "")},
    {"lines stored before all lanes have put their sums there", PLAIN, "nt",
     STORE("            strip_sync();\n            store_strip(", "            store_strip(")},
    {"lines stored before all warps have put their sums there", SWAPPED, "nt",
     STORE("            strip_sync();\n            store_strip(", "            store_strip(")},
    {"the second instruction's sums put over the first one's", TALL, "nt",
     STORE("            if (WALK || tall > 0) strip_sync();\n", "")},
    {"the first instruction's sums stored twice", TALL, "nt",
     STORE("sum[tall * (RIGHT / 8) + first / 8 + i]", "sum[first / 8 + i]")},
    {"all warps share a strip", PAIR, "nt",
     STORE("strips + threadIdx.x / STRIP_THREADS * (STRIP_BYTES / 4)", "strips")},
    {"both groups store the first rows", PAIR, "nt",
     STORE("(group * TALL + tall) * WGMMA_M", "tall * WGMMA_M")},
    {"rows and columns exchanged if B is the left operand", SWAPPED, "nt",
     STORE("SWAP ? 0 : left + warp * 16, SWAP ? left : first", "left, 0")},
    {"all warps put their sums into the first columns", SWAPPED, "nt",
     STORE("(SWAP ? threadIdx.x % WARPGROUP / 32 * 16 : 0) + lane / 4", "lane / 4")},
    {"all warps store the first rows", PLAIN, "nt", STORE("left + warp * 16, SWAP", "left, SWAP")},
    {"the last block is the one before", PARTS, "nt",
     STORE("args.splits, flag)) return false;", "args.splits - 1, flag)) return false;")},
    {"parts of different tiles in one place", PARTS, "nt",
     STORE("(long long)blockIdx.x * args.splits * part::FLOATS;", "0;")},
    {"one counter for all tiles", PARTS, "nt",
     STORE("(long long)blockIdx.z * gridDim.x + blockIdx.x;", "0;")},
    {"the producer is not at the barriers of the last block", PARTS, "nt",
     STORE("    else if (args.splits > 1) last_to_arrive(arrivals_of_tile(args), args.splits, inbox);\n",
           "")},
    {"parts added before they have arrived", CLUSTER, "nt",
     STORE("    mbarrier_wait(cluster::full(inbox), 0);\n", "")},
    {"all blocks of a cluster store the first rows", CLUSTER, "nt",
     STORE("(int)blockIdx.y * cluster::SHARE}", "0}")},
    {"a cluster's last share reaches below its tile", CLUSTER, "nt",
     STORE("if (first + row < BM) to.put", "to.put")},
    /* Blocks that take several tiles. */
    {"a tile left out", WALKING, "nt", LOOP("block += step * gridDim.x)", "block += 2 * step * gridDim.x)")},
    {"the last stage of a tile is not given back", WALKING, "nt",
     LOOP("    if (WALK && (PRELOAD || !LEFT_IN_REGISTERS)) mbarrier_arrive(ring.empty(before), speaks && "
          "tiles > 0);\n",
          "")},
    {"the last stage of a tile is given back before it has been multiplied", WALKING, "nt",
     LOOP("    wgmma_wait<0>(sum);\n    if (WALK && (PRELOAD || !LEFT_IN_REGISTERS)) "
          "mbarrier_arrive(ring.empty(before), speaks && tiles > 0);\n",
          "    if (WALK) mbarrier_arrive(ring.empty(before), speaks && tiles > 0);\n    "
          "wgmma_wait<0>(sum);\n")},
    {"every tile begins at the first stage", WALKING, "nt",
     LOOP("consume(ring, tiles, group, turn, sum);",
          "struct turn again; consume(ring, tiles, group, again, sum);")},
    {"sums put into the ring, which holds the next tile", WALKING, "nt",
     STORE("memory + SUMS_AT / 4", "memory")},
    {"sums put over those that are being stored", WALKING, "nt",
     STORE("            if (WALK || tall > 0) strip_sync();\n", "")},
    {"the first columns stored for all", WALKING, "nt",
     STORE("sum[tall * (RIGHT / 8) + first / 8 + i]", "sum[tall * (RIGHT / 8) + i]")},
    /* Packed operands. */
    {"every other element is not packed",
     PACKED,
     "nt",
     {"gt_pack16.cuh", "low[i] = load_element(from + e, e < width);", "low[i] = 0;"}},
    {"the last element of a line is not packed",
     PACKED,
     "nt",
     {"gt_pack16.cuh", "load_element(from + e, e < width)", "load_element(from + e, e < width - 1)"}},
    {"packed items of a batch in one place",
     PACKED,
     "nt",
     {"gt_pack16.cuh", "args.workspace + args.counters + blockIdx.z * item.floats",
      "args.workspace + args.counters"}},
    /* Boxes of C. */
    {"a box is stored without a fence", BOXES, "nt", STORE("        bulk_copy_fence();\n", "")},
    {"a box is stored before all lanes have filled it", BOXES, "nt",
     STORE("        bulk_copy_fence();\n        __syncwarp();\n", "        bulk_copy_fence();\n")},
    {"a box is filled while it is stored", BOXES, "nt",
     STORE("tensor_store_wait<STORE - 1>();", "tensor_store_wait<STORE>();")},
    {"a block ends while its boxes are stored", BOXES, "nt", LOOP("    boxes.wait();\n", "")},
    {"a box in another swizzle than its map", BOXES, "nt",
     STORE("(sixteen ^ row * BOX_LINE / 128 % (BOX_LINE / 16))", "sixteen")},
    {"halves of a quad's rows exchanged", BOXES, "nt",
     STORE("place(box, lane % 16, q + lane / 16)", "place(box, (lane + 8) % 16, q + lane / 16)")},
    {"all warps fill one box", BOXES, "nt",
     STORE("const int box = threadIdx.x / 32 * STORE + next;", "const int box = next;")},
    {"all items of a batch go to the first", BOXES, "nt",
     STORE("column, row, blockIdx.z, box", "column, row, 0, box")},
    {"C is blended with what is beyond its edge",
     BOXES,
     "nt",
     {"gt_store16.cuh", "load_two<BF16>(old, from + 8 * q, left - 8 * q);",
      "load_two<BF16>(old, from + 8 * q, 2);"}},
    /* Groups that take tiles in turns. */
    {"a group does not wait for its turn", TURNS, "nt",
     LOOP("            if (WALK == 2 && tiles > 0) mbarrier_wait(ring.go(group), go_parity);\n", "")},
    {"the next group may go on a stage too early", TURNS, "nt",
     LOOP("&& tile == tiles - 1);", "&& tile == 0);")},
    {"a group takes the other's stages", TURNS, "nt",
     LOOP("            if (WALK == 2) turn.skip((CONSUMERS - 1) * tiles);\n", "")},
    {"both groups take the same tile", TURNS, "nt", LOOP("first = WALK == 2 ? group : 0", "first = 0")},
    /* Dependent launches. */
    {"does not wait for the kernel before", DEPENDENT, "nt", LOOP("    wait_for_kernel_before();\n", "")},
    {"packs what the kernel before has not written yet",
     DEPENDENT,
     "nt",
     {"gt_pack16.cuh", "    wait_for_kernel_before();\n", ""}},
    {"reads alpha before the kernel before has written it", DEPENDENT, "nt",
     LOOP("    wait_for_kernel_before();\n",
          "    const float early = scalar_of(args.gemm.alpha_device, args.gemm.alpha);\n"
          "    wait_for_kernel_before();\n    if (early != scalar_of(args.gemm.alpha_device, "
          "args.gemm.alpha)) "
          "return;\n")},
    {"only blocks with products wait", DEPENDENT, "nt",
     LOOP("    wait_for_kernel_before();\n", "    if (blockIdx.y == 0) wait_for_kernel_before();\n")},
    /* TF32. */
    {"lanes of odd t keep the second k first", TF32_PLAIN, "tt",
     LOOP("of[i][tall][half] = odd ? y : x;", "of[i][tall][half] = x;")},
    {"rows g and g + 8 exchanged", TF32_PLAIN, "tt",
     LOOP("of[i][tall][2 + half] = odd ? x : y;", "of[i][tall][3 - half] = odd ? x : y;")},
    {"fragments without the swizzle", TF32_PLAIN, "tt",
     LOOP("(sixteen ^ half * 2 ^ k) * 16)", "(sixteen ^ half * 2) * 16)")},
    {"fragments of the first k of 8 for all", TF32_PLAIN, "tt",
     LOOP("tall * (2 * BLOCK_BYTES) + i * WGMMA_K * 128", "tall * (2 * BLOCK_BYTES)")},
    {"fragments of the first 64 rows for all", TF32_PLAIN, "tt", LOOP("tall * (2 * BLOCK_BYTES) + i", "i")},
    {"all warps load the first rows", TF32_SWAPPED, "nn",
     LOOP("moved(block, warp / 2 * BLOCK_BYTES + g", "moved(block, g")},
    {"both groups load the first columns", TF32_SWAPPED, "nn",
     LOOP("moved(at, group * TALL * (2 * BLOCK_BYTES))", "at")},
    {"a stage is given back before it has been multiplied", TF32_SWAPPED, "nn",
     LOOP("        left.multiply(sum, right);\n        wgmma_done();\n",
          "        left.multiply(sum, right);\n")},
    {"elements are loaded over those that are multiplied", TF32_AHEAD, "nn",
     LOOP("        wgmma_wait<1>(sum);\n        if (i == 0)",
          "        wgmma_wait<2>(sum);\n        if (i == 0)")},
    {"one set of elements for all", TF32_AHEAD, "nn", LOOP("left[i % 2].load(", "left[0].load(")},
    {"a stage is given back before its last elements have been multiplied", TF32_AHEAD, "nn",
     LOOP("        wgmma_wait<1>(sum);\n        if (i == 0) mbarrier_arrive(empty, speaks);\n",
          "        if (i == 0) mbarrier_arrive(empty, speaks);\n        wgmma_wait<1>(sum);\n")},
    {"elements of the first k of a piece for all", TF32_AHEAD, "nn",
     LOOP("(2 * BLOCK_BYTES) + k * WGMMA_K * 128)", "(2 * BLOCK_BYTES))")},
    {"the right operand's first k for all", TF32_AHEAD, "nn",
     LOOP("matrix_at(moved(at, LEFT_BYTES)) + k * RIGHT_STEP", "matrix_at(moved(at, LEFT_BYTES))")},
    {"elements of the first piece for all", TF32_AHEAD, "nn",
     LOOP("moved(stage, i / SETS * (LEFT_BYTES + RIGHT_BYTES))", "stage")},
    {"the last stage of a tile is kept where elements are loaded ahead", TF32_DIRECT, "nn",
     LOOP("if (WALK && (PRELOAD || !LEFT", "if (WALK && (!LEFT")},
    {"columns of C that are 8 apart exchanged", TF32_DIRECT, "nn",
     STORE("WGMMA_M + e / 2 * 8,", "WGMMA_M + 8 - e / 2 * 8,")},
    {"rows of C that are neighbours exchanged", TF32_DIRECT, "nn",
     STORE("store_c<1>(c + e % 2 * to.ldc", "store_c<1>(c + (1 - e % 2) * to.ldc")},
    {"whole tiles are stored without alpha", TF32_DIRECT, "nn",
     STORE("const float one[1] = {to.alpha * sum[q][e]};", "const float one[1] = {sum[q][e]};")},
    {"tiles at an edge are stored as whole ones", TF32_DIRECT, "nn",
     STORE("to.beta == 0.0f && to.m >= BM && to.n >= BN", "to.beta == 0.0f")},
    {"whole tiles are stored without what beta keeps", TF32_DIRECT, "nn",
     STORE("to.beta == 0.0f && to.m >= BM", "to.m >= BM")},
    {"fragments are multiplied without a fence", TF32_SWAPPED, "nn",
     LOOP("        wgmma_begin();\n#pragma", "#pragma")},
    {"an operand across k is packed as if it lay along k",
     TF32_PACKED,
     "tn",
     {"gt_pack32.cuh", "pack_piece<!TRANS_A>", "pack_piece<true>"}},
    {"a packed operand is turned before all lanes have put it there",
     TF32_PACKED,
     "nn",
     {"gt_pack32.cuh", "        __syncwarp();\n", ""}},
    {"the last k of a line is not packed",
     TF32_PACKED,
     "nt",
     {"gt_pack32.cuh", "place < length);", "place < length - 1);"}},
    {"packed B in the place of A",
     TF32_PACKED,
     "nt",
     {"gt_pack32.cuh", "base_of(args, item) + item.b, args.n", "base_of(args, item), args.n"}},
    {"packed TF32 of a batch in one place",
     TF32_PACKED,
     "nt",
     {"gt_pack32.cuh", "args.workspace + args.counters + blockIdx.z * item.floats",
      "args.workspace + args.counters"}},
    {"packs TF32 that the kernel before has not written yet",
     TF32_PACKED,
     "nt",
     {"gt_pack32.cuh", "    wait_for_kernel_before();\n", ""}},
    /* Sizes. */
    {"stages overlap", PLAIN, "nt",
     RULES("(BK / PIECE_K * (LEFT_BYTES + RIGHT_BYTES))", "(BK / PIECE_K * LEFT_BYTES)")},
};
const int mutants_wgmma_count = sizeof mutants_wgmma / sizeof *mutants_wgmma;
