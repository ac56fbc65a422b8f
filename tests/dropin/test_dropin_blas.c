/* The functions of cuBLAS under the drop-in: which calls a kernel answers, and which pass on. */
#include "dropin_calls.h"
#include "dropin_runs.h"

static int sgemm_strided(const struct operand_set *o)
{
    const struct problem *p = &o->problem;
    float alpha = (float)p->alpha, beta = (float)p->beta;
    return cublasSgemmStridedBatched(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k,
                                     &alpha, o->b, (int)p->ldb, p->stride_b, o->a, (int)p->lda, p->stride_a,
                                     &beta, o->c, (int)p->ldc, p->stride_c, (int)p->batch);
}

static int gemm_ex(const struct operand_set *o, int compute)
{
    const struct problem *p = &o->problem;
    return cublasGemmEx(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, &one, o->b,
                        BLAS_R_32F, (int)p->ldb, o->a, BLAS_R_32F, (int)p->lda, &zero, o->c, BLAS_R_32F,
                        (int)p->ldc, compute, -1);
}

static void a_winner_answers_with_the_right_result(void **state)
{
    static const char *const texts[] = {"sgemm:nn:16x24x32", "sgemm:nt:16x24x32", "sgemm:tn:16x24x32",
                                        "sgemm:tt:16x24x32", "sgemm:nt:12x20x8:lda=16:ldb=24:ldc=28"};
    (void)state;
    for (size_t i = 0; i < 5; i++) put_winner(texts[i], SIMT, 5, false);
    arrive();
    for (size_t i = 0; i < 5; i++)
        for (int again = 0; again < 2; again++) {
            struct operand_set o = operands_make(texts[i], 0);
            assert_went(sgemm_of(&o), 1, 0);
            operands_check(&o, 1, texts[i]);
            assert_ptr_equal(fake.launches[0].stream, stream);
            operands_free(&o);
        }
}

TEST(alpha_and_beta_are_the_call_s)
{
    struct operand_set o = arrive_tuned_both("sgemm:nn:16x24x32", ":alpha=2:beta=-3", 0);
    assert_went(sgemm_of(&o), 1, 0);
    operands_check(&o, 1, "alpha and beta");
    operands_free(&o);
    /* In "device" memory, which is the host's here. */
    o = operands_make("sgemm:nn:16x24x32:alpha=3:beta=2", 0);
    static float alpha = 3, beta = 2;
    cublasSetPointerMode_v2(blas_context, BLAS_DEVICE_SCALARS);
    assert_went(sgemm(&o, &alpha, &beta), 1, 0);
    operands_check(&o, 1, "scalars on the device");
    assert_ptr_equal(fake.launches[0].args.alpha_device, &alpha);
    assert_ptr_equal(fake.launches[0].args.beta_device, &beta);
    operands_free(&o);
}

TEST(what_has_no_winner_arrives_at_cublas_as_it_was)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("sgemm:nn:32x32x32", NULL, 5, false); /* cuBLAS won */
    char slower[2048], *ratio;
    pretuned_line(slower, sizeof slower, "sgemm:nn:64x32x32", SIMT, 5);
    assert_non_null(ratio = strstr(slower, "1.1,"));
    memcpy(ratio, "0.9,", 4);
    put_text("slow.jsonl", slower);
    arrive();
    static const char *const texts[] = {"sgemm:nt:16x24x32", "sgemm:nn:16x24x36", "sgemm:nn:16x24x32:ldc=28",
                                        "sgemm:nn:32x32x32", "sgemm:nn:64x32x32"};
    for (size_t i = 0; i < 5; i++) {
        struct operand_set o = operands_make(texts[i], 0);
        const struct problem *p = &o.problem;
        assert_went(sgemm(&o, &one, &zero), 0, 1);
        operands_check(&o, 1, texts[i]);
        const struct program_blas_last *x = &program_blas_last;
        assert_true(x->alpha == &one && x->beta == &zero && x->a == o.b && x->b == o.a && x->c == o.c);
        assert_true(x->op_a == p->trans_b && x->op_b == p->trans_a && x->m == p->n && x->n == p->m &&
                    x->k == p->k);
        assert_true(x->lda == p->ldb && x->ldb == p->lda && x->ldc == p->ldc);
        operands_free(&o);
    }
    /* Mistakes are cuBLAS's to answer. */
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_int_not_equal(cublasSgemm_v2(NULL, 0, 0, 24, 16, 32, &one, o.b, 24, o.a, 32, &zero, o.c, 24), 0);
    assert_int_not_equal(
        cublasSgemm_v2(blas_context, -1, 0, 24, 16, 32, &one, o.b, 24, o.a, 32, &zero, o.c, 24), 0);
    assert_int_not_equal(
        cublasSgemm_v2(blas_context, 0, 0, -24, 16, 32, &one, o.b, 24, o.a, 32, &zero, o.c, 24), 0);
    operands_free(&o);
}

