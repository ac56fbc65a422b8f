/* The drop-in cuBLAS without a GPU. A program that is linked with a cuBLAS of ours (program_blas.c) is
 * started with the drop-in before it (LD_PRELOAD), on the fake driver and compiler: each scenario in a
 * process of its own, because the drop-in reads the environment once.
 */
#include "program_blas.h"
#include "runtime_fakes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static blas_handle blas_context;
static const float one = 1, zero = 0;

/* ---- in the program ---- */

static void arrive(void)
{
    CUdevice device;
    CUcontext context;
    cuda.DeviceGet(&device, 0);
    cuda.DevicePrimaryCtxRetain(&context, device);
    cuda.CtxSetCurrent(context);
    assert_int_equal(cublasCreate_v2(&blas_context), 0);
    cublasSetStream_v2(blas_context, stream);
    program_blas_calls = program_lt_calls = program_nested_calls = 0;
}

/* A row-major problem, as a program that knows cuBLAS asks for it: operands swapped. */
static int sgemm(const struct operand_set *o, const float *alpha, const float *beta)
{
    const struct problem *p = &o->problem;
    return cublasSgemm_v2(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, alpha, o->b,
                          (int)p->ldb, o->a, (int)p->lda, beta, o->c, (int)p->ldc);
}

static int sgemm_of(const struct operand_set *o)
{
    float alpha = (float)o->problem.alpha, beta = (float)o->problem.beta;
    return sgemm(o, &alpha, &beta);
}

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

/* How one call went: by kernels, or by the program's cuBLAS. */
#define assert_went(call, kernels, rival)                                                                    \
    do {                                                                                                     \
        *fake.launch_count = program_blas_calls = program_lt_calls = 0;                                      \
        assert_int_equal((call), 0);                                                                         \
        assert_int_equal(*fake.launch_count, (kernels));                                                     \
        assert_int_equal(program_blas_calls + program_lt_calls, (rival));                                    \
    } while (0)

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

static void alpha_and_beta_are_the_call_s(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32:alpha=2:beta=-3", 0);
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

static void what_has_no_winner_arrives_at_cublas_as_it_was(void **state)
{
    (void)state;
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

/* Operands that the winner's wide loads cannot reach: another kernel, or cuBLAS; the right result in any
 * case. */
static void unaligned_operands_get_a_right_result(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 1);
    assert_int_equal(sgemm_of(&o), 0);
    operands_check(&o, 1, "skewed by a float");
    operands_free(&o);
    struct operand_set aligned = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&aligned), 1, 0);
    operands_check(&aligned, 1, "aligned");
    operands_free(&aligned);
}

