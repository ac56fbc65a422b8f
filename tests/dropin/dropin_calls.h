/* dropin_calls.h — what a program that knows cuBLAS calls under the drop-in, on the fake driver and compiler,
 * and how such a call went: by a kernel of ours, or by the cuBLAS that the program is linked with.
 */
#ifndef GT_DROPIN_CALLS_H
#define GT_DROPIN_CALLS_H

#include "dropin_main.h"
#include "program_blas.h"
#include "runtime_fakes.h"

static blas_handle blas_context;
static lt_handle lt_context;
static const float one = 1, zero = 0;

/* The program starts: a current context, a handle with the test's stream, counters at zero. */
static inline void arrive(void)
{
    use_primary_context();
    assert_int_equal(cublasCreate_v2(&blas_context), 0);
    assert_int_equal(cublasLtCreate(&lt_context), 0);
    cublasSetStream_v2(blas_context, stream);
    program_blas_calls = program_lt_calls = program_nested_calls = 0;
}

/* The same where a winner is known for a problem; the operands for it. */
static inline struct operand_set arrive_tuned(const char *problem, int skew)
{
    put_winner(problem, SIMT, 5, false);
    arrive();
    return operands_make(problem, skew);
}

/* And one for another beta, too; the operands are for the problem with `more` after it. */
static inline struct operand_set arrive_tuned_both(const char *problem, const char *more, int skew)
{
    char text[PROBLEM_TEXT_MAX];
    snprintf(text, sizeof text, "%s:beta=1", problem);
    put_winner(problem, SIMT, 5, false);
    put_winner(text, SIMT, 5, false);
    arrive();
    snprintf(text, sizeof text, "%s%s", problem, more);
    return operands_make(text, skew);
}

/* A row-major problem, as a program that knows cuBLAS asks for it: operands swapped. */
static inline int sgemm(const struct operand_set *o, const float *alpha, const float *beta)
{
    const struct problem *p = &o->problem;
    return cublasSgemm_v2(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, alpha, o->b,
                          (int)p->ldb, o->a, (int)p->lda, beta, o->c, (int)p->ldc);
}

static inline int sgemm_of(const struct operand_set *o)
{
    float alpha = (float)o->problem.alpha, beta = (float)o->problem.beta;
    return sgemm(o, &alpha, &beta);
}

/* How one call went: by kernels, or by the program's cuBLAS. */
#define assert_went(call, kernels, rival)                                                                    \
    do {                                                                                                     \
        *fake.launch_count = program_blas_calls = program_lt_calls = 0;                                      \
        assert_int_equal((call), 0);                                                                         \
        assert_int_equal(*fake.launch_count, (kernels));                                                     \
        assert_int_equal(program_blas_calls + program_lt_calls, (rival));                                    \
    } while (0)

/* ---- cublasLt ---- */

struct lt_call {
    lt_desc desc;
    lt_layout a, b, c;
};

/* Row-major C[16,24] = A[16,32] B[32,24], as cublasLt has it. */
static inline struct lt_call lt_make(void)
{
    struct lt_call x;
    cublasLtMatmulDescCreate(&x.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&x.a, BLAS_R_32F, 24, 32, 24);
    cublasLtMatrixLayoutCreate(&x.b, BLAS_R_32F, 32, 16, 32);
    cublasLtMatrixLayoutCreate(&x.c, BLAS_R_32F, 24, 16, 24);
    return x;
}

static inline void lt_free(struct lt_call *x)
{
    cublasLtMatmulDescDestroy(x->desc);
    cublasLtMatrixLayoutDestroy(x->a);
    cublasLtMatrixLayoutDestroy(x->b);
    cublasLtMatrixLayoutDestroy(x->c);
}

static inline int lt_run(const struct lt_call *x, const struct operand_set *o, const float *beta,
                         const void *c)
{
    return cublasLtMatmul(lt_context, x->desc, &one, o->b, x->a, o->a, x->b, beta, c, x->c, o->c, x->c, NULL,
                          NULL, 0, stream);
}

#endif