/* Its kernel is used if it is pinned, whatever the ratio; without a rival nothing says that it gains. */
TEST(what_lost_its_race_is_cublas_s_unless_it_is_pinned)
{
    static const double ratios[] = {0.683, 0.994, 0.009, 1, 0};
    enum { COUNT = sizeof ratios / sizeof *ratios };
    char texts[2 * COUNT][64];
    for (int i = 0; i < 2 * COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "sgemm:nn:16x%dx32", 24 + 4 * i);
        put_raced(texts[i], SIMT, 5, ratios[i / 2], false, i % 2);
    }
    put_raced("sgemm:nn:32x24x32", SIMT, 5, 1.001, false, false);
    arrive();
    for (int i = 0; i < 2 * COUNT; i++) {
        struct operand_set o = operands_make(texts[i], 0);
        assert_went(sgemm(&o, &one, &zero), i % 2, 1 - i % 2);
        operands_check(&o, 1, texts[i]);
        operands_free(&o);
    }
    struct operand_set o = operands_make("sgemm:nn:32x24x32", 0);
    assert_went(sgemm(&o, &one, &zero), 1, 0);
    operands_free(&o);
}

/* A neighbour that lost its race says that cuBLAS is faster here, too. */
static void a_neighbour_that_lost_its_race_is_not_followed(void **state)
{
    (void)state;
    put_raced("sgemm:nn:128x128x128", SIMT, 5, 0.994, false, false);
    put_raced("sgemm:nt:128x128x128", SIMT, 5, 1.5, false, false);
    arrive();
    struct operand_set lost = operands_make("sgemm:nn:128x128x132", 0);
    struct operand_set won = operands_make("sgemm:nt:128x128x132", 0);
    assert_went(sgemm(&lost, &one, &zero), 0, 1);
    assert_went(sgemm(&won, &one, &zero), 1, 0);
    operands_free(&lost);
    operands_free(&won);
}

/* Operands that the winner's wide loads cannot reach: another kernel, or cuBLAS; the right result in any
 * case. */
TEST(unaligned_operands_get_a_right_result)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 1);
    assert_int_equal(sgemm_of(&o), 0);
    operands_check(&o, 1, "skewed by a float");
    operands_free(&o);
    struct operand_set aligned = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&aligned), 1, 0);
    operands_check(&aligned, 1, "aligned");
    operands_free(&aligned);
}

TEST(a_handle_that_allows_less_than_fp32_goes_to_cublas)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    static const struct {
        int mode, kernels;
    } modes[] = {{0, 1}, {1, 0}, {2, 1}, {3, 0}, {4, 0}, {16, 1}, {18, 1}, {19, 0}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cublasSetMathMode(blas_context, modes[i].mode);
        assert_went(sgemm_of(&o), modes[i].kernels, 1 - modes[i].kernels);
    }
    operands_free(&o);
}

