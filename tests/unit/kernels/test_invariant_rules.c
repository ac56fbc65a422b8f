/* Which configurations add in the one order of an invariant problem, and that there is one for every problem.
 */
#include "family_checks.h"

#include "gemm_args.h"
#include "invariant.h"

#include <stdlib.h>

static struct config changed(const char *text, const char *name, int value)
{
    struct config config = config_of(text);
    assert_true(config_set(&config, name, value));
    return config;
}

static void assert_check(const struct config *config, const char *problem, const char *part)
{
    const struct problem p = problem_of(problem);
    const char *why = check(config, &p, &h200);
    if (part) assert_refused(why, part);
    else assert_taken(why);
}

#define MMA16                                                                                                \
    "mma16 BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=4 PRELOAD=1 PACK=0 VA=8 VB=8 VC=4 "         \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=8 SPLIT_K="
#define WGMMA                                                                                                \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 GROUP=1 "  \
    "SMS=1 SPLIT_K="

TEST(a_division_is_that_of_n_and_k)
{
    static const char *const families[] = {MMA16 "1", WGMMA "1"};
    for (int i = 0; i < 2; i++) {
        for (int split = 1; split <= 16; split++) {
            const struct config config = changed(families[i], "SPLIT_K", split);
            const char *const parts = "in how many parts";
            assert_check(&config, "bf16gemm:nt:64x6144x4096:invariant", split == 1 ? NULL : parts);
            assert_check(&config, "hgemm:nt:1x512x14336:invariant", split == 2 ? NULL : parts);
            assert_check(&config, "hgemm:nn:999x128x8192:c=f32:invariant", split == 8 ? NULL : parts);
            assert_check(&config, "hgemm:nt:1x512x14336", NULL);
        }
        struct config cluster = changed(families[i], "REDUCE", 2);
        config_set(&cluster, "SPLIT_K", 2);
        assert_check(&cluster, "bf16gemm:nt:64x512x14336:invariant", NULL);
        assert_check(&cluster, "bf16gemm:nt:64x6144x4096:invariant", "in how many parts");
    }
}

TEST(teams_of_warps_that_divide_k_are_refused)
{
    const struct config teams = changed(MMA16 "1", "WARPS_K", 2);
    assert_check(&teams, "bf16gemm:nt:64x6144x4096", NULL);
    assert_check(&teams, "bf16gemm:nt:64x6144x4096:invariant", "WARPS_K");
    const struct config consumers = changed(WGMMA "1", "CONSUMERS", 1);
    assert_check(&consumers, "bf16gemm:nt:64x6144x4096:invariant", NULL);
    struct config two = changed(WGMMA "1", "CONSUMERS", 2); /* they divide rows */
    config_set(&two, "BM", 128);
    assert_check(&two, "bf16gemm:nt:64x6144x4096:invariant", NULL);
}

/* 4160 = 65 * 64: parts of 33 and 32 runs of 64, of 17 and 16 runs of 128, or of 65 runs of 32. */
TEST(parts_that_would_begin_elsewhere_are_refused)
{
    static const char *const families[] = {MMA16 "2", WGMMA "2"};
    for (int i = 0; i < 2; i++) {
        const struct config of_64 = config_of(families[i]), of_128 = changed(families[i], "BK", 128);
        assert_check(&of_64, "bf16gemm:nt:64x512x4160:invariant", NULL);
        assert_check(&of_128, "bf16gemm:nt:64x512x4160:invariant", "would begin elsewhere");
        assert_check(&of_128, "bf16gemm:nt:64x512x4160", NULL);
        assert_check(&of_128, "bf16gemm:nt:64x512x4096:invariant", NULL);
    }
    struct config of_32 = changed(MMA16 "2", "BK", 32);
    assert_check(&of_32, "bf16gemm:nt:64x512x4160:invariant", "would begin elsewhere");
    config_set(&of_32, "SPLIT_K", 1); /* undivided */
    assert_check(&of_32, "bf16gemm:nt:64x6144x4160:invariant", NULL);
}

/* What is legal is launched in the documented parts. */
TEST(the_launch_has_the_parts_of_the_problem)
{
    static const char *const families[] = {MMA16 "2", WGMMA "2"};
    const struct problem p = problem_of("bf16gemm:nt:64x512x4160:invariant");
    for (int i = 0; i < 2; i++)
        for (int reduce = 1; reduce <= 2; reduce++) {
            const struct config config = changed(families[i], "REDUCE", reduce);
            const struct launch_plan plan = plan_of(&config, &p);
            struct gemm_args args;
            memcpy(&args, plan.argument, sizeof args);
            assert_taken(check(&config, &p, &h200));
            assert_int_equal(args.splits, invariant_parts(p.n, p.k));
            assert_int_equal(args.k_per_split, invariant_part_k(p.n, p.k));
        }
}

