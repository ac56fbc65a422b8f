/* Judge, trial and final verification with kernels that have an epilogue, executed on the CPU: right ones
 * pass, and each fault is found by the check intended for it. */
#include "judged_kernel.h"
#include "unit.h"

#define SIMT                                                                                                 \
    "simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=2 STORE_AT=1 "   \
    "MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K="
#define MMA "mma BM=32 BN=32 BK=16 WM=32 WN=32 STAGES=2 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 SPLIT_K=1"
#define SKINNY                                                                                               \
    "skinny SIDE=0 ROWS=3 TX=1 VX=1 VS=1 VC=1 LANES_X=32 WARPS_X=1 WARPS_K=1 DEPTH=1 STEPS=4 LOADER=1 "      \
    "MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1"
#define TALL "tall SIDE=1 BM=32 BN=16 BK=10 TM=4 TN=2 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=1 SMS=1"

TEST(right_kernels_with_an_epilogue_are_measured_and_verified)
{
    static const struct judged_case cases[] = {
        {SIMT "1", "sgemm:nn:16x12x10:epilogue=bias+gelu"},
        {SIMT "2", "sgemm:nn:16x12x40:beta=1:epilogue=rowbias+relu+out"},
        {MMA, "tf32gemm:nn:48x40x64:beta=1:epilogue=bias+gelu+out"},
        {SKINNY, "sgemm:nn:3x70x20:beta=2:epilogue=rowbias+gelu"},
        {TALL, "sgemm:nt:40x16x27:epilogue=bias+relu"}};
    judged_assert_right(cases, sizeof cases / sizeof *cases);
}

static const struct edit bias_missing = {"gt_epilogue.cuh", "BIAS ? value[e] + bias.of[e] : value[e]",
                                         "value[e]"};
static const struct edit activation_first = {
    "gt_epilogue.cuh", "activated(BIAS ? value[e] + bias.of[e] : value[e], blend.limit)",
    "activated(value[e], blend.limit) + bias.of[e]"};
static const struct edit next_bias = {"gt_epilogue.cuh", "column + offset < n ? __ldg(from + offset)",
                                      "column + offset + 1 < n ? __ldg(from + offset + 1)"};
static const struct edit beyond = {"gt_epilogue.cuh", "column + offset < n ? __ldg(from + offset)",
                                   "true ? __ldg(from + offset + (column + offset + 1 == n))"};
static const struct edit rows_as_columns = {"gt_epilogue.cuh", "#define BIAS         (EPILOGUE % 4)",
                                            "#define BIAS         (3 - EPILOGUE % 4)"};
static const struct edit steeper = {"gt_epilogue.cuh", "-0.10294324f", "-0.1035f"};
static const struct edit relu_for_gelu = {
    "gt_epilogue.cuh", "return x * fast_reciprocal(1.0f + fast_exp2(limit < power ? limit : power));",
    "return power > 0.0f && limit > 0.0f ? 0.0f : x;"};
static const struct edit over_source = {
    "gt_store.cuh", "else store_global<V>(c + e, out + e);",
    "else store_global<V>(const_cast<float *>(source_of(blend, c + e)), out + e), "
    "store_global<V>(c + e, out + e);"};
/* Adds beta * C even if beta is 0. */
static const struct edit always_blended = {
    "gt_store.cuh", "BLEND ? fmaf(blend, old[e], alpha * sum[e]) : alpha * sum[e];",
    "fmaf(blend, e < left ? *source_of(blend, c + e) : 0.0f, alpha * sum[e]);"};
static const struct edit clamped = {"gt_epilogue.cuh", "x < limit ? limit : x", "x > limit ? x : 0.0f"};
static const struct edit first_bias = {"gt_epilogue.cuh", "args.bias + blockIdx.z * args.stride_bias",
                                       "args.bias"};
static const struct edit in_place = {"gt_epilogue.cuh", "source - reinterpret_cast<const char *>(args.c) : 0",
                                     "0 * (source - reinterpret_cast<const char *>(args.c)) : 0"};

TEST(faults_are_found_by_the_trial)
{
    static const struct judged_fault cases[] = {
        {&bias_missing, "16x12x10:epilogue=bias", "whole-number data"},
        {&activation_first, "16x12x10:epilogue=bias+relu", "data"},
        {&activation_first, "16x12x10:epilogue=rowbias+gelu", "data"},
        {&next_bias, "16x12x10:epilogue=bias", "whole-number data"},
        {&beyond, "16x12x10:epilogue=bias+relu", "= nan"},
        {&rows_as_columns, "12x12x10:epilogue=bias", "whole-number data"},
        {&rows_as_columns, "12x12x10:epilogue=rowbias", "whole-number data"},
        {&steeper, "16x12x10:epilogue=gelu", "random data"},
        {&relu_for_gelu, "40x12x2000:epilogue=bias+gelu", "whole-number data"},
        {&relu_for_gelu, "16x60x2000:epilogue=bias+gelu", "whole-number data"},
        {&over_source, "16x12x10:epilogue=relu+out", "was written, which is only read"},
        {&always_blended, "16x12x10:epilogue=bias+out", "= nan"}};
    judged_assert_faults(SIMT "1", cases, sizeof cases / sizeof *cases);
}

/* Bugs that do not show with the problem's own data, but with those of the final verification. */
TEST(faults_that_the_problem_does_not_show_are_found_by_the_last_check)
{
    static const struct judged_fault cases[] = {{&clamped, "16x12x10:epilogue=relu", "random data"},
                                                {&first_bias, "16x12x10:epilogue=bias+gelu", ":batch=3"},
                                                {&in_place, "16x12x10:epilogue=bias+out", ":beta="}};
    judged_assert_late_faults(SIMT "1", cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_with_an_epilogue_are_measured_and_verified),
        cmocka_unit_test(faults_are_found_by_the_trial),
        cmocka_unit_test(faults_that_the_problem_does_not_show_are_found_by_the_last_check),
    };
    return cmocka_run_group_tests(tests, judged_open, judged_close);
}