static void a_handle_that_allows_less_than_fp32_goes_to_cublas(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
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
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
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

static void what_cublas_calls_itself_is_left_alone(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    cublasSetMathMode(blas_context, 3); /* passes on; cublasGemmEx then calls cublasLtMatmul, in plain FP32 */
    assert_went(gemm_ex(&o, BLAS_COMPUTE_32F), 0, 1);
    assert_int_equal(program_nested_calls, 1);
    cublasSetMathMode(blas_context, 0);
    assert_went(gemm_ex(&o, BLAS_COMPUTE_32F), 1, 0);
    operands_free(&o);
}

static void batches_are_answered_where_they_have_strides(void **state)
{
    (void)state;
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
    o.problem.stride_b = 0; /* one B for all: no winner can be known for that */
    assert_went(sgemm_strided(&o), 0, 1);
    const float *a[] = {o.a}, *b[] = {o.b};
    float *c[] = {o.c};
    assert_went(cublasSgemmBatched(blas_context, 1, 0, 24, 16, 32, &one, b, 32, a, 32, &zero, c, 24, 1), 0,
                1);
    operands_free(&o);
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
    /* Pointers to matrices are cuBLAS's to follow, even to one that would have a winner. */
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    const float *a[] = {o.a}, *b[] = {o.b};
    float *c[] = {o.c};
    assert_went(cublasSgemmBatched_64(blas_context, 0, 0, 24, 16, 32, &one, b, 24, a, 32, &zero, c, 24, 1), 0,
                1);
    operands_check(&o, 1, "cublasSgemmBatched_64");
    operands_free(&o);
}

/* ---- cublasLt ---- */

struct lt_call {
    lt_desc desc;
    lt_layout a, b, c;
};

/* Row-major C[16,24] = A[16,32] B[32,24], as cublasLt has it. */
static struct lt_call lt_make(void)
{
    struct lt_call x;
    cublasLtMatmulDescCreate(&x.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&x.a, BLAS_R_32F, 24, 32, 24);
    cublasLtMatrixLayoutCreate(&x.b, BLAS_R_32F, 32, 16, 32);
    cublasLtMatrixLayoutCreate(&x.c, BLAS_R_32F, 24, 16, 24);
    return x;
}

static void lt_free(struct lt_call *x)
{
    cublasLtMatmulDescDestroy(x->desc);
    cublasLtMatrixLayoutDestroy(x->a);
    cublasLtMatrixLayoutDestroy(x->b);
    cublasLtMatrixLayoutDestroy(x->c);
}

static int lt_run(const struct lt_call *x, const struct operand_set *o, const float *beta, const void *c)
{
    return cublasLtMatmul(NULL, x->desc, &one, o->b, x->a, o->a, x->b, beta, c, x->c, o->c, x->c, NULL, NULL,
                          0, stream);
}

static void lt_in_its_plain_form_is_answered(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    float other[16 * 24] = {0};
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    operands_check(&o, 1, "cublasLtMatmul");
    assert_ptr_equal(fake.launches[0].stream, stream);
    assert_went(lt_run(&x, &o, &one, o.c), 1, 0);
    assert_went(lt_run(&x, &o, &zero, other), 1, 0); /* C is not read */
    assert_went(lt_run(&x, &o, &one, other), 0, 1);  /* C is read, and is not D */
    lt_free(&x);
    operands_free(&o);
}

/* Calls that passed before are no reason to pass one: layouts and descriptors stay where they are and change.
 */
static void lt_descriptors_that_change_are_asked_again(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x16x16", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x16x16", 0),
                       skewed = operands_make("sgemm:nn:16x16x16", 1);
    struct lt_call x;
    const int turned = BLAS_OP_T, plain = BLAS_OP_N;
    const uint64_t fewer = 12, all = 16;
    cublasLtMatmulDescCreate(&x.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&x.a, BLAS_R_32F, fewer, 16, 16);
    cublasLtMatrixLayoutCreate(&x.b, BLAS_R_32F, 16, 16, 16);
    cublasLtMatrixLayoutCreate(&x.c, BLAS_R_32F, fewer, 16, 16);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
    cublasLtMatrixLayoutSetAttribute(x.a, LT_LAYOUT_ROWS, &all, sizeof all);
    cublasLtMatrixLayoutSetAttribute(x.c, LT_LAYOUT_ROWS, &all, sizeof all);
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_TRANSA, &turned, sizeof turned);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &skewed, &zero, skewed.c), 0, 1);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_TRANSA, &plain, sizeof plain);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    operands_check(&o, 1, "cublasLtMatmul");
    lt_free(&x);
    operands_free(&o);
    operands_free(&skewed);
}

static void lt_in_any_other_form_goes_to_cublas(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    static const int64_t somewhere = 4096;
    static const struct {
        int what;
        int64_t value;
        size_t bytes;
    } desc[] = {{LT_DESC_EPILOGUE, 4, 4},
                {LT_DESC_COMPUTE_TYPE, 77, 4},
                {LT_DESC_POINTER_MODE, 2, 4},
                {LT_DESC_TRANSA, 1, 4},
                {LT_DESC_TRANSC, 1, 4},
                {LT_DESC_SCALE_TYPE, 2, 4},
                {LT_DESC_FILL_MODE, 1, 4},
                {LT_DESC_D_SCALE_POINTER, somewhere, 8},
                {LT_DESC_A_SCALE_POINTER, somewhere, 8}},
      layout[] = {{LT_LAYOUT_TYPE, 2, 4},
                  {LT_LAYOUT_ORDER, 1, 4},
                  {LT_LAYOUT_BATCH_COUNT, 2, 4},
                  {LT_LAYOUT_PLANE_OFFSET, 64, 8},
                  {LT_LAYOUT_ROWS, 20, 8}};
    program_blas_idle = 1; /* some of these make no sense, and are not to be computed */
    for (size_t i = 0; i < sizeof desc / sizeof *desc; i++) {
        struct lt_call x = lt_make();
        assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
        assert_int_equal(cublasLtMatmulDescSetAttribute(x.desc, desc[i].what, &desc[i].value, desc[i].bytes),
                         0);
        assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
        lt_free(&x);
    }
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        struct lt_call x = lt_make();
        assert_int_equal(
            cublasLtMatrixLayoutSetAttribute(x.a, layout[i].what, &layout[i].value, layout[i].bytes), 0);
        assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
        lt_free(&x);
    }
    operands_free(&o);
}

/* ---- graphs, failures ---- */

