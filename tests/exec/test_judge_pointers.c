/* Judge, trial and final verification with kernels that take arrays of the addresses of batch items, executed
 * on the CPU: right ones pass, and each fault is found. */
#include "judged_kernel.h"
#include "unit.h"

#define SIMT                                                                                                 \
    "simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=2 STORE_AT=1 "   \
    "MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K="
#define PACKED                                                                                               \
    "simt BM=8 BN=4 BK=4 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=3 VA=4 VB=4 VC=1 UNROLL=2 STORE_AT=1 "   \
    "MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"

#define MMA "mma BM=32 BN=32 BK=16 WM=32 WN=32 STAGES=2 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 SPLIT_K=1"
#define SKINNY                                                                                               \
    "skinny SIDE=0 ROWS=3 TX=1 VX=1 VS=1 VC=1 LANES_X=32 WARPS_X=1 WARPS_K=1 DEPTH=1 STEPS=4 LOADER=1 "      \
    "MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1"

TEST(right_kernels_that_take_pointers_are_measured_and_verified)
{
    static const struct judged_case cases[] = {{SIMT "1", "sgemm:nn:16x12x10:batch=5:pointers"},
                                               {SIMT "2", "sgemm:nt:9x13x40:batch=2:pointers:beta=1"},
                                               {PACKED, "sgemm:tn:17x11x21:batch=7:ldc=13:pointers:beta=2"},
                                               {SIMT "1", "sgemm:tt:5x3x4:pointers"},
                                               {SKINNY, "sgemm:nn:3x70x20:batch=3:pointers:beta=2"},
                                               {MMA, "tf32gemm:nt:48x40x64:batch=2:pointers"}};
    judged_assert_right(cases, sizeof cases / sizeof *cases);
}

#define ADDRESS "((args).operand)[blockIdx.z]"
#define FROM_A  "return {ITEM_OF_BATCH(args, a), args.lda, args.m};"

static const struct edit item_before = {"gt_batch.cuh", ADDRESS,
                                        "((args).operand)[blockIdx.z - (blockIdx.z > 0)]"};
static const struct edit a_of_item_0 = {
    "simt.cu", FROM_A, "return {reinterpret_cast<const float *const *>(args.a)[0], args.lda, args.m};"};
static const struct edit last_as_before = {
    "simt.cu", FROM_A,
    "return {reinterpret_cast<const float *const *>(args.a)[blockIdx.z - (blockIdx.z + 1 == gridDim.z && "
    "blockIdx.z > 0)], args.lda, args.m};"};
static const struct edit evenly_spaced = {
    "simt.cu", FROM_A,
    "return {reinterpret_cast<const float *const *>(args.a)[0] + (reinterpret_cast<const float *const "
    "*>(args.a)[gridDim.z > 1] - reinterpret_cast<const float *const *>(args.a)[0]) * blockIdx.z, args.lda, "
    "args.m};"};
static const struct edit last_not_stored = {
    "simt.cu", "const int row = origin.m + place.row, column = origin.n + place.column;",
    "if (blockIdx.z + 1 == gridDim.z) return; const int row = origin.m + place.row, column = origin.n + "
    "place.column;"};
static const struct edit behind_the_item = {
    "simt.cu", "const int row = origin.m + place.row, column = origin.n + place.column;",
    "const int row = origin.m + place.row, column = origin.n + place.column; if (row + 1 == args.m && column "
    "+ 1 "
    "== args.n) c[args.m * args.ldc] = 0.0f;"};
static const struct edit array_written = {
    "simt.cu", "float *c = ITEM_OF_BATCH(args, c);",
    "float *c = ITEM_OF_BATCH(args, c); const_cast<const float **>(reinterpret_cast<const float *const "
    "*>(args.a))[blockIdx.z] = c;"};

TEST(faults_are_found_by_the_trial)
{
    static const struct judged_fault cases[] = {
        {&item_before, "16x12x10:batch=3:pointers", "data"},
        {&a_of_item_0, "16x12x10:batch=2:pointers", "whole-number data"},
        {&last_as_before, "16x12x10:batch=5:pointers", "of item 4"},
        {&evenly_spaced, "16x12x10:batch=5:pointers", "data"},
        {&last_not_stored, "16x12x10:batch=3:pointers", "of item 2 = nan"},
        {&behind_the_item, "16x11x10:batch=3:pointers", "in C's padding were written"},
        {&array_written, "8x4x10:batch=3:pointers", "an array of addresses was written"}};
    judged_assert_faults(SIMT "1", cases, sizeof cases / sizeof *cases);
}

/* Bugs that a batch of one does not show, but the batches of the final verification. */
TEST(a_wrong_item_is_found_by_the_last_check)
{
    const struct judged_fault fault = {&a_of_item_0, "16x12x10:pointers", ":batch=3:pointers"};
    judged_assert_late_faults(SIMT "1", &fault, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_that_take_pointers_are_measured_and_verified),
        cmocka_unit_test(faults_are_found_by_the_trial),
        cmocka_unit_test(a_wrong_item_is_found_by_the_last_check),
    };
    return cmocka_run_group_tests(tests, judged_open, judged_close);
}
