/* The model of the tensor-core family against what was measured on an H200 (2026-11-22, before operands that
 * are contiguous along k were rounded by one instruction), and against what no kernel can beat. */
#include "model_checks.h"

/* BM BN BK WM WN STAGES MIN_BLOCKS SPLIT_K, and us. Rows of a problem stand together. */
static const struct row {
    const char *problem;
    int tile[3], warp[2], stages, blocks, splits;
    double measured_us;
} measured[] = {
    {"nn:4096x4096x4096", {128, 256, 32}, {64, 64}, 4, 1, 1, 681.0},
    {"nn:4096x4096x4096", {256, 128, 16}, {64, 64}, 4, 1, 1, 709.0},
    {"nn:4096x4096x4096", {128, 128, 16}, {64, 64}, 5, 2, 1, 764.1},
    {"nn:4096x4096x4096", {64, 256, 16}, {64, 64}, 4, 2, 1, 910.9},
    {"nn:4096x4096x4096", {192, 128, 16}, {64, 64}, 4, 1, 1, 1067.7},
    {"nn:4096x4096x4096", {128, 64, 32}, {64, 64}, 3, 3, 1, 1175.8},
    {"tn:4096x4096x4096", {128, 256, 16}, {64, 64}, 4, 1, 1, 671.2},
    {"tn:4096x4096x4096", {256, 128, 32}, {64, 64}, 3, 1, 1, 677.9},
    {"tn:4096x4096x4096", {128, 128, 32}, {64, 64}, 2, 2, 1, 786.5},
    {"tn:4096x4096x4096", {64, 256, 16}, {64, 64}, 4, 2, 1, 925.7},
    {"nn:4095x4097x4093", {256, 128, 16}, {64, 64}, 4, 1, 1, 1596.1},
    {"nn:4095x4097x4093", {128, 128, 16}, {64, 64}, 3, 2, 1, 1707.6},
    {"nn:4095x4097x4093", {64, 256, 16}, {64, 64}, 4, 2, 1, 2030.7},
    {"nn:4095x4097x4093", {128, 256, 32}, {64, 64}, 4, 1, 1, 2101.3},
    {"tt:4095x4097x4093", {256, 128, 16}, {64, 64}, 4, 1, 1, 1067.0},
    {"tt:4095x4097x4093", {256, 128, 32}, {64, 64}, 3, 1, 1, 1225.5}, /* spills */
    {"tt:4095x4097x4093", {128, 256, 16}, {64, 64}, 4, 1, 1, 1328.9},
    {"tt:4095x4097x4093", {128, 256, 32}, {64, 64}, 3, 1, 1, 1903.6}, /* spills */
    {"nt:1024x1024x1024", {64, 128, 32}, {32, 64}, 3, 2, 1, 22.9},
    {"nt:1024x1024x1024", {128, 64, 32}, {64, 32}, 3, 2, 1, 24.4},
    {"nt:1024x1024x1024", {128, 128, 32}, {64, 64}, 3, 2, 4, 26.3},
    {"nt:1024x1024x1024", {64, 64, 32}, {32, 32}, 4, 2, 1, 27.7},
    {"nt:1024x1024x1024", {64, 128, 32}, {32, 64}, 3, 2, 2, 28.6},
    {"nt:1024x1024x1024", {64, 64, 32}, {32, 64}, 4, 3, 2, 41.0},
};
enum { MEASURED = sizeof measured / sizeof *measured };

static double predicted_row_us(const struct row *row)
{
    char text[CONFIG_TEXT_MAX], problem_text[64];
    snprintf(problem_text, sizeof problem_text, "tf32gemm:%s", row->problem);
    const struct problem p = problem_of(problem_text);
    const int vector = p.k % 4 ? 1 : 4, group = p.m > 2048 ? 8 : 1;
    snprintf(
        text, sizeof text,
        "mma BM=%d BN=%d BK=%d WM=%d WN=%d STAGES=%d VA=%d VB=%d VC=%d MIN_BLOCKS=%d GROUP=%d SPLIT_K=%d",
        row->tile[0], row->tile[1], row->tile[2], row->warp[0], row->warp[1], row->stages, vector, vector,
        vector, row->blocks, group, row->splits);
    return predicted_us(text, problem_text);
}

TEST(measured_times_are_predicted_within_a_third)
{
    for (int i = 0; i < MEASURED; i++) {
        const double ratio = predicted_row_us(&measured[i]) / measured[i].measured_us;
        if (ratio < 1 / 1.35 || ratio > 1.35)
            fail_msg("%s, row %d: predicted %.2f of measured", measured[i].problem, i, ratio);
    }
}

/* Of each problem the first row is the fastest, and the last the slowest. */
TEST(the_fastest_is_near_the_model_s_first_choice_and_the_slowest_far_from_it)
{
    for (int i = 0, end; i < MEASURED; i = end) {
        double least_us = (double)INFINITY;
        for (end = i; end < MEASURED && strcmp(measured[end].problem, measured[i].problem) == 0; end++)
            least_us = fmin(least_us, predicted_row_us(&measured[end]));
        const double first = predicted_row_us(&measured[i]) / least_us,
                     last = predicted_row_us(&measured[end - 1]) / least_us;
        if (first > 1.05 || last < 1.25)
            fail_msg("%s: first %.3f, last %.3f of the least", measured[i].problem, first, last);
    }
}

TEST(no_candidate_is_faster_than_tensor_cores_and_memory_allow)
{
    static const char *const problems[] = {"tf32gemm:nn:4096x4096x4096", "tf32gemm:tt:1023x1025x1027",
                                           "tf32gemm:nt:64x64x65536", "tf32gemm:tn:16384x64x64:batch=4"};
    const struct counted counted =
        assert_none_beats_the_gpu(GT_SOURCE_DIR "/configs/spaces/mma.conf", "tf32", (double)INFINITY,
                                  problems, sizeof problems / sizeof *problems);
    assert_true(counted.least > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_a_third),
        cmocka_unit_test(the_fastest_is_near_the_model_s_first_choice_and_the_slowest_far_from_it),
        cmocka_unit_test(no_candidate_is_faster_than_tensor_cores_and_memory_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
