/* cublasSgemmBatched and cublasGemmBatchedEx under the drop-in: what a winner answers, and what is passed on.
 */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "pointer_sets.h"

enum { COMPUTE_FAST_TF32 = 77, R_16F = 2 };

/* The forms in which a program may ask for it, operands swapped. */
static int sgemm_batched(const struct pointer_set *s, const float *alpha, const float *beta)
{
    const struct problem *p = &s->o.problem;
    return cublasSgemmBatched(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, alpha,
                              s->b, (int)p->ldb, s->a, (int)p->lda, beta, s->c, (int)p->ldc, (int)p->batch);
}

static int sgemm_batched_64(const struct pointer_set *s, const float *alpha, const float *beta)
{
    const struct problem *p = &s->o.problem;
    return cublasSgemmBatched_64(blas_context, p->trans_b, p->trans_a, p->n, p->m, p->k, alpha, s->b, p->ldb,
                                 s->a, p->lda, beta, s->c, p->ldc, p->batch);
}

static int batched_ex_of(const struct pointer_set *s, const float *alpha, const float *beta, int type,
                         int compute)
{
    const struct problem *p = &s->o.problem;
    return cublasGemmBatchedEx(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, alpha,
                               (const void *const *)s->b, type, (int)p->ldb, (const void *const *)s->a, type,
                               (int)p->lda, beta, (void *const *)s->c, type, (int)p->ldc, (int)p->batch,
                               compute, -1);
}

static int batched_ex(const struct pointer_set *s, const float *alpha, const float *beta)
{
    return batched_ex_of(s, alpha, beta, BLAS_R_32F, BLAS_COMPUTE_32F);
}

static int batched_ex_64(const struct pointer_set *s, const float *alpha, const float *beta)
{
    const struct problem *p = &s->o.problem;
    return cublasGemmBatchedEx_64(blas_context, p->trans_b, p->trans_a, p->n, p->m, p->k, alpha,
                                  (const void *const *)s->b, BLAS_R_32F, p->ldb, (const void *const *)s->a,
                                  BLAS_R_32F, p->lda, beta, (void *const *)s->c, BLAS_R_32F, p->ldc, p->batch,
                                  BLAS_COMPUTE_32F_PEDANTIC, -1);
}

static const struct {
    const char *name;
    int (*call)(const struct pointer_set *s, const float *alpha, const float *beta);
} forms[] = {{"cublasSgemmBatched", sgemm_batched},
             {"cublasSgemmBatched_64", sgemm_batched_64},
             {"cublasGemmBatchedEx", batched_ex},
             {"cublasGemmBatchedEx_64", batched_ex_64}};
enum { FORMS = sizeof forms / sizeof *forms };

static const char *const texts[] = {
    "sgemm:nn:15x23x31:batch=5:pointers", "sgemm:nt:16x24x32:batch=3:pointers",
    "sgemm:tn:12x20x8:lda=16:ldb=24:ldc=28:batch=2:pointers", "sgemm:tt:16x24x32:pointers"};
enum { TEXTS = sizeof texts / sizeof *texts };

static void every_form_is_answered_by_its_winner(void **state)
{
    const bool winners = !getenv("NO_WINNERS");
    (void)state;
    for (int i = 0; i < TEXTS; i++)
        for (int adds = 0; adds < 2 && winners; adds++) {
            char text[PROBLEM_TEXT_MAX];
            snprintf(text, sizeof text, "%s%s", texts[i], adds ? ":beta=1" : "");
            put_winner(text, SIMT_ELEMENTS, 5, false);
        }
    arrive();
    for (int i = 0; i < TEXTS; i++)
        for (int form = 0; form < FORMS; form++)
            for (int adds = 0; adds < 2; adds++) {
                char text[PROBLEM_TEXT_MAX];
                snprintf(text, sizeof text, "%s:alpha=2%s", texts[i], adds ? ":beta=-3" : "");
                struct pointer_set set = pointer_set_make(text, form);
                const float alpha = 2, beta = adds ? -3 : 0;
                assert_went(forms[form].call(&set, &alpha, &beta), winners, !winners);
                operands_check(&set.o, 1, forms[form].name);
                const struct program_blas_last *x = &program_blas_last;
                const struct problem *p = &set.o.problem;
                if (!winners)
                    assert_true(x->alpha == &alpha && x->beta == &beta && x->a == set.b && x->b == set.a &&
                                x->c == set.c && x->op_a == p->trans_b && x->op_b == p->trans_a &&
                                x->m == p->n && x->n == p->m && x->k == p->k && x->lda == p->ldb &&
                                x->ldb == p->lda && x->ldc == p->ldc && x->batch == p->batch);
                pointer_set_free(&set);
            }
}

static void strided_winners_and_those_of_pointers_are_apart(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32:batch=3", SIMT, 5, false);
    put_winner("sgemm:nn:16x24x36:batch=3:pointers", SIMT_ELEMENTS, 5, false);
    arrive();
    struct pointer_set set = pointer_set_make("sgemm:nn:16x24x32:batch=3:pointers", 0);
    assert_went(sgemm_batched(&set, &one, &zero), 0, 1);
    operands_check(&set.o, 1, "a strided winner is known");
    pointer_set_free(&set);
    set = pointer_set_make("sgemm:nn:16x24x36:batch=3:pointers", 0);
    const struct problem *p = &set.o.problem;
    assert_went(cublasSgemmStridedBatched(blas_context, 0, 0, 24, 16, 36, &one, set.o.b, 24, p->stride_b,
                                          set.o.a, 36, p->stride_a, &zero, set.o.c, 24, p->stride_c, 3),
                0, 1);
    assert_went(sgemm_batched(&set, &one, &zero), 1, 0);
    operands_check(&set.o, 1, "a winner of pointers is known");
    pointer_set_free(&set);
}