static void gemm_ex_is_answered_in_strict_fp32_only(void **state)
{
    enum { COMPUTE_FAST_TF32 = 77, COMPUTE_EMULATED = 78, R_16F = 2 };
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    assert_went(gemm_ex(&o, BLAS_COMPUTE_32F), 1, 0);
    operands_check(&o, 1, "cublasGemmEx");
    assert_went(gemm_ex(&o, BLAS_COMPUTE_32F_PEDANTIC), 1, 0);
    assert_went(gemm_ex(&o, COMPUTE_FAST_TF32), 0, 1);
    assert_went(gemm_ex(&o, COMPUTE_EMULATED), 0, 1);
    assert_went(cublasGemmEx(blas_context, 0, 0, 24, 16, 32, &one, o.b, R_16F, 24, o.a, R_16F, 32, &zero, o.c,
                             R_16F, 24, BLAS_COMPUTE_32F, -1),
                0, 1);
    assert_went(cublasGemmStridedBatchedEx(blas_context, 0, 0, 24, 16, 32, &one, o.b, BLAS_R_32F, 24, 0, o.a,
                                           BLAS_R_32F, 32, 0, &zero, o.c, BLAS_R_32F, 24, 0, 1,
                                           BLAS_COMPUTE_32F, -1),
                1, 0);
    assert_went(cublasSgemm_v2_64(blas_context, 0, 0, 24, 16, 32, &one, o.b, 24, o.a, 32, &zero, o.c, 24), 1,
                0);
    operands_check(&o, 1, "cublasSgemm_64");
    operands_free(&o);
}

TEST(what_cublas_calls_itself_is_left_alone)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    cublasSetMathMode(blas_context, 3); /* passes on; cublasGemmEx then calls cublasLtMatmul, in plain FP32 */
    assert_went(gemm_ex(&o, BLAS_COMPUTE_32F), 0, 1);
    assert_int_equal(program_nested_calls, 1);
    cublasSetMathMode(blas_context, 0);
    assert_went(gemm_ex(&o, BLAS_COMPUTE_32F), 1, 0);
    operands_free(&o);
}

TEST(batches_are_answered_where_they_have_strides)
{
    put_winner("sgemm:nt:16x24x32:batch=3", SIMT, 5, false);
    put_winner("sgemm:nn:8x16x12:batch=2:lda=16:stride_a=256:stride_c=200", SIMT, 5, false);
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    static const char *const texts[] = {"sgemm:nt:16x24x32:batch=3",
                                        "sgemm:nn:8x16x12:batch=2:lda=16:stride_a=256:stride_c=200",
                                        "sgemm:nn:16x24x32"};
    for (size_t i = 0; i < 3; i++) {
        struct operand_set o = operands_make(texts[i], 0);
        assert_went(sgemm_strided(&o), 1, 0);
        operands_check(&o, 1, texts[i]);
        operands_free(&o);
    }
    struct operand_set o = operands_make("sgemm:nt:16x24x32:batch=3", 0);
    o.problem.stride_b = 0; /* one B for all: another problem */
    assert_went(sgemm_strided(&o), 0, 1);
    const float *a[] = {o.a}, *b[] = {o.b};
    float *c[] = {o.c};
    assert_went(cublasSgemmBatched(blas_context, 1, 0, 24, 16, 32, &one, b, 32, a, 32, &zero, c, 24, 1), 0,
                1);
    operands_free(&o);
}

TEST(a_winner_answers_every_alpha_and_every_beta_but_0)
{
    static const float eighth = 0.125f, half = 0.5f;
    put_winner("sgemm:nn:16x24x48:alpha=0.125", SIMT, 5, false);
    put_winner("sgemm:nn:16x24x32:beta=0.5", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x48", 0), p = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm(&o, &eighth, &zero), 1, 0);
    assert_went(sgemm(&o, &one, &zero), 1, 0);
    assert_went(sgemm(&o, &one, &half), 0, 1);
    assert_went(sgemm(&p, &one, &half), 1, 0);
    assert_went(sgemm(&p, &half, &one), 1, 0);
    assert_went(sgemm(&p, &one, &zero), 0, 1);
    operands_free(&o);
    operands_free(&p);
}

TEST(a_matrix_that_a_batch_shares_is_a_problem)
{
    static const struct {
        const char *text;
        int kernels;
    } calls[] = {{"sgemm:nt:16x24x32:batch=3:stride_b=0", 1},
                 {"sgemm:nn:16x24x32:batch=3:stride_a=0:beta=1", 1},
                 {"sgemm:nt:16x24x32:batch=3", 0},
                 {"sgemm:nt:16x24x32:batch=3:stride_a=0", 0}};
    put_winner(calls[0].text, SIMT, 5, false);
    put_winner(calls[1].text, SIMT, 5, false);
    arrive();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct operand_set o = operands_make(calls[i].text, 0);
        const struct problem *p = &o.problem;
        const float beta = (float)p->beta;
        assert_went(cublasSgemmStridedBatched(blas_context, p->trans_b, p->trans_a, 24, 16, 32, &one, o.b,
                                              (int)p->ldb, p->stride_b, o.a, (int)p->lda, p->stride_a, &beta,
                                              o.c, (int)p->ldc, p->stride_c, 3),
                    calls[i].kernels, !calls[i].kernels);
        operands_check(&o, 1, calls[i].text);
        operands_free(&o);
    }
}

