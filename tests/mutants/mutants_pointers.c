/* Bugs in kernels that take arrays of the addresses of batch items. */
#include "mutant_configs.h"
#include "mutants.h"

#define PACKED                                                                                               \
    "simt BM=32 BN=32 BK=8 WM=16 WN=32 TM=4 TN=4 STAGES=2 LOADER=0 PACK=3 VA=4 VB=4 VC=1 "                   \
    "UNROLL=8 STORE_AT=4 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
#define ADDRESS "((args).operand)[blockIdx.z]"

const struct mutant mutants_pointers[] = {
    {"the address of the first item for all",
     PLAIN,
     "nn:pointers",
     {"gt_batch.cuh", ADDRESS, "((args).operand)[0]"}},
    {"the address of the next item",
     PLAIN,
     "nt:pointers",
     {"gt_batch.cuh", ADDRESS, "((args).operand)[blockIdx.z + 1]"}},
    {"the last item taken for the one before",
     PLAIN,
     "tn:pointers",
     {"gt_batch.cuh", ADDRESS,
      "((args).operand)[blockIdx.z - (gridDim.z > 1 && blockIdx.z + 1 == gridDim.z)]"}},
    {"items at a stride from the first",
     PLAIN,
     "nn:pointers",
     {"gt_batch.cuh", ADDRESS, "((args).operand)[0] + blockIdx.z * (args).stride_##operand"}},
    {"A of the first item for all",
     PLAIN,
     "tt:pointers",
     {"simt.cu", "return {ITEM_OF_BATCH(args, a)",
      "return {reinterpret_cast<const float *const *>(args.a)[0]"}},
    {"B packed of the first item for all",
     PACKED,
     "nn:pointers",
     {"simt.cu", "b = {ITEM_OF_BATCH(args, b)", "b = {reinterpret_cast<const float *const *>(args.b)[0]"}},
    {"parts added to C of the first item for all",
     SPLIT,
     "nn:pointers",
     {"gt_reduce.cuh", "ITEM_OF_BATCH(args, c)", "reinterpret_cast<float *const *>(args.c)[0]"}},
    {"the streamed operand of the first item for all",
     SKINNY,
     "nn:pointers",
     {"skinny.cu", "*b = USED_ITEM_OF_BATCH(used && args.k > 0, args, b)",
      "*b = reinterpret_cast<const float *const *>(args.b)[0]"}},
    {"every item stored to the first",
     SKINNY,
     "nt:pointers",
     {"skinny_sum.cuh", "ITEM_OF_BATCH(args, c)", "reinterpret_cast<float *const *>(args.c)[0]"}},
    {"A of the first item for all",
     MMA,
     "tn:pointers",
     {"mma.cu", "ITEM_OF_BATCH(args, a)", "reinterpret_cast<const float *const *>(args.a)[0]"}},
};
const int mutants_pointers_count = sizeof mutants_pointers / sizeof *mutants_pointers;