static void what_no_kernel_computes_is_passed_on_as_it_is(void **state)
{
    (void)state;
    put_winner(texts[0], SIMT_ELEMENTS, 5, false);
    arrive();
    struct pointer_set set = pointer_set_make(texts[0], 0);
    assert_went(sgemm_batched(&set, &one, &zero), 1, 0);
    assert_went(batched_ex_of(&set, &one, &zero, BLAS_R_32F, COMPUTE_FAST_TF32), 0, 1);
    assert_went(batched_ex_of(&set, &one, &zero, R_16F, BLAS_COMPUTE_32F), 0, 1);
    assert_went(batched_ex_of(&set, &one, &zero, R_16F, BLAS_COMPUTE_32F_PEDANTIC), 0, 1);
    assert_went(sgemm_batched(&set, &zero, &zero), 0, 1); /* nothing to multiply */
    cublasSetMathMode(blas_context, 1);
    assert_went(sgemm_batched(&set, &one, &zero), 0, 1);
    cublasSetMathMode(blas_context, 0);
    set.o.problem.batch = 0;
    assert_went(sgemm_batched(&set, &one, &zero), 0, 1);
    set.o.problem.batch = 5;
    /* Mistakes are cuBLAS's to answer. */
    assert_int_not_equal(
        cublasSgemmBatched(NULL, 0, 0, 23, 15, 31, &one, set.b, 23, set.a, 31, &zero, set.c, 23, 5), 0);
    assert_int_not_equal(
        cublasSgemmBatched(blas_context, -1, 0, 23, 15, 31, &one, set.b, 23, set.a, 31, &zero, set.c, 23, 5),
        0);
    assert_int_not_equal(
        cublasSgemmBatched(blas_context, 0, 0, 23, 15, 31, &one, set.b, 0, set.a, 31, &zero, set.c, 23, 5),
        0);
    assert_went(sgemm_batched(&set, &one, &zero), 1, 0);
    operands_check(&set.o, 1, "afterwards");
    pointer_set_free(&set);
}

static void scalars_on_the_device_are_read_there(void **state)
{
    static float alpha = 3, beta = 2;
    (void)state;
    put_winner(texts[0], SIMT_ELEMENTS, 5, false);
    arrive();
    cublasSetPointerMode_v2(blas_context, BLAS_DEVICE_SCALARS);
    struct pointer_set set = pointer_set_make("sgemm:nn:15x23x31:batch=5:pointers:alpha=3:beta=2", 0);
    assert_went(sgemm_batched(&set, &alpha, &beta), 1, 0);
    operands_check(&set.o, 1, "scalars on the device");
    assert_ptr_equal(fake.launches[0].args.alpha_device, &alpha);
    pointer_set_free(&set);
}

static const struct scenario scenarios[] = {
    SCENARIO(every_form_is_answered_by_its_winner),
    {"without_winners_every_form_is_cublas_s", every_form_is_answered_by_its_winner, "NO_WINNERS", "1"},
    SCENARIO(strided_winners_and_those_of_pointers_are_apart),
    SCENARIO(what_no_kernel_computes_is_passed_on_as_it_is),
    SCENARIO(scalars_on_the_device_are_read_there),
};

static void the_capture_names_the_pointers(void **state)
{
    (void)state;
    setenv("NO_WINNERS", "1", 1);
    const char *text = scenario_capture("every_form_is_answered_by_its_winner");
    unsetenv("NO_WINNERS");
    static const char *const lines[] = {
        "\nsgemm:nn:15x23x31:batch=5:pointers  # count=4\n",
        "\nsgemm:nt:16x24x32:batch=3:pointers:beta=1  # count=4\n",
        "\nsgemm:tn:12x20x8:batch=2:lda=16:ldb=24:ldc=28:pointers  # count=4\n",
        "\nsgemm:tt:16x24x32:pointers  # count=4\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_non_null(strstr(text, lines[i]));
    assert_int_equal(lines_in(text), 1 + 2 * TEXTS);
}

static void the_log_names_the_function(void **state)
{
    (void)state;
    const char *text = scenario_log("what_no_kernel_computes_is_passed_on_as_it_is");
    assert_non_null(strstr(text, "cublasSgemmBatched sgemm:nn:15x23x31:batch=5:pointers -> tuned kernel"));
    assert_non_null(
        strstr(text, "its types and its compute type are none of FP32, TF32, BF16 and FP16 with FP32 sums"));
    assert_non_null(strstr(text, "its math mode allows less than strict FP32"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(the_capture_names_the_pointers),
        cmocka_unit_test(the_log_names_the_function),
    };
    return dropin_main(argc, argv, "test_dropin_pointers", scenarios, sizeof scenarios / sizeof *scenarios,
                       left, sizeof left / sizeof *left);
}