/* Every function with strides or 64-bit sizes: answered where there is a winner, passed on as it is where
 * there is none. */

#define OF(o)                                                                                                \
    const struct problem *p = &(o)->problem;                                                                 \
    const int b = p->trans_b, a = p->trans_a;                                                                \
    const int64_t m = p->n, n = p->m, k = p->k

static int sgemm_64(const struct operand_set *o)
{
    OF(o);
    return cublasSgemm_v2_64(blas_context, b, a, m, n, k, &one, o->b, p->ldb, o->a, p->lda, &zero, o->c,
                             p->ldc);
}

static int sgemm_strided_64(const struct operand_set *o)
{
    OF(o);
    return cublasSgemmStridedBatched_64(blas_context, b, a, m, n, k, &one, o->b, p->ldb, p->stride_b, o->a,
                                        p->lda, p->stride_a, &zero, o->c, p->ldc, p->stride_c, p->batch);
}

static int gemm_ex_64(const struct operand_set *o)
{
    OF(o);
    return cublasGemmEx_64(blas_context, b, a, m, n, k, &one, o->b, BLAS_R_32F, p->ldb, o->a, BLAS_R_32F,
                           p->lda, &zero, o->c, BLAS_R_32F, p->ldc, BLAS_COMPUTE_32F, -1);
}

static int sgemm_ex(const struct operand_set *o)
{
    OF(o);
    return cublasSgemmEx(blas_context, b, a, (int)m, (int)n, (int)k, &one, o->b, BLAS_R_32F, (int)p->ldb,
                         o->a, BLAS_R_32F, (int)p->lda, &zero, o->c, BLAS_R_32F, (int)p->ldc);
}

static int sgemm_ex_64(const struct operand_set *o)
{
    OF(o);
    return cublasSgemmEx_64(blas_context, b, a, m, n, k, &one, o->b, BLAS_R_32F, p->ldb, o->a, BLAS_R_32F,
                            p->lda, &zero, o->c, BLAS_R_32F, p->ldc);
}

static int gemm_strided_ex(const struct operand_set *o)
{
    OF(o);
    return cublasGemmStridedBatchedEx(blas_context, b, a, (int)m, (int)n, (int)k, &one, o->b, BLAS_R_32F,
                                      (int)p->ldb, p->stride_b, o->a, BLAS_R_32F, (int)p->lda, p->stride_a,
                                      &zero, o->c, BLAS_R_32F, (int)p->ldc, p->stride_c, (int)p->batch,
                                      BLAS_COMPUTE_32F, -1);
}

static int gemm_strided_ex_64(const struct operand_set *o)
{
    OF(o);
    return cublasGemmStridedBatchedEx_64(blas_context, b, a, m, n, k, &one, o->b, BLAS_R_32F, p->ldb,
                                         p->stride_b, o->a, BLAS_R_32F, p->lda, p->stride_a, &zero, o->c,
                                         BLAS_R_32F, p->ldc, p->stride_c, p->batch, BLAS_COMPUTE_32F, -1);
}

