/* dropin_types.h — operands of all element types, and calls of cuBLAS and cublasLt with them.
 *
 * For tests of the drop-in; operands of FP32 and calls of cublasSgemm are in dropin_calls.h.
 */
#ifndef GT_DROPIN_TYPES_H
#define GT_DROPIN_TYPES_H

#include "dropin_calls.h"
#include "fake_half.h"

enum { COMPUTE_16F = 64, FAST_16F = 74, FAST_16BF = 75, R_64F = 1 };
enum { TF32 = BLAS_COMPUTE_32F_FAST_TF32, PEDANTIC = BLAS_COMPUTE_32F_PEDANTIC };

/* ---- operands ---- */

/* Those of an operand_set in the elements of its type; A is `skew` halves after an address that is a multiple
 * of 64. */
struct half_set {
    struct operand_set o;
    int type, type_c; /* cudaDataType_t */
    void *memory[4];
    const void *a, *b;
    void *c, *bias;
};

static inline void *elements(const float *from, int64_t count, int type, int skew, void **memory)
{
    const size_t bytes = (size_t)(count + skew) * (size_t)fake_element_bytes(type);
    *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(*memory);
    for (int64_t i = 0; i < count; i++) fake_store(*memory, type, i + skew, from[i]);
    return (char *)*memory + skew * fake_element_bytes(type);
}

static inline struct half_set half_set_make(const char *text, int skew)
{
    struct half_set s = {.o = operands_make(text, 0)};
    const struct problem *p = &s.o.problem;
    float bias[64];
    for (int i = 0; i < 64; i++) bias[i] = (float)(i % 7 - 3);
    s.type = blas_data_type(gemm_type_row(p->type)->a);
    s.type_c = blas_data_type(gemm_type_row(p->type)->c);
    s.a = elements(s.o.a, problem_span_a(p), s.type, skew, &s.memory[0]);
    s.b = elements(s.o.b, problem_span_b(p), s.type, 0, &s.memory[1]);
    s.c = elements(s.o.c, s.o.span, s.type_c, 0, &s.memory[2]);
    s.bias = elements(bias, 64, s.type_c, 0, &s.memory[3]);
    return s;
}

static inline void half_set_free(struct half_set *s)
{
    for (int i = 0; i < 4; i++) free(s->memory[i]);
    operands_free(&s->o);
}

/* C must be what one call makes of it. */
static inline void half_set_check(struct half_set *s, const char *who)
{
    const struct problem *p = &s->o.problem;
    reference_ijk(p, s->o.a, s->o.b, s->o.want);
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t at = item * p->stride_c + i * p->ldc + j;
                const bool biased = epilogue_bias(p->epilogue) == BIAS_COLUMN;
                uint32_t want[1];
                fake_store(want, s->type_c, 0,
                           s->o.want[at] + (biased ? fake_element(s->bias, s->type_c, j) : 0));
                const float is = fake_element(s->c, s->type_c, at), wanted = fake_element(want, s->type_c, 0);
                if (is != wanted)
                    fail_msg("%s: C[%lld] is %g, expected %g", who, (long long)at, (double)is,
                             (double)wanted);
            }
}

/* ---- calls ---- */

/* How one call went: by an algorithm of cublasLt that won, or by the program's library. */
#define assert_answered(call, ours)                                                                          \
    do {                                                                                                     \
        *fake.lt_calls = program_blas_calls = program_lt_calls = 0;                                          \
        assert_int_equal((call), 0);                                                                         \
        assert_int_equal(*fake.lt_calls, (ours));                                                            \
        assert_int_equal(program_blas_calls + program_lt_calls, !(ours));                                    \
    } while (0)

#define OF(s)                                                                                                \
    const struct problem *p = &(s)->o.problem;                                                               \
    const int op_a = p->trans_b, op_b = p->trans_a, type = (s)->type;                                        \
    const int64_t m = p->n, n = p->m, k = p->k;                                                              \
    static float alpha, beta;                                                                                \
    alpha = (float)p->alpha, beta = (float)p->beta

