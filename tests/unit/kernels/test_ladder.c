/* The rungs on the host: what they serve, which tile sizes they refuse, how they are launched. */
#include "gemm_block.h"
#include "ladder.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *why_not(const char *config_text, const char *problem_text)
{
    struct config config;
    struct problem problem;
    assert_ok(config_parse(config_text, &config));
    assert_ok(problem_parse(problem_text, &problem));
    return config.template->check(&config, &problem, NULL);
}

TEST(eight_rungs_are_in_the_table_and_none_is_searched)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        assert_ptr_equal(template_find(ladder_rungs[i]->name), ladder_rungs[i]);
        assert_ptr_equal(ladder_find(ladder_rungs[i]->name), ladder_rungs[i]);
        assert_ptr_equal(ladder_find(ladder_rungs[i]->name + strlen("ladder_")), ladder_rungs[i]);
        assert_null(ladder_rungs[i]->space);
        char source[64];
        snprintf(source, sizeof source, "%s.cu", ladder_rungs[i]->name + strlen("ladder_"));
        assert_string_equal(ladder_rungs[i]->sources[0].name, source);
    }
    assert_null(ladder_find("simt"));
    assert_null(ladder_find("nothing"));
}

TEST(the_shown_configuration_is_legal_on_every_gpu_and_survives_its_text)
{
    struct gpu *gpus;
    size_t count;
    assert_ok(gpu_list(GT_SOURCE_DIR "/configs/gpus", &gpus, &count));
    const struct problem problem = problem_make(4096, 4096, 4096);
    for (int i = 0; i < LADDER_RUNGS; i++) {
        struct config config, again;
        char text[CONFIG_TEXT_MAX];
        ladder_config(ladder_rungs[i], &config);
        config_format(&config, text);
        assert_ok(config_parse(text, &again));
        assert_true(config_equal(&config, &again));
        for (size_t g = 0; g < count; g++) assert_null(ladder_rungs[i]->check(&config, &problem, &gpus[g]));
    }
    free(gpus);
}

TEST(rungs_serve_sgemm_alone)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        struct config config;
        struct problem problem = problem_make(8, 8, 8);
        ladder_config(ladder_rungs[i], &config);
        assert_null(ladder_rungs[i]->check(&config, &problem, NULL));
        for (int type = GEMM_SGEMM + 1; type < GEMM_TYPE_COUNT; type++) {
            problem.type = (enum gemm_type)type;
            assert_string_equal(ladder_rungs[i]->check(&config, &problem, NULL), "the ladder shows sgemm");
        }
    }
}

TEST(only_nn_and_batch_1_are_served)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        static const char *const others[] = {"nt:8x8x8", "tn:8x8x8", "tt:8x8x8", "8x8x8:batch=2"};
        struct config config;
        ladder_config(ladder_rungs[i], &config);
        for (int o = 0; o < 4; o++) {
            struct problem problem;
            assert_ok(problem_parse(others[o], &problem));
            assert_string_equal(ladder_rungs[i]->check(&config, &problem, NULL),
                                "the ladder shows nn, batch 1");
        }
    }
}

TEST(rungs_compute_no_epilogue_and_take_no_pointers)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        struct config config;
        struct problem problem = problem_make(8, 8, 8);
        ladder_config(ladder_rungs[i], &config);
        problem.epilogue = epilogue_code(BIAS_NONE, ACTIVATION_RELU, false);
        assert_string_equal(ladder_rungs[i]->check(&config, &problem, NULL), "the ladder shows no epilogue");
        problem.epilogue = 0;
        problem_use_pointers(&problem);
        assert_string_equal(ladder_rungs[i]->check(&config, &problem, NULL),
                            "the ladder takes no arrays of pointers");
    }
}