static int gemm_ex_32(const struct operand_set *o)
{
    return gemm_ex(o, BLAS_COMPUTE_32F);
}

static void every_form_is_answered_or_passed_on_as_it_is(void **state)
{
    static const struct {
        const char *name;
        int (*call)(const struct operand_set *o);
        bool batch;
    } forms[] = {{"cublasSgemm", sgemm_of, false},
                 {"cublasSgemm_64", sgemm_64, false},
                 {"cublasGemmEx", gemm_ex_32, false},
                 {"cublasGemmEx_64", gemm_ex_64, false},
                 {"cublasSgemmEx", sgemm_ex, false},
                 {"cublasSgemmEx_64", sgemm_ex_64, false},
                 {"cublasSgemmStridedBatched", sgemm_strided, true},
                 {"cublasSgemmStridedBatched_64", sgemm_strided_64, true},
                 {"cublasGemmStridedBatchedEx", gemm_strided_ex, true},
                 {"cublasGemmStridedBatchedEx_64", gemm_strided_ex_64, true}};
    static const char *const known[] = {"sgemm:tn:16x24x32:lda=20:ldb=28:ldc=36",
                                        "sgemm:tn:16x24x32:batch=3:lda=20:ldb=28:ldc=36:stride_a=700"};
    static const char *const unknown[] = {"sgemm:nt:12x20x8:lda=16:ldb=24:ldc=28",
                                          "sgemm:nt:12x20x8:batch=2:lda=16:ldb=24:ldc=28:stride_b=500"};
    (void)state;
    put_winner(known[0], SIMT, 5, false);
    put_winner(known[1], SIMT, 5, false);
    arrive();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct operand_set o = operands_make(known[forms[i].batch], 0);
        assert_went(forms[i].call(&o), 1, 0);
        operands_check(&o, 1, forms[i].name);
        operands_free(&o);
        o = operands_make(unknown[forms[i].batch], 0);
        assert_went(forms[i].call(&o), 0, 1);
        operands_check(&o, 1, forms[i].name);
        const struct problem *p = &o.problem;
        const struct program_blas_last *x = &program_blas_last;
        assert_true(x->a == o.b && x->b == o.a && x->c == o.c && x->batch == p->batch);
        assert_true(x->op_a == p->trans_b && x->op_b == p->trans_a && x->m == p->n && x->n == p->m &&
                    x->k == p->k && x->lda == p->ldb && x->ldb == p->lda && x->ldc == p->ldc);
        operands_free(&o);
    }
    /* Arrays of pointers have winners of their own. */
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    const float *a[] = {o.a}, *b[] = {o.b};
    float *c[] = {o.c};
    assert_went(cublasSgemmBatched_64(blas_context, 0, 0, 24, 16, 32, &one, b, 24, a, 32, &zero, c, 24, 1), 0,
                1);
    operands_check(&o, 1, "cublasSgemmBatched_64");
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    SCENARIO(a_winner_answers_with_the_right_result),
    SCENARIO(alpha_and_beta_are_the_call_s),
    SCENARIO(what_has_no_winner_arrives_at_cublas_as_it_was),
    SCENARIO(what_lost_its_race_is_cublas_s_unless_it_is_pinned),
    {"a_neighbour_that_lost_its_race_is_not_followed", a_neighbour_that_lost_its_race_is_not_followed,
     "GEMMTUNE_DROPIN", "nearest"},
    SCENARIO(unaligned_operands_get_a_right_result),
    SCENARIO(a_handle_that_allows_less_than_fp32_goes_to_cublas),
    SCENARIO(gemm_ex_is_answered_in_strict_fp32_only),
    SCENARIO(what_cublas_calls_itself_is_left_alone),
    SCENARIO(batches_are_answered_where_they_have_strides),
    SCENARIO(a_matrix_that_a_batch_shares_is_a_problem),
    SCENARIO(a_winner_answers_every_alpha_and_every_beta_but_0),
    SCENARIO(every_form_is_answered_or_passed_on_as_it_is),
};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_blas", scenarios, sizeof scenarios / sizeof *scenarios, NULL,
                       0);
}