static inline int gemm_ex_as(const struct half_set *s, int type_a, int type_b, int type_c, int compute)
{
    OF(s);
    (void)type;
    return cublasGemmEx(blas_context, op_a, op_b, (int)m, (int)n, (int)k, &alpha, s->b, type_a, (int)p->ldb,
                        s->a, type_b, (int)p->lda, &beta, s->c, type_c, (int)p->ldc, compute, 99);
}

static inline int gemm_ex(const struct half_set *s)
{
    return gemm_ex_as(s, s->type, s->type, s->type_c, BLAS_COMPUTE_32F);
}

static inline int gemm_ex_fp32(const struct operand_set *o, int compute)
{
    const struct problem *p = &o->problem;
    return cublasGemmEx(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, &one, o->b,
                        BLAS_R_32F, (int)p->ldb, o->a, BLAS_R_32F, (int)p->lda, &zero, o->c, BLAS_R_32F,
                        (int)p->ldc, compute, -1);
}

/* A descriptor and layouts of cublasLt for a set's problem. by_rows: a row-major program's, with operands in
 * their order; else as for cuBLAS. */
struct half_lt {
    struct lt_call x;
    bool by_rows;
};

static inline lt_layout layout_of(int type, int64_t rows, int64_t columns, int64_t ld, int64_t stride,
                                  const struct problem *p, bool by_rows)
{
    lt_layout layout;
    const int batch = (int)p->batch, order = LT_ORDER_ROW;
    cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)(by_rows ? rows : columns),
                               (uint64_t)(by_rows ? columns : rows), ld);
    cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    if (batch > 1) cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_STRIDE, &stride, sizeof stride);
    if (by_rows) cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_ORDER, &order, sizeof order);
    return layout;
}

static inline void set_desc(const struct half_lt *lt, int what, int64_t value, size_t bytes)
{
    assert_int_equal(cublasLtMatmulDescSetAttribute(lt->x.desc, what, &value, bytes), 0);
}

static inline struct half_lt half_lt_make(const struct half_set *s, bool by_rows)
{
    const struct problem *p = &s->o.problem;
    struct half_lt lt = {.by_rows = by_rows};
    const lt_layout a = layout_of(s->type, problem_rows_a(p), problem_cols_a(p), p->lda, p->stride_a, p,
                                  by_rows),
                    b = layout_of(s->type, problem_rows_b(p), problem_cols_b(p), p->ldb, p->stride_b, p,
                                  by_rows);
    cublasLtMatmulDescCreate(&lt.x.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    lt.x.a = by_rows ? a : b;
    lt.x.b = by_rows ? b : a;
    lt.x.c = layout_of(s->type_c, p->m, p->n, p->ldc, p->stride_c, p, by_rows);
    set_desc(&lt, LT_DESC_TRANSA, by_rows ? p->trans_a : p->trans_b, 4);
    set_desc(&lt, LT_DESC_TRANSB, by_rows ? p->trans_b : p->trans_a, 4);
    if (epilogue_bias(p->epilogue) != BIAS_NONE) {
        set_desc(&lt, LT_DESC_EPILOGUE, LT_EPILOGUE_BIAS, 4);
        set_desc(&lt, LT_DESC_BIAS_POINTER, (int64_t)(uintptr_t)s->bias, 8);
    }
    return lt;
}

static inline int half_lt_run(const struct half_lt *lt, const struct half_set *s)
{
    static float beta;
    beta = (float)s->o.problem.beta;
    return cublasLtMatmul(lt_context, lt->x.desc, &one, lt->by_rows ? s->a : s->b, lt->x.a,
                          lt->by_rows ? s->b : s->a, lt->x.b, &beta, s->c, lt->x.c, s->c, lt->x.c, NULL, NULL,
                          0, stream);
}

/* In a descriptor of its own. */
static inline int matmul(const struct half_set *s)
{
    struct half_lt lt = half_lt_make(s, false);
    const int result = half_lt_run(&lt, s);
    lt_free(&lt.x);
    return result;
}

static inline struct half_set arrive_with(const char *problem, const char *config, int skew)
{
    put_winner(problem, config, 5, false);
    arrive();
    return half_set_make(problem, skew);
}

/* ---- logs ---- */

static inline void assert_logged(const char *scenario, const char *line)
{
    const char *text = scenario_log(scenario);
    if (!strstr(text, line)) fail_msg("the log of %s lacks '%s': %s", scenario, line, text);
}

#endif