TEST(other_families_and_the_library_are_refused)
{
    const struct problem p = problem_of("bf16gemm:nt:8x512x4096:invariant");
    int serving = 0;
    for (size_t i = 0; i < template_count; i++) {
        const struct template *t = templates[i];
        const bool serves = template_serves(t, &p);
        serving += serves;
        assert_int_equal(serves, strcmp(t->name, "mma16") == 0 || strcmp(t->name, "wgmma") == 0);
        if (serves || !(t->computes & GEMM_TYPE_BIT(p.type))) continue;
        struct config config = {.template = t};
        for (int v = 0; v < t->param_count; v++) config.value[v] = t->params[v].least;
        const char *why = t->check(&config, &p, &h200);
        assert_non_null(why);
        if (t->check_prefix)
            assert_refused(t->check_prefix(&config, 0, &p, NULL), "other orders of additions");
        else assert_refused(why, "says nothing of the order");
    }
    assert_int_equal(serving, 2);
}

/* Nothing is refused early that all values together are not: the walk over a space leaves out nothing legal.
 */
TEST(a_legal_configuration_is_legal_however_few_of_its_values_are_known)
{
    static const char *const problems[] = {"bf16gemm:nt:64x6144x4096:invariant",
                                           "bf16gemm:nt:64x512x14336:invariant"};
    static const char *const families[] = {MMA16 "1", WGMMA "1"};
    for (int i = 0; i < 4; i++) {
        const struct problem p = problem_of(problems[i / 2]);
        const struct config config = changed(families[i % 2], "SPLIT_K", invariant_parts(p.n, p.k));
        for (int known = 0; known <= config.template->param_count; known++)
            assert_taken(config.template->check_prefix(&config, known, &p, &h200));
        /* And a cluster of another size is refused before the parameters that follow. */
        struct config cluster = config;
        config_set(&cluster, "REDUCE", 4);
        const int at = template_param(config.template, "REDUCE");
        assert_taken(config.template->check_prefix(&cluster, at, &p, &h200));
        assert_refused(config.template->check_prefix(&cluster, at + 1, &p, &h200), "in how many parts");
    }
}

static const char *plain_for(const struct problem *p, const struct gpu *gpu, struct config *found)
{
    const struct template *t = template_find("mma16");
    const char *why = "there are none";
    for (int i = 0; t->plain(i, found); i++)
        if (!(why = t->check(found, p, gpu))) return NULL;
    return why;
}

/* With clusters whatever M is; before sm_90 as many rows as the parts of k leave room for in the workspace.
 */
TEST(a_plain_configuration_computes_every_problem)
{
    struct gpu ampere = h200;
    struct config config;
    ampere.arch = 86, ampere.smem_per_block_bytes = ampere.smem_per_sm_bytes = 100 * 1024 - 1024;
    srand(2);
    for (int i = 0; i < 3000; i++) {
        char text[PROBLEM_TEXT_MAX];
        static const char *const types[] = {"bf16gemm", "hgemm"}, *const ops[] = {"nn", "nt", "tn", "tt"};
        static const char *const more[] = {"",
                                           ":c=f32",
                                           ":beta=1",
                                           ":batch=7",
                                           ":batch=3:pointers",
                                           ":epilogue=bias+gelu",
                                           ":lda=20001:ldb=20003:ldc=20001"};
        snprintf(text, sizeof text, "%s:%s:%dx%dx%d%s:invariant", types[rand() % 2], ops[rand() % 4],
                 1 + rand() % (rand() % 2 ? 20000 : 16), 1 + rand() % 20000, 1 + rand() % 20000,
                 more[rand() % 7]);
        const struct problem p = problem_of(text);
        const char *why = plain_for(&p, &h200, &config);
        if (why) fail_msg("%s: %s", text, why);
        if (4.0 * (double)(p.m + 127) * (double)(p.n + 127) * invariant_parts(p.n, p.k) < 256 << 20 &&
            (why = plain_for(&p, &ampere, &config)))
            fail_msg("%s on sm_86: %s", text, why);
    }
    struct gpu turing = h200;
    turing.arch = 75;
    const struct problem p = problem_of("hgemm:nt:8x512x4096:invariant");
    assert_refused(plain_for(&p, &turing, &config), "sm_80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_division_is_that_of_n_and_k),
        cmocka_unit_test(teams_of_warps_that_divide_k_are_refused),
        cmocka_unit_test(parts_that_would_begin_elsewhere_are_refused),
        cmocka_unit_test(the_launch_has_the_parts_of_the_problem),
        cmocka_unit_test(other_families_and_the_library_are_refused),
        cmocka_unit_test(a_legal_configuration_is_legal_however_few_of_its_values_are_known),
        cmocka_unit_test(a_plain_configuration_computes_every_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
