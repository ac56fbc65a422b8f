/* What families say of their kernels, against the machine, their plans and what a compiler has made. */
#include "claims.h"
#include "model_checks.h"
#include "occupancy.h"

#include <stdlib.h>

static const char *const cases[][2] = {{"h200", "1x4096x4096"},
                                       {"h200", "64x64x64:batch=300"},
                                       {"h200", "bf16gemm:4096x4096x4096"},
                                       {"h200", "hgemm:tt:16x4096x4096"},
                                       {"h200", "tf32gemm:2048x2048x2048"},
                                       {"h200", "sgemm_accurate:8x2048x4096"},
                                       {"h200", "sgemm_normwise:nt:128x4096x4096"},
                                       {"t4", "nt:8x1001x337"},
                                       {"a100", "bf16gemm:33x257x129"},
                                       {"b200", "tf32gemm:100x4096x512"}};

/* Of all candidates the time, of every 53rd the resources. */
static size_t check_candidates(const struct problem *p, const struct gpu *gpu)
{
    char why[OUTCOME_DETAIL_MAX];
    struct candidates all = candidates_for(NULL, p, gpu);
    for (size_t i = 0; i < all.count; i++) {
        const double us = model_predict(&all.config[i], p, gpu, NULL).time_us;
        if (!model_is_possible(&all.config[i], p, gpu, us, why)) fail_msg("%s: %s", gpu->name, why);
        if (i % 53) continue;
        /* As a compiler that keeps to the bounds of a launch. */
        const struct resources r = all.config[i].template->resources(&all.config[i]);
        const int least = config_get(&all.config[i], "MIN_BLOCKS"), usual = r.accumulators + 24,
                  most = registers_limit(gpu, r.threads, least);
        const struct kernel_facts facts = {.registers = usual < most ? usual : most};
        if (!claims_hold(&all.config[i], p, gpu, &facts, why)) fail_msg("%s: %s", gpu->name, why);
    }
    const size_t count = all.count;
    candidates_free(&all);
    return count;
}

TEST(what_families_say_of_their_kernels_is_possible)
{
    size_t checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu gpu;
        const struct problem p = problem_of(cases[i][1]);
        assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", cases[i][0], &gpu));
        checked += check_candidates(&p, &gpu);
    }
    assert_true(checked > 100000);
}

/* ---- families that say something else than they are ---- */

static struct resources said;
static double said_us;
static int said_blocks;

static struct resources other_resources(const struct config *config)
{
    (void)config;
    return said;
}

static struct prediction other_prediction(const struct config *config, const struct problem *problem,
                                          const struct gpu *gpu, const struct kernel_facts *facts)
{
    (void)config, (void)problem, (void)gpu, (void)facts;
    return (struct prediction){.time_us = said_us, .blocks_per_sm = said_blocks};
}

static const char *refusal(const struct config *config, const struct kernel_facts *facts)
{
    static char why[OUTCOME_DETAIL_MAX];
    const struct gpu gpu = h200();
    const struct problem p = problem_of("512x512x512");
    return claims_hold(config, &p, &gpu, facts, why) ? NULL : why;
}

#define H88                                                                                                  \
    "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 "      \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1"

TEST(a_description_that_is_not_the_compiled_kernel_s_is_refused)
{
    struct config config;
    assert_ok(config_parse(H88, &config));
    struct template liar = *config.template;
    const struct resources right = config.template->resources(&config);
    const struct kernel_facts facts = {.registers = 120, .static_smem_bytes = 16, .most_threads = 256};
    struct kernel_facts other = facts;
    assert_int_equal(right.threads, 256);
    assert_int_equal(right.accumulators, 64);
    assert_null(refusal(&config, &facts));
    liar.resources = other_resources;
    config.template = &liar;

    said = right, said.threads = 128;
    assert_string_equal(refusal(&config, &facts),
                        "the family simt describes 128 threads a block, and launches 256");
    said = right, said.smem_bytes += 16;
    assert_string_equal(
        refusal(&config, &facts),
        "the family simt describes 50704 bytes of shared memory a block, and launches with 50688");
    said = right, said.accumulators = 128;
    assert_string_equal(
        refusal(&config, &facts),
        "the family simt describes 128 sums a thread, and its kernel is compiled to 120 registers");
    said = right, other.most_threads = 128;
    assert_string_equal(
        refusal(&config, &other),
        "the family simt describes 256 threads a block, and its kernel is compiled for at most 128");
    other = facts, other.registers = 257;
    assert_string_equal(refusal(&config, &other),
                        "an SM has too few registers for 256 threads of 257, as its kernel takes");
    other = facts, other.static_smem_bytes = 1 << 18;
    assert_non_null(strstr(refusal(&config, &other), "bytes of shared memory, and a block may have 232448"));
    liar.predict = other_prediction;
    said_blocks = 3;
    assert_string_equal(
        refusal(&config, &facts),
        "the model of the family simt expects 3 blocks on an SM, which holds 2 of its kernel");
    said_blocks = 2;
    assert_null(refusal(&config, &facts));
}

TEST(a_time_above_the_roofline_is_impossible)
{
    char why[OUTCOME_DETAIL_MAX];
    const struct gpu gpu = h200();
    const struct problem p = problem_of("4096x4096x4096");
    struct config config;
    assert_ok(config_parse(H88, &config));
    struct template liar = *config.template;
    liar.predict = other_prediction;
    config.template = &liar;
    said_us = problem_flop(&p) / 437e6;
    assert_false(model_is_possible(&config, &p, &gpu, model_predict(&config, &p, &gpu, NULL).time_us, why));
    assert_string_equal(
        why, "the model of the family simt predicts 314.51 us (437.0 TFLOPS), and the GPU (66.9 TFLOPS, "
             "4800 GB/s) needs 2056.09 us: its description is wrong");
    assert_true(model_is_possible(&config, &p, &gpu, 2600, why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_families_say_of_their_kernels_is_possible),
        cmocka_unit_test(a_description_that_is_not_the_compiled_kernel_s_is_refused),
        cmocka_unit_test(a_time_above_the_roofline_is_impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
