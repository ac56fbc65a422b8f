/* The model of the tall family: nothing of it was measured yet, so it is held to what no kernel can beat, and
 * to which of two must be slower. */
#include "described_gpu.h"
#include "model.h"
#include "space.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <math.h>
#include <string.h>

static struct prediction predict(const char *config_text, const char *problem_text, int spill_bytes)
{
    const struct gpu gpu = h200();
    const struct kernel_facts facts = {.registers = 128, .spill_bytes = spill_bytes};
    struct config config;
    struct problem p;
    assert_ok(config_parse(config_text, &config));
    assert_ok(problem_parse(problem_text, &p));
    assert_null(config.template->check(&config, &p, &gpu));
    return model_predict(&config, &p, &gpu, &facts);
}

static const char *const narrow =
    "tall SIDE=1 BM=256 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=2 SMS=132";

TEST(no_candidate_is_faster_than_arithmetic_and_memory_allow)
{
    static const char *const shapes[] = {"nn:559104x64x147", "nt:64x559104x147", "nn:1605632x32x27",
                                         "nn:290400x96x363", "nt:17x40001x45:batch=3:beta=1"};
    const struct gpu gpu = h200();
    struct space *space;
    assert_ok(space_load_all(GT_SOURCE_DIR "/configs/spaces", &space));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct candidates all;
        struct problem p;
        int seen = 0;
        assert_ok(problem_parse(shapes[i], &p));
        assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT_BYTES, &all));
        const double ffma_us = problem_flop(&p) / (gpu_rate(&gpu, "fp32") * 1e6);
        const double memory_us = problem_bytes(&p) / (gpu.memory_gb_per_s * 1e3);
        for (size_t j = 0; j < all.count; j++) {
            if (strcmp(all.config[j].template->name, "tall") != 0) continue;
            const struct prediction guess = model_predict(&all.config[j], &p, &gpu, NULL);
            assert_true(isfinite(guess.time_us));
            assert_true(guess.time_us > ffma_us && guess.time_us > memory_us);
            assert_true(guess.time_us < 100 * (ffma_us + memory_us));
            seen++;
        }
        assert_in_range(seen, 100, 3000);
        candidates_free(&all);
    }
    space_free(space);
}

TEST(rows_that_vectors_fit_and_a_wide_c_have_no_candidate)
{
    static const char *const shapes[] = {"nn:559104x64x148", "nn:559104x97x147", "tn:559105x64x147",
                                         "nn:1001x64x147"};
    const struct gpu gpu = h200();
    struct space *space;
    assert_ok(space_load_all(GT_SOURCE_DIR "/configs/spaces", &space));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct candidates all;
        struct problem p;
        assert_ok(problem_parse(shapes[i], &p));
        assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT_BYTES, &all));
        for (size_t j = 0; j < all.count; j++) assert_string_not_equal(all.config[j].template->name, "tall");
        candidates_free(&all);
    }
    space_free(space);
}

TEST(what_is_more_takes_longer)
{
    const double time = predict(narrow, "nn:559104x64x147", 0).time_us;
    assert_true(predict(narrow, "nn:1118208x64x147", 0).time_us > 1.8 * time);
    assert_true(time > 1.5 * predict(narrow, "nn:559104x64x74", 0).time_us);
    assert_true(predict(narrow, "nn:559104x64x147:batch=2", 0).time_us > 1.8 * time);
    assert_true(predict(narrow, "nn:559104x64x147", 16).time_us > 1.3 * time);
    const double empty = predict(narrow, "nn:559104x64x0:lda=1", 0).time_us;
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
