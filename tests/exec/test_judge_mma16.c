/* Judge, trial and final verification with kernels of 16-bit operands executed on the CPU: right kernels pass
 * in every type, and each fault is found by the check intended for it. */
#include "judged_kernel.h"
#include "unit.h"

#define LIKE(parts)                                                                                          \
    "mma16 BM=32 BN=32 BK=32 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 " parts " GROUP=1 SPLIT_K=1"
#define CONFIG LIKE("PACK=0 VA=8 VB=8 VC=8 MIN_BLOCKS=1 REDUCE=1")
#define PACKED LIKE("PACK=3 VA=8 VB=8 VC=1 MIN_BLOCKS=1 REDUCE=1")
#define PAIRS  LIKE("PACK=0 VA=2 VB=2 VC=2 MIN_BLOCKS=1 REDUCE=1")
#define ANYHOW LIKE("PACK=0 VA=1 VB=1 VC=1 MIN_BLOCKS=1 REDUCE=1")
#define CLUSTER                                                                                              \
    "mma16 BM=8 BN=32 BK=64 WM=8 WN=32 SWAP=1 WARPS_K=2 STAGES=2 PRELOAD=0 PACK=0 VA=1 VB=2 VC=1 "           \
    "MIN_BLOCKS=1 REDUCE=2 GROUP=1 SPLIT_K=2"
#define PARTS                                                                                                \
    "mma16 BM=32 BN=32 BK=32 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=0 PACK=0 VA=2 VB=2 VC=1 "         \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=3"

/* Of the last check's shapes many have odd extents, or begin in the middle of a word. */
TEST(right_kernels_are_measured_and_verified_in_each_type)
{
    static const struct judged_case cases[] = {
        {PAIRS, "bf16gemm:nn:48x40x64:beta=1"},
        {ANYHOW, "hgemm:nn:47x41x63"},
        {ANYHOW, "bf16gemm:tn:48x40x64:c=f32:beta=1"},
        {PAIRS, "hgemm:tt:48x40x64:c=f32"},
        {PACKED, "bf16gemm:nn:47x41x63:beta=1"},
        {CLUSTER, "hgemm:nt:8x64x256"},
        {PARTS, "bf16gemm:tn:40x48x192"},
        {ANYHOW, "bf16gemm:nt:48x40x64:epilogue=bias+gelu"},
        {ANYHOW, "hgemm:nn:24x40x33:batch=3:pointers:beta=1"},
    };
    judged_assert_right(cases, sizeof cases / sizeof *cases);
}

TEST(faults_are_found_by_whole_numbers)
{
    static const struct edit order = {"mma16.cu", "left[set][i], right[set][j]",
                                      "left[set][i], right[1 - set][j]"},
                             chunks = {"mma16_copy.cuh", "copy_elements<V>(moved(stage, place(l, e))",
                                       "copy_elements<V>(moved(stage, 2 * LINE * l + 2 * e)"};
    const struct judged_fault faults[] = {
        {&order, "bf16gemm:nn:48x40x64", "whole-number data"},
        {&chunks, "hgemm:nt:48x40x64", "whole-number data"},
    };
    judged_assert_faults(CONFIG, faults, sizeof faults / sizeof *faults);
}

/* They do not show with the problem's own data. */
TEST(faults_beyond_the_problem_are_found_by_the_last_check)
{
    static const struct edit tail = {"mma16_copy.cuh", "max(k_left - e, 0)",
                                     "max(k_left - e - k_left % 2, 0)"},
                             beta = {"gt_store16.cuh", "out[e] = alpha * sum[e];\n        if (beta != 0.0f)",
                                     "out[e] = alpha * sum[e];\n        if (false)"};
    const struct judged_fault faults[] = {
        {&tail, "hgemm:nt:48x40x64", "data"},
        {&beta, "bf16gemm:nn:48x40x64", ""},
    };
    judged_assert_late_faults(ANYHOW, faults, sizeof faults / sizeof *faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_are_measured_and_verified_in_each_type),
        cmocka_unit_test(faults_are_found_by_whole_numbers),
        cmocka_unit_test(faults_beyond_the_problem_are_found_by_the_last_check),
    };
    return cmocka_run_group_tests(tests, judged_open, judged_close);
}
