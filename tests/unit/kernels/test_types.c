/* Which types of problems each family serves: those that its kernels satisfy, whatever they are called. */
#include "kernel_key.h"
#include "template.h"
#include "unit.h"

static const struct {
    const char *config, *problem; /* without a type */
} cases[] = {
    {"simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "
     "STORE_AT=8 "
     "MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
     "nn:100x100x100"},
    {"skinny SIDE=0 ROWS=16 TX=4 VX=4 VS=4 VC=4 LANES_X=16 WARPS_X=1 WARPS_K=4 WARPS_R=1 DEPTH=3 STEPS=3 "
     "BUFFERS=2 "
     "LOADER=1 MIN_BLOCKS=1 REDUCE=8 SPLIT_K=8",
     "nn:16x1760x1760"},
    {"resident SIDE=0 BM=16 BN=128 BK=9 WM=16 WN=64 TM=4 TN=8 STAGES=3 LOADER=1 ORDER=0 VS=4 VC=4 UNROLL=4 "
     "MIN_BLOCKS=8 SMS=132",
     "nn:32x1605632x27"},
};
enum { CASES = sizeof cases / sizeof *cases };

static struct problem problem_of(int i, enum gemm_type type)
{
    struct problem p;
    assert_ok(problem_parse_as(cases[i].problem, type, &p));
    return p;
}

TEST(strict_families_serve_every_fp32_type)
{
    for (int i = 0; i < CASES; i++)
        for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
            struct config config;
            const struct problem p = problem_of(i, (enum gemm_type)type);
            const bool fp32 = gemm_type_row((enum gemm_type)type)->a == ELEMENT_F32;
            assert_ok(config_parse(cases[i].config, &config));
            assert_int_equal(config.template->computes, GEMM_TYPE_BIT(GEMM_SGEMM));
            assert_true((config.template->check(&config, &p, NULL) == NULL) == fp32);
        }
}

/* As the same families would be if their kernels computed less. */
TEST(a_family_that_computes_less_refuses_what_needs_more)
{
    for (int i = 0; i < CASES; i++) {
        struct config config;
        assert_ok(config_parse(cases[i].config, &config));
        struct template lax = *config.template;
        config.template = &lax;
        lax.computes = GEMM_TYPE_BIT(GEMM_TF32);
        for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
            const struct problem p = problem_of(i, (enum gemm_type)type);
            assert_int_equal(lax.check(&config, &p, NULL) == NULL, type == GEMM_TF32);
        }
    }
}

/* As the same families would be if they had kernels for several types. */
TEST(a_family_computes_a_problem_in_its_own_type_or_else_in_the_first_that_satisfies_it)
{
    struct template both = *template_find("simt");
    enum gemm_type computed;
    both.computes = GEMM_TYPE_BIT(GEMM_SGEMM) | GEMM_TYPE_BIT(GEMM_TF32);
    assert_int_equal(template_first_type(&both), GEMM_SGEMM);
    for (int type = 0; type <= GEMM_TF32; type++) {
        struct config config;
        assert_ok(config_parse(cases[0].config, &config));
        config.template = &both;
        const struct problem p = problem_of(0, (enum gemm_type)type);
        const enum gemm_type wanted = type == GEMM_TF32 ? GEMM_TF32 : GEMM_SGEMM;
        assert_true(template_type(&both, (enum gemm_type)type, &computed));
        assert_int_equal(computed, wanted);
        assert_int_equal(kernel_key_of(&config, &p, 90).type, wanted);
    }
    both.computes = GEMM_TYPE_BIT(GEMM_TF32);
    assert_false(template_type(&both, GEMM_SGEMM, &computed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_families_serve_every_fp32_type),
        cmocka_unit_test(a_family_that_computes_less_refuses_what_needs_more),
        cmocka_unit_test(a_family_computes_a_problem_in_its_own_type_or_else_in_the_first_that_satisfies_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