TEST(tile_sizes_that_do_not_fit_together_are_refused)
{
    static const struct {
        const char *config, *part;
    } refused[] = {
        {"ladder_naive BM=64 BN=32", "1024 threads"},
        {"ladder_shared BM=32 BN=32 BK=128", NULL},
        {"ladder_shared BM=8 BN=128 BK=128", "shared memory"},
        {"ladder_blocktile_1d BM=64 BN=64 BK=8 TM=7", "multiple of TM"},
        {"ladder_blocktile_2d BM=64 BN=60 BK=8 TM=8 TN=8", "multiple of TN"},
        {"ladder_vectorized BM=64 BN=64 BK=6 TM=8 TN=8", "multiples of 4"},
        {"ladder_vectorized BM=256 BN=32 BK=4 TM=8 TN=4", "loads of B"},
        {"ladder_vectorized BM=32 BN=128 BK=4 TM=4 TN=4", "loads of A"},
        {"ladder_double_buffered BM=128 BN=128 BK=32 TM=8 TN=8 MIN_BLOCKS=1", "shared memory"},
        {"ladder_double_buffered BM=128 BN=128 BK=16 TM=8 TN=8 MIN_BLOCKS=5", "1024 threads"},
        {"ladder_warptiled BM=128 BN=128 BK=16 WM=48 WN=64 TM=8 TN=8 MIN_BLOCKS=1", "WM and WN"},
        {"ladder_warptiled BM=128 BN=128 BK=16 WM=64 WN=64 TM=8 TN=8 MIN_BLOCKS=1", "one a lane"},
        {"ladder_warptiled BM=64 BN=128 BK=16 WM=8 WN=128 TM=8 TN=4 MIN_BLOCKS=1", "even number"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *why = why_not(refused[i].config, "64x64x64");
        if (!refused[i].part) assert_null(why);
        else if (!why || !strstr(why, refused[i].part))
            fail_msg("%s: '%s' lacks '%s'", refused[i].config, why ? why : "legal", refused[i].part);
    }
}

TEST(values_from_a_foreign_database_are_refused_before_they_divide)
{
    for (int i = 0; i < LADDER_RUNGS; i++)
        for (int bad = 0; bad < ladder_rungs[i]->param_count; bad++) {
            struct config config;
            ladder_config(ladder_rungs[i], &config);
            config.value[bad] = 0;
            assert_non_null(ladder_rungs[i]->check(&config, NULL, NULL));
            config.value[bad] = INT32_MAX;
            assert_non_null(ladder_rungs[i]->check(&config, NULL, NULL));
        }
}

TEST(a_grid_holds_every_tile_or_the_problem_is_refused)
{
    struct config config;
    struct launch_plan plan;
    ladder_config(ladder_find("warptiled"), &config);
    struct problem problem = problem_make(129, 257, 5);
    config.template->plan(&config, &problem, &plan);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[0], 2 * 3);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(gemm_args_in(&plan).m, 129);
    assert_int_equal(gemm_args_in(&plan).lda, 5);
    assert_null(why_not("ladder_naive BM=32 BN=32", "1000000x2000000x1"));
    assert_string_equal(why_not("ladder_naive BM=32 BN=32", "2000000x2000000x1"),
                        "more tiles than a grid has blocks");
}

TEST(an_empty_c_needs_no_launch_but_an_empty_sum_does)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        struct config config;
        struct launch_plan plan;
        ladder_config(ladder_rungs[i], &config);
        struct problem problem = problem_make(0, 5, 5);
        config.template->plan(&config, &problem, &plan);
        assert_int_equal(plan.kernels, 0);
        problem = problem_make(5, 5, 0);
        config.template->plan(&config, &problem, &plan);
        assert_int_equal(plan.kernels, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_rungs_are_in_the_table_and_none_is_searched),
        cmocka_unit_test(the_shown_configuration_is_legal_on_every_gpu_and_survives_its_text),
        cmocka_unit_test(rungs_serve_sgemm_alone),
        cmocka_unit_test(only_nn_and_batch_1_are_served),
        cmocka_unit_test(rungs_compute_no_epilogue_and_take_no_pointers),
        cmocka_unit_test(tile_sizes_that_do_not_fit_together_are_refused),
        cmocka_unit_test(values_from_a_foreign_database_are_refused_before_they_divide),
        cmocka_unit_test(a_grid_holds_every_tile_or_the_problem_is_refused),
        cmocka_unit_test(an_empty_c_needs_no_launch_but_an_empty_sum_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
