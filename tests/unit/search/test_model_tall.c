/* The model of the tall family: held to what no kernel can beat, and to which of two must be slower. */
#include "model_checks.h"

static const char *const narrow =
    "tall SIDE=1 BM=256 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=2 SMS=132";

TEST(no_candidate_is_faster_than_arithmetic_and_memory_allow)
{
    static const char *const shapes[] = {"nn:559104x64x147", "nt:64x559104x147", "nn:1605632x32x27",
                                         "nn:290400x96x363", "nt:17x40001x45:batch=3:beta=1"};
    const struct counted counted = assert_none_beats_the_gpu(
        GT_SOURCE_DIR "/configs/spaces/tall.conf", "fp32", 100, shapes, sizeof shapes / sizeof *shapes);
    assert_true(counted.least >= 100 && counted.most <= 3000);
}

TEST(rows_that_vectors_fit_and_a_wide_c_have_no_candidate)
{
    static const char *const shapes[] = {"nn:559104x64x148", "nn:559104x97x147", "tn:559105x64x147",
                                         "nn:1001x64x147"};
    const struct gpu gpu = h200();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct problem p = problem_of(shapes[i]);
        struct candidates all = candidates_for(NULL, &p, &gpu);
        for (size_t j = 0; j < all.count; j++) assert_string_not_equal(all.config[j].template->name, "tall");
        candidates_free(&all);
    }
}

TEST(what_is_more_takes_longer)
{
    const struct kernel_facts fits = {.registers = 128}, spills = {.registers = 128, .spill_bytes = 16};
    const double time = predicted(narrow, "nn:559104x64x147", &fits).time_us;
    assert_true(predicted(narrow, "nn:1118208x64x147", &fits).time_us > 1.8 * time);
    assert_true(time > 1.5 * predicted(narrow, "nn:559104x64x74", &fits).time_us);
    assert_true(predicted(narrow, "nn:559104x64x147:batch=2", &fits).time_us > 1.8 * time);
    assert_true(predicted(narrow, "nn:559104x64x147", &spills).time_us > 1.3 * time);
    const double empty = predicted(narrow, "nn:559104x64x0:lda=1", &fits).time_us;
    assert_true(isfinite(empty) && empty > 0 && empty < time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_candidate_is_faster_than_arithmetic_and_memory_allow),
        cmocka_unit_test(rows_that_vectors_fit_and_a_wide_c_have_no_candidate),
        cmocka_unit_test(what_is_more_takes_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