static void a_kernel_that_is_not_there_yet_is_not_prepared_in_a_capture(void **state)
{
    CUgraph graph;
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_went(sgemm_of(&o), 0, 1);
    assert_int_equal(*fake.compilations, 0);
    cuda.StreamEndCapture(stream, &graph);
    assert_went(sgemm_of(&o), 1, 0);
    cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_went(sgemm_of(&o), 1, 0);
    assert_true(fake.launches[0].captured);
    cuda.StreamEndCapture(stream, &graph);
    operands_free(&o);
}

static void a_kernel_that_cannot_be_built_leaves_its_calls_to_cublas(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 0, 1);
    operands_check(&o, 1, "without a compiler");
    assert_went(sgemm_of(&o), 0, 1);
    operands_free(&o);
}

static void a_launch_that_fails_is_computed_by_cublas_where_it_may(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 1, 0);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=999", 1);
    assert_went(sgemm_of(&o), 0, 1);
    unsetenv("FAKE_GPU_FAIL");
    operands_check(&o, 1, "after a failed launch");
    assert_went(sgemm_of(&o), 0, 1); /* it is not tried again */
    operands_free(&o);
}

static void a_launch_that_fails_while_adding_to_c_is_an_error(void **state)
{
    enum { EXECUTION_FAILED = 13 };
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm(&o, &one, &one), 1, 0);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=999", 1);
    assert_int_equal(sgemm(&o, &one, &one), EXECUTION_FAILED);
    unsetenv("FAKE_GPU_FAIL");
    operands_free(&o);
}

static void without_a_context_or_when_switched_off_everything_passes(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    assert_int_equal(cublasCreate_v2(&blas_context), 0);
    cublasSetStream_v2(blas_context, stream);
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 0, 1); /* no context is current */
    cublasDestroy_v2(blas_context);
    arrive();
    assert_went(sgemm_of(&o), getenv("EXPECT_KERNEL") ? 1 : 0, getenv("EXPECT_KERNEL") ? 0 : 1);
    operands_free(&o);
}

static void similar_problems_count_only_when_asked_for(void **state)
{
    (void)state;
    put_winner("sgemm:nn:4096x4096x4096", SIMT_LARGE, 2500, false);
    arrive();
    *fake.computes = 0;
    program_blas_idle = 1;
    static float memory[4];
    bool nearest = getenv("GEMMTUNE_DROPIN") != NULL;
    assert_went(cublasSgemm_v2(blas_context, 0, 0, 4096, 4000, 4096, &one, memory, 4096, memory, 4096, &zero,
                               memory, 4096),
                nearest, !nearest);
}

/* ---- threads ---- */

static void *call_often(void *operands)
{
    CUcontext context;
    CUdevice device;
    cuda.DeviceGet(&device, 0);
    cuda.DevicePrimaryCtxRetain(&context, device);
    cuda.CtxSetCurrent(context);
    for (int i = 0; i < 5; i++)
        if (sgemm_of(operands)) return operands;
    return NULL;
}

static void threads_share_one_kernel(void **state)
{
    enum { THREADS = 8 };
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    pthread_t thread[THREADS];
    struct operand_set o[THREADS];
    for (int i = 0; i < THREADS; i++) o[i] = operands_make("sgemm:nn:16x24x32", 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, &o[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
        operands_check(&o[i], 1, "one of many threads");
        operands_free(&o[i]);
    }
    assert_int_equal(*fake.launch_count, THREADS * 5);
    assert_int_equal(*fake.compilations, 1);
    assert_int_equal(program_blas_calls, 0);
}

/* ---- what is written ---- */

static void two_problems_are_computed(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0),
                       p = operands_make("sgemm:nt:8x8x8:lda=12", 0);
    for (int i = 0; i < 20; i++) {
        *fake.launch_count = 0;
        assert_int_equal(sgemm_of(&o), 0);
        if (i < 10) assert_int_equal(sgemm_of(&p), 0);
    }
    cublasSetMathMode(blas_context, 3); /* not strict: not recorded */
    assert_int_equal(sgemm_of(&p), 0);
    operands_free(&o);
    operands_free(&p);
}

/* ---- cost ---- */

enum { COST_PROBLEMS = 64, COST_CALLS = 64 * 400, COST_TRIES = 25 };
#define PASS_ON_NS_MAX 200.0

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cost_ns(int (*call)(void *function, int number), void *function)
{
    double least = 1e9;
    for (int i = 0; i < COST_TRIES; i++) {
        double start = seconds();
        for (int n = 0; n < COST_CALLS; n++) call(function, n % COST_PROBLEMS);
        least = fmin(least, (seconds() - start) / COST_CALLS * 1e9);
    }
    return least;
}

static float cost_memory[4] __attribute__((aligned(16)));
static struct lt_call cost_lt[COST_PROBLEMS];

static int cost_sgemm(void *function, int number)
{
    __typeof__(cublasSgemm_v2) *f;
    memcpy(&f, &function, sizeof f);
    return f(blas_context, 0, 0, 64 + number, 64, 64, &one, cost_memory, 128, cost_memory, 64, &zero,
             cost_memory, 128);
}

static int cost_half(void *function, int number)
{
    __typeof__(cublasGemmEx) *f;
    memcpy(&f, &function, sizeof f);
    return f(blas_context, 0, 0, 64 + number, 64, 64, &one, cost_memory, 2, 128, cost_memory, 2, 64, &zero,
             cost_memory, 2, 128, BLAS_COMPUTE_32F, -1);
}

static int cost_matmul(void *function, int number)
{
    __typeof__(cublasLtMatmul) *f;
    const struct lt_call *x = &cost_lt[number];
    memcpy(&f, &function, sizeof f);
    return f(NULL, x->desc, &one, cost_memory, x->a, cost_memory, x->b, &zero, cost_memory, x->c, cost_memory,
             x->c, NULL, NULL, 0, stream);
}

static void passing_a_call_on_costs_next_to_nothing(void **state)
{
    static const struct {
        const char *name;
        int (*call)(void *function, int number);
    } kinds[] = {
        {"cublasSgemm_v2", cost_sgemm}, {"cublasGemmEx", cost_half}, {"cublasLtMatmul", cost_matmul}};
    (void)state;
#ifdef GT_SANITIZED
    skip(); /* it would be the sanitizers' cost */
#endif
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    program_blas_idle = 1;
    for (int i = 0; i < COST_PROBLEMS; i++) {
        cost_lt[i] = lt_make();
        int64_t ld = 24 + 4 * i;
        cublasLtMatrixLayoutSetAttribute(cost_lt[i].a, LT_LAYOUT_LD, &ld, sizeof ld);
    }
    void *own = dlopen(PROGRAM_BLAS, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(own);
    for (size_t i = 0; i < 3; i++) {
        void *bare = dlsym(own, kinds[i].name), *ours = dlsym(RTLD_DEFAULT, kinds[i].name);
        assert_true(bare && ours && bare != ours);
        double before = cost_ns(kinds[i].call, bare), with = cost_ns(kinds[i].call, ours);
        print_message("%s: %.0f ns, with the drop-in %.0f ns more\n", kinds[i].name, before, with - before);
        if (with - before > PASS_ON_NS_MAX * SHARED_MACHINE)
            fail_msg("%s: %.0f ns more", kinds[i].name, with - before);
    }
    for (int i = 0; i < COST_PROBLEMS; i++) lt_free(&cost_lt[i]);
}

/* ---- outside: programs are started, and what they leave is looked at ---- */

struct scenario {
    const char *name;
    void (*run)(void **state);
    const char *variable, *value; /* set for it; may be NULL */
};

#define SCENARIO(name)                                                                                       \
    {                                                                                                        \
#name, name, NULL, NULL                                                                              \
    }
static const struct scenario scenarios[] = {
    SCENARIO(a_winner_answers_with_the_right_result),
    SCENARIO(alpha_and_beta_are_the_call_s),
    SCENARIO(what_has_no_winner_arrives_at_cublas_as_it_was),
    SCENARIO(unaligned_operands_get_a_right_result),
    SCENARIO(a_handle_that_allows_less_than_fp32_goes_to_cublas),
    SCENARIO(gemm_ex_is_answered_in_strict_fp32_only),
    SCENARIO(what_cublas_calls_itself_is_left_alone),
    SCENARIO(batches_are_answered_where_they_have_strides),
    SCENARIO(every_form_is_answered_or_passed_on_as_it_is),
    SCENARIO(lt_in_its_plain_form_is_answered),
    SCENARIO(lt_in_any_other_form_goes_to_cublas),
    SCENARIO(lt_descriptors_that_change_are_asked_again),
    SCENARIO(a_kernel_that_is_not_there_yet_is_not_prepared_in_a_capture),
    SCENARIO(a_kernel_that_cannot_be_built_leaves_its_calls_to_cublas),
    SCENARIO(a_launch_that_fails_is_computed_by_cublas_where_it_may),
    SCENARIO(a_launch_that_fails_while_adding_to_c_is_an_error),
    {"everything_passes_when_switched_off", without_a_context_or_when_switched_off_everything_passes,
     "GEMMTUNE_DROPIN", "off"},
    {"everything_passes_where_tf32_is_forced", without_a_context_or_when_switched_off_everything_passes,
     "NVIDIA_TF32_OVERRIDE", "1"},
    {"only_calls_without_a_context_pass_otherwise", without_a_context_or_when_switched_off_everything_passes,
     "EXPECT_KERNEL", "1"},
    SCENARIO(similar_problems_count_only_when_asked_for),
    {"similar_problems_count_when_asked_for", similar_problems_count_only_when_asked_for, "GEMMTUNE_DROPIN",
     "nearest"},
    SCENARIO(threads_share_one_kernel),
    SCENARIO(two_problems_are_computed),
    SCENARIO(passing_a_call_on_costs_next_to_nothing),
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* The exit status of this program running one scenario under the drop-in. What it says goes to a file. */
static int start(const char *name, const char *said)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = said ? open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
        if (fd >= 0) dup2(fd, 2);
        setenv("LD_PRELOAD", DROPIN, 1);
        execl("/proc/self/exe", "test_dropin", name, (char *)NULL);
        _exit(126);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void scenario_passes(void **state)
{
    const struct scenario *s = *state;
    if (s->variable) setenv(s->variable, s->value, 1);
    int status = start(s->name, NULL);
    if (s->variable) unsetenv(s->variable);
    assert_int_equal(status, 0);
}

static const char *contents(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void what_is_computed_is_captured_and_adds_up_over_programs(void **state)
{
    char path[] = "/tmp/gemmtune-capture-XXXXXX";
    (void)state;
    close(mkstemp(path));
    setenv("GEMMTUNE_CAPTURE", path, 1);
    setenv("FAKE_GPU_EVENTS", "1", 1);
    assert_int_equal(start("two_problems_are_computed", NULL), 0);
    const char *text = contents(path);
    assert_non_null(strstr(
        text, "\nsgemm:nn:16x24x32  # count=20 time_us=10\nsgemm:nt:8x8x8:lda=12  # count=10 time_us=10\n"));
    assert_int_equal(lines_in(text), 3);
    unsetenv("FAKE_GPU_EVENTS");
    assert_int_equal(start("two_problems_are_computed", NULL), 0);
    assert_non_null(strstr(contents(path), "\nsgemm:nn:16x24x32  # count=40 time_us=10\n"));
    unsetenv("GEMMTUNE_CAPTURE");
    unlink(path);
}

static void the_log_says_once_which_call_went_where_and_why(void **state)
{
    char path[] = "/tmp/gemmtune-log-XXXXXX";
    (void)state;
    close(mkstemp(path));
    setenv("GEMMTUNE_LOG", "1", 1);
    assert_int_equal(start("two_problems_are_computed", path), 0);
    unsetenv("GEMMTUNE_LOG");
    const char *text = contents(path);
    assert_non_null(strstr(text,
                           "gemmtune: cublasSgemm sgemm:nn:16x24x32 -> tuned kernel: 1.250 times as fast as "
                           "cuBLAS, measured, simt BM=64"));
    assert_non_null(
        strstr(text, "gemmtune: cublasSgemm sgemm:nt:8x8x8:lda=12 -> cuBLAS: no winner is known"));
    assert_non_null(strstr(text, "-> cuBLAS: its math mode allows less than strict FP32"));
    assert_non_null(
        strstr(text, "gemmtune: 20 of 30 calls of strict FP32 products, of 2 problems, went to tuned"));
    int lines = 0; /* the test's own messages are there, too */
    for (const char *at = text; (at = strstr(at, "gemmtune: ")); at++) lines++;
    assert_int_equal(lines, 4);
    unlink(path);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[SCENARIOS + 2];
    unsetenv("LD_PRELOAD"); /* not for the programs that a program starts */
    for (int i = 0; i < SCENARIOS; i++) {
        struct CMUnitTest one_scenario = {scenarios[i].name, scenarios[i].run, fakes_setup, NULL, NULL};
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0)
            return _cmocka_run_group_tests(scenarios[i].name, &one_scenario, 1, NULL, store_teardown);
        tests[i] = (struct CMUnitTest){scenarios[i].name, scenario_passes, NULL, NULL,
                                       (void *)(uintptr_t)&scenarios[i]};
    }
    tests[SCENARIOS] =
        (struct CMUnitTest)cmocka_unit_test(what_is_computed_is_captured_and_adds_up_over_programs);
    tests[SCENARIOS + 1] =
        (struct CMUnitTest)cmocka_unit_test(the_log_says_once_which_call_went_where_and_why);
    return _cmocka_run_group_tests("test_dropin", tests, SCENARIOS + 2, NULL, NULL);
}
