/* Calls of other types than FP32 under the drop-in: 16-bit elements, which algorithms of cublasLt that won
 * compute, and TF32.
 */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "fake_half.h"
#include "files.h"
#include "suite.h"

enum { COMPUTE_16F = 64, FAST_16F = 74, FAST_16BF = 75, R_64F = 1 };

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

static void *elements(const float *from, int64_t count, int type, int skew, void **memory)
{
    const size_t bytes = (size_t)(count + skew) * (size_t)fake_element_bytes(type);
    *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(*memory);
    for (int64_t i = 0; i < count; i++) fake_store(*memory, type, i + skew, from[i]);
    return (char *)*memory + skew * fake_element_bytes(type);
}

static struct half_set half_set_make(const char *text, int skew)
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

static void half_set_free(struct half_set *s)
{
    for (int i = 0; i < 4; i++) free(s->memory[i]);
    operands_free(&s->o);
}

/* C must be what one call makes of it. */
static void half_set_check(struct half_set *s, const char *who)
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

static int gemm_ex_as(const struct half_set *s, int type_a, int type_b, int type_c, int compute)
{
    OF(s);
    (void)type;
    return cublasGemmEx(blas_context, op_a, op_b, (int)m, (int)n, (int)k, &alpha, s->b, type_a, (int)p->ldb,
                        s->a, type_b, (int)p->lda, &beta, s->c, type_c, (int)p->ldc, compute, 99);
}

static int gemm_ex(const struct half_set *s)
{
    return gemm_ex_as(s, s->type, s->type, s->type_c, BLAS_COMPUTE_32F);
}

static int gemm_ex_64(const struct half_set *s)
{
    OF(s);
    return cublasGemmEx_64(blas_context, op_a, op_b, m, n, k, &alpha, s->b, type, p->ldb, s->a, type, p->lda,
                           &beta, s->c, s->type_c, p->ldc, BLAS_COMPUTE_32F, -1);
}

static int sgemm_ex(const struct half_set *s)
{
    OF(s);
    return cublasSgemmEx(blas_context, op_a, op_b, (int)m, (int)n, (int)k, &alpha, s->b, type, (int)p->ldb,
                         s->a, type, (int)p->lda, &beta, s->c, s->type_c, (int)p->ldc);
}

static int sgemm_ex_64(const struct half_set *s)
{
    OF(s);
    return cublasSgemmEx_64(blas_context, op_a, op_b, m, n, k, &alpha, s->b, type, p->ldb, s->a, type, p->lda,
                            &beta, s->c, s->type_c, p->ldc);
}

static int strided_ex(const struct half_set *s)
{
    OF(s);
    return cublasGemmStridedBatchedEx(blas_context, op_a, op_b, (int)m, (int)n, (int)k, &alpha, s->b, type,
                                      (int)p->ldb, p->stride_b, s->a, type, (int)p->lda, p->stride_a, &beta,
                                      s->c, s->type_c, (int)p->ldc, p->stride_c, (int)p->batch,
                                      BLAS_COMPUTE_32F, -1);
}

static int strided_ex_64(const struct half_set *s)
{
    OF(s);
    return cublasGemmStridedBatchedEx_64(blas_context, op_a, op_b, m, n, k, &alpha, s->b, type, p->ldb,
                                         p->stride_b, s->a, type, p->lda, p->stride_a, &beta, s->c, s->type_c,
                                         p->ldc, p->stride_c, p->batch, BLAS_COMPUTE_32F, -1);
}

static int gemm_ex_fp32(const struct operand_set *o, int compute)
{
    const struct problem *p = &o->problem;
    return cublasGemmEx(blas_context, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, &one, o->b,
                        BLAS_R_32F, (int)p->ldb, o->a, BLAS_R_32F, (int)p->lda, &zero, o->c, BLAS_R_32F,
                        (int)p->ldc, compute, -1);
}

enum { TF32 = BLAS_COMPUTE_32F_FAST_TF32, PEDANTIC = BLAS_COMPUTE_32F_PEDANTIC };

/* A descriptor and layouts of cublasLt for a set's problem. by_rows: a row-major program's, with operands in
 * their order; else as for cuBLAS. */
struct half_lt {
    struct lt_call x;
    bool by_rows;
};

static lt_layout layout_of(int type, int64_t rows, int64_t columns, int64_t ld, int64_t stride,
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

static void set_desc(const struct half_lt *lt, int what, int64_t value, size_t bytes)
{
    assert_int_equal(cublasLtMatmulDescSetAttribute(lt->x.desc, what, &value, bytes), 0);
}

static struct half_lt half_lt_make(const struct half_set *s, bool by_rows)
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

static int half_lt_run(const struct half_lt *lt, const struct half_set *s)
{
    static float beta;
    beta = (float)s->o.problem.beta;
    return cublasLtMatmul(lt_context, lt->x.desc, &one, lt->by_rows ? s->a : s->b, lt->x.a,
                          lt->by_rows ? s->b : s->a, lt->x.b, &beta, s->c, lt->x.c, s->c, lt->x.c, NULL, NULL,
                          0, stream);
}

/* In a descriptor of its own. */
static int matmul(const struct half_set *s)
{
    struct half_lt lt = half_lt_make(s, false);
    const int result = half_lt_run(&lt, s);
    lt_free(&lt.x);
    return result;
}

static struct half_set arrive_with(const char *problem, const char *config, int skew)
{
    put_winner(problem, config, 5, false);
    arrive();
    return half_set_make(problem, skew);
}

/* ---- 16-bit elements ---- */

static const struct {
    const char *name;
    int (*call)(const struct half_set *s);
    bool batch;
} forms[] = {{"cublasGemmEx", gemm_ex, false},
             {"cublasGemmEx_64", gemm_ex_64, false},
             {"cublasSgemmEx", sgemm_ex, false},
             {"cublasSgemmEx_64", sgemm_ex_64, false},
             {"cublasLtMatmul", matmul, false},
             {"cublasLtMatmul", matmul, true},
             {"cublasGemmStridedBatchedEx", strided_ex, true},
             {"cublasGemmStridedBatchedEx_64", strided_ex_64, true}};
static const char *const texts[][2] = {
    {"bf16gemm:tn:16x24x32:lda=24:ldb=40:ldc=48", "bf16gemm:nn:16x24x32:batch=3:lda=40"},
    {"hgemm:nn:16x24x32:beta=1", "hgemm:nt:16x24x32:batch=3:stride_b=0"},
    {"bf16gemm:nt:16x24x32:c=f32:beta=1", "bf16gemm:tt:16x24x32:c=f32:batch=2"},
    {"hgemm:tn:16x24x32:c=f32", "hgemm:nn:16x24x32:c=f32:batch=3:stride_a=0"}};
enum { TYPES = sizeof texts / sizeof *texts };

TEST(sixteen_bits_are_answered_in_every_form)
{
    const bool winners = !getenv("NO_WINNERS");
    for (int i = 0; i < 2 * TYPES && winners; i++) put_winner(texts[i / 2][i % 2], LT_ALGORITHM, 5, false);
    arrive();
    for (int type = 0; type < TYPES; type++)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            struct half_set s = half_set_make(texts[type][forms[i].batch], 0);
            assert_answered(forms[i].call(&s), winners);
            if (winners) half_set_check(&s, forms[i].name);
            half_set_free(&s);
        }
}

/* With winners for the same sizes in all types. */
TEST(types_that_are_no_row_of_the_table_are_cublas_s)
{
    static const int wrong[][4] = {{BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F_PEDANTIC},
                                   {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, FAST_16BF},
                                   {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F_FAST_TF32},
                                   {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, -1},
                                   {BLAS_R_16BF, BLAS_R_16F, BLAS_R_16BF, BLAS_COMPUTE_32F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_16BF, BLAS_COMPUTE_32F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, COMPUTE_16F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, FAST_16F},
                                   {BLAS_R_16F, BLAS_R_16F, BLAS_R_32F, BLAS_COMPUTE_32F_PEDANTIC},
                                   {BLAS_R_16BF, BLAS_R_16F, BLAS_R_32F, BLAS_COMPUTE_32F},
                                   {BLAS_R_32F, BLAS_R_32F, BLAS_R_16F, BLAS_COMPUTE_32F},
                                   {R_64F, R_64F, R_64F, BLAS_COMPUTE_32F},
                                   {-1, 1 << 30, BLAS_R_16F, BLAS_COMPUTE_32F}};
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("hgemm:nn:16x24x32", LT_ALGORITHM, 5, false);
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_answered(gemm_ex(&s), 1);
        assert_answered(gemm_ex_as(&s, wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]), 0);
        assert_int_equal(*fake.launch_count, 0);
    }
    assert_answered(gemm_ex_as(&s, BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, BLAS_COMPUTE_32F), 1);
    half_set_free(&s);
}

TEST(a_winner_answers_its_own_type_only)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("bf16gemm:nn:16x24x48", LT_ALGORITHM, 5, false);
    arrive();
    struct half_set s = half_set_make("bf16gemm:nn:16x24x32", 0), t = half_set_make("hgemm:nn:16x24x48", 0);
    assert_answered(gemm_ex(&s), 0);
    assert_answered(matmul(&s), 0);
    assert_answered(gemm_ex(&t), 0);
    assert_answered(matmul(&t), 0);
    half_set_free(&s);
    half_set_free(&t);
    struct operand_set o = operands_make("sgemm:nn:16x24x48", 0);
    assert_went(sgemm(&o, &one, &zero), 0, 1);
    operands_free(&o);
}

TEST(tensor_cores_are_used_unless_the_math_mode_is_pedantic)
{
    static const struct {
        int mode, ours;
    } modes[] = {{0, 1}, {1, 1}, {2, 0}, {3, 1}, {4, 0}, {16, 1}, {18, 0}, {19, 1}};
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cublasSetMathMode(blas_context, modes[i].mode);
        assert_answered(gemm_ex(&s), modes[i].ours);
    }
    cublasSetMathMode(blas_context, 0);
    cublasSetSmCountTarget(blas_context, 64);
    assert_answered(gemm_ex(&s), 0);
    half_set_free(&s);
}

/* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION is 16; cublasLt's preference is not part of a call. */
TEST(partial_sums_in_16_bits_answer_no_call)
{
    static const struct {
        const char *problem, *config;
        int narrow;
    } winners[] = {{"bf16gemm:nn:16x24x32", LT_ALGORITHM_ADDS("0"), 0},
                   {"bf16gemm:nn:16x24x40", LT_ALGORITHM_ADDS("1"), 1},
                   {"hgemm:nn:16x24x48", LT_ALGORITHM_ADDS("2"), 0},
                   {"hgemm:nn:16x24x56", LT_ALGORITHM_ADDS("4"), 1},
                   {"hgemm:nn:16x24x64:c=f32", LT_ALGORITHM_ADDS("4"), 0}}; /* C is as wide as the sums */
    for (int i = 0; i < 5; i++) put_winner(winners[i].problem, winners[i].config, 5, false);
    arrive();
    for (int i = 0; i < 5; i++) {
        struct half_set s = half_set_make(winners[i].problem, 0);
        for (int again = 0; again < 2; again++) {
            cublasSetMathMode(blas_context, 16);
            assert_answered(gemm_ex(&s), !winners[i].narrow);
            assert_answered(matmul(&s), !winners[i].narrow);
            cublasSetMathMode(blas_context, 0);
            assert_answered(gemm_ex(&s), !winners[i].narrow);
        }
        half_set_free(&s);
    }
}

/* An algorithm takes multiples of 16 bytes; what one call's addresses are says nothing of the next call. */
TEST(halves_at_any_address_are_answered_or_passed_on)
{
    put_winner("hgemm:nn:16x24x32:c=f32", LT_ALGORITHM, 5, false);
    struct half_set s = arrive_with("hgemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (int skew = 1; skew <= 8; skew *= 2) {
        struct half_set t = half_set_make("hgemm:nn:16x24x32", skew);
        assert_answered(gemm_ex(&t), skew == 8);
        assert_answered(matmul(&t), skew == 8);
        assert_answered(gemm_ex(&s), 1);
        half_set_free(&t);
    }
    struct half_set odd = s;
    odd.a = (const char *)s.a + 1;
    assert_answered(gemm_ex(&odd), 0);
    assert_answered(matmul(&odd), 0);
    odd.a = NULL;
    assert_answered(gemm_ex(&odd), 0);
    struct half_set wide = half_set_make("hgemm:nn:16x24x32:c=f32", 0);
    odd = wide;
    odd.c = (char *)wide.c + 2; /* within an element */
    for (int again = 0; again < 2; again++) {
        assert_answered(gemm_ex(&odd), 0);
        assert_answered(matmul(&odd), 0);
        assert_answered(gemm_ex(&wide), 1);
    }
    half_set_free(&wide);
    half_set_free(&s);
}

TEST(scalars_on_the_device_are_read_there)
{
    char on_device[] = LT_ALGORITHM;
    memcpy(strstr(on_device, "W2=0"), "W2=1", 4); /* where the fake keeps the mode */
    put_winner("hgemm:nn:16x24x32", on_device, 5, false);
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0),
                    t = half_set_make("hgemm:nn:16x24x32:alpha=2", 0);
    cublasSetPointerMode_v2(blas_context, BLAS_DEVICE_SCALARS);
    assert_answered(gemm_ex(&s), 0); /* cublasLt refuses the algorithm with scalars on the device */
    assert_answered(gemm_ex(&t), 1);
    half_set_check(&t, "scalars on the device");
    cublasSetPointerMode_v2(blas_context, 2);
    assert_answered(gemm_ex(&t), 0);
    half_set_free(&s);
    half_set_free(&t);
}

TEST(halves_behind_pointers_have_no_winner_yet)
{
    arrive();
    struct half_set s = half_set_make("bf16gemm:nn:16x24x32", 0);
    const void *const a[] = {s.a}, *const b[] = {s.b};
    void *const c[] = {s.c};
    const int t = s.type;
    assert_answered(cublasGemmBatchedEx(blas_context, 0, 0, 24, 16, 32, &one, b, t, 24, a, t, 32, &zero, c, t,
                                        24, 1, BLAS_COMPUTE_32F, -1),
                    0);
    half_set_free(&s);
}

/* ---- cublasLt ---- */

TEST(row_order_is_answered_as_column_order_is)
{
    static const char *const problems[] = {"bf16gemm:nn:16x24x32",
                                           "bf16gemm:nt:16x24x32",
                                           "hgemm:tn:16x24x32:lda=40:beta=1",
                                           "hgemm:tt:16x24x32:batch=2",
                                           "hgemm:nt:16x24x32:c=f32",
                                           "bf16gemm:nn:16x24x32:epilogue=bias",
                                           "hgemm:nn:16x24x32:c=f32:epilogue=bias"};
    enum { PROBLEMS = sizeof problems / sizeof *problems };
    for (int i = 0; i < PROBLEMS; i++) put_winner(problems[i], LT_ALGORITHM, 5, false);
    arrive();
    for (int i = 0; i < PROBLEMS; i++)
        for (int by_rows = 0; by_rows < 2; by_rows++)
            for (int again = 0; again < 2; again++) {
                struct half_set s = half_set_make(problems[i], 0);
                struct half_lt lt = half_lt_make(&s, by_rows);
                const int ours = !(by_rows && s.o.problem.epilogue); /* its bias goes along the rows of D */
                assert_answered(half_lt_run(&lt, &s), ours);
                if (ours) half_set_check(&s, problems[i]);
                lt_free(&lt.x);
                half_set_free(&s);
            }
}

/* A in row order, B, C and D in column order: op(A) is turned once more. */
TEST(orders_may_differ)
{
    struct half_set s = arrive_with("bf16gemm:nt:16x24x32", LT_ALGORITHM, 0);
    struct half_lt lt = half_lt_make(&s, false);
    const int order = LT_ORDER_ROW;
    const uint64_t rows = 24, columns = 32; /* Lt's A is our B, 24 x 32 by rows */
    cublasLtMatrixLayoutSetAttribute(lt.x.a, LT_LAYOUT_ORDER, &order, sizeof order);
    cublasLtMatrixLayoutSetAttribute(lt.x.a, LT_LAYOUT_ROWS, &rows, sizeof rows);
    cublasLtMatrixLayoutSetAttribute(lt.x.a, LT_LAYOUT_COLS, &columns, sizeof columns);
    set_desc(&lt, LT_DESC_TRANSA, BLAS_OP_N, 4);
    assert_answered(half_lt_run(&lt, &s), 1);
    half_set_check(&s, "orders that differ");
    lt_free(&lt.x);
    half_set_free(&s);
}

TEST(a_bias_is_of_the_type_of_d)
{
    static const struct {
        int what;
        int64_t value; /* of the type; of the pointer: bytes from where the bias is */
        int ours;
    } calls[] = {{LT_DESC_BIAS_DATA_TYPE, BLAS_R_16BF, 1},
                 {LT_DESC_BIAS_DATA_TYPE, -1, 1},
                 {LT_DESC_BIAS_DATA_TYPE, BLAS_R_32F, 0},
                 {LT_DESC_BIAS_DATA_TYPE, BLAS_R_16F, 0},
                 {LT_DESC_BIAS_POINTER, 16, 1},
                 {LT_DESC_BIAS_POINTER, 2, 0},
                 {LT_DESC_BIAS_POINTER, 1, 0},
                 {LT_DESC_BIAS_POINTER, 8, 0}};
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32:epilogue=bias", LT_ALGORITHM, 0);
    struct half_lt lt = half_lt_make(&s, false);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const bool pointer = calls[i].what == LT_DESC_BIAS_POINTER;
        assert_answered(half_lt_run(&lt, &s), 1);
        set_desc(&lt, calls[i].what, (pointer ? (int64_t)(uintptr_t)s.bias : 0) + calls[i].value,
                 pointer ? 8 : 4);
        assert_answered(half_lt_run(&lt, &s), calls[i].ours);
        set_desc(&lt, LT_DESC_BIAS_DATA_TYPE, -1, 4);
        set_desc(&lt, LT_DESC_BIAS_POINTER, (int64_t)(uintptr_t)s.bias, 8);
    }
    lt_free(&lt.x);
    half_set_free(&s);
}

TEST(what_does_not_fit_together_is_cublaslt_s)
{
    static const int types[] = {BLAS_R_16BF, BLAS_R_32F, R_64F, 1 << 30};
    static const int computes[] = {COMPUTE_16F, BLAS_COMPUTE_32F_PEDANTIC, FAST_16F,
                                   BLAS_COMPUTE_32F_FAST_TF32};
    struct half_set s = arrive_with("hgemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (int i = 0; i < 4; i++)
        for (int which = 0; which < 4; which++) {
            struct half_lt lt = half_lt_make(&s, false);
            assert_answered(half_lt_run(&lt, &s), 1);
            if (which == 3) set_desc(&lt, LT_DESC_COMPUTE_TYPE, computes[i], 4);
            else
                cublasLtMatrixLayoutSetAttribute(which == 0   ? lt.x.a
                                                 : which == 1 ? lt.x.b
                                                              : lt.x.c,
                                                 LT_LAYOUT_TYPE, &types[i], sizeof types[i]);
            program_blas_idle = 1;
            assert_answered(half_lt_run(&lt, &s), 0);
            program_blas_idle = 0;
            lt_free(&lt.x);
        }
    struct half_lt lt = half_lt_make(&s, false);
    set_desc(&lt, LT_DESC_SCALE_TYPE, BLAS_R_16F, 4);
    assert_answered(half_lt_run(&lt, &s), 0);
    lt_free(&lt.x);
    half_set_free(&s);
}

/* ---- whose cublasLt ---- */

/* The drop-in loads none. */
TEST(an_algorithm_runs_in_the_cublaslt_that_the_program_has_loaded)
{
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    setenv("GEMMTUNE_LIBCUBLASLT", HALF_13, 1); /* is there, and not loaded */
    for (int i = 0; i < 3; i++) assert_answered(gemm_ex(&s), 0);
    assert_null(dlopen(HALF_13, RTLD_NOW | RTLD_NOLOAD));
    half_set_free(&s);
}

/* It is prepared outside of captures only, like a kernel. */
TEST(an_algorithm_is_captured_once_it_is_prepared)
{
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    for (int prepared = 0; prepared < 2; prepared++) {
        CUgraph graph;
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0);
        assert_answered(gemm_ex(&s), prepared);
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), 0);
        cuda.GraphDestroy(graph);
        assert_answered(gemm_ex(&s), 1);
    }
    half_set_check(&s, "after captures");
    half_set_free(&s);
}

TEST(an_algorithm_of_another_version_answers_nothing)
{
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0);
    setenv("FAKE_LT_VERSION", "130200", 1);
    for (int i = 0; i < 3; i++) assert_answered(gemm_ex(&s), 0);
    half_set_free(&s);
}

TEST(an_algorithm_answers_strict_fp32_as_a_kernel_does)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x40", 0), unaligned;
    put_winner("sgemm:nn:16x24x32", LT_ALGORITHM, 5, false);
    operands_free(&o);
    o = operands_make("sgemm:nn:16x24x32", 0);
    unaligned = operands_make("sgemm:nn:16x24x32", 1);
    struct lt_call x = lt_make();
    assert_answered(sgemm_of(&unaligned), 0);
    assert_answered(sgemm_of(&o), 1);
    assert_answered(lt_run(&x, &o, &zero, o.c), 1);
    operands_check(&o, 1, "an algorithm");
    cublasSetMathMode(blas_context, 2); /* of which nobody has said that the algorithm is */
    assert_answered(sgemm_of(&o), 0);
    cublasSetMathMode(blas_context, 0);
    assert_answered(gemm_ex_fp32(&o, PEDANTIC), 0);
    assert_answered(gemm_ex_fp32(&o, BLAS_COMPUTE_32F), 1);
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_COMPUTE_TYPE, &(int){PEDANTIC}, sizeof(int));
    assert_answered(lt_run(&x, &o, &zero, o.c), 0);
    assert_answered(sgemm_of(&unaligned), 0);
    lt_free(&x);
    operands_free(&o);
    operands_free(&unaligned);
}

/* ---- TF32 ---- */

/* By a winner for TF32, and by nothing else. */
TEST(tf32_is_answered_where_it_is_asked_for)
{
    const int tf32 = TF32;
    put_winner("tf32gemm:nn:16x24x32", SIMT, 5, false);
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x40", 0), strict = o;
    o = operands_make("tf32gemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    for (int again = 0; again < 2; again++) {
        assert_went(sgemm(&o, &one, &zero), 0, 1);
        assert_went(gemm_ex_fp32(&o, BLAS_COMPUTE_32F), 0, 1);
        assert_went(gemm_ex_fp32(&o, TF32), 1, 0);
        assert_went(gemm_ex_fp32(&strict, TF32), 0, 1);
        assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
        cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_COMPUTE_TYPE, &tf32, sizeof tf32);
        assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
        cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_COMPUTE_TYPE, &(int){BLAS_COMPUTE_32F}, sizeof(int));
        cublasSetMathMode(blas_context, 3);
        assert_went(sgemm(&o, &one, &zero), 1, 0);
        assert_went(gemm_ex_fp32(&o, BLAS_COMPUTE_32F), 1, 0);
        assert_went(gemm_ex_fp32(&o, TF32), 1, 0);
        assert_went(gemm_ex_fp32(&o, PEDANTIC), 0, 1);
        assert_went(sgemm(&strict, &one, &zero), 0, 1);
        cublasSetMathMode(blas_context, 2);
        assert_went(gemm_ex_fp32(&o, TF32), 0, 1);
        cublasSetMathMode(blas_context, 0);
        assert_went(sgemm(&strict, &one, &zero), 1, 0);
        assert_went(gemm_ex_fp32(&strict, PEDANTIC), 1, 0);
    }
    lt_free(&x);
    operands_free(&o);
    operands_free(&strict);
}

/* ---- accuracy classes ---- */

/* Winners for four accuracies, each of its own size, and every call that asks for one: a winner answers what
 * is content with it, and never what asks for more. GEMMTUNE_ACCURACY says what FP32 is content with. */
TEST(each_accuracy_is_answered_by_itself_or_better)
{
    static const char *const winners[] = {"sgemm:nn:16x24x32", "sgemm_accurate:nn:16x24x40",
                                          "sgemm_normwise:nn:16x24x48", "tf32gemm:nn:16x24x56"};
    static const char *const names[] = {"strict", "accurate", "normwise", "tf32"};
    static const int wanted[] = {BLAS_COMPUTE_32F, BLAS_COMPUTE_32F_BF16X9, BLAS_COMPUTE_32F_FAST_TF32};
    const char *setting = getenv("GEMMTUNE_ACCURACY");
    int content = 0; /* of a call for FP32 */
    for (int i = 0; setting && i < 4; i++)
        if (strcmp(setting, names[i]) == 0) content = i;
    for (int i = 1; i < 4; i++) put_winner(winners[i], SIMT, 5, false);
    struct operand_set o[4];
    o[0] = arrive_tuned(winners[0], 0);
    for (int i = 1; i < 4; i++) o[i] = operands_make(winners[i], 0);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 4; i++) {
            /* Strict winners were not measured against the limits of a class. Those of TF32, and no others,
             * were compared with cuBLAS in TF32. */
            const bool fp32 = i == 0 || i == content || (i == 1 && content == 2), class = i == 1;
            const bool answered[] = {fp32, class, i == 3};
            for (int call = 0; call < 3; call++)
                assert_went(gemm_ex_fp32(&o[i], wanted[call]), answered[call], !answered[call]);
            assert_went(gemm_ex_fp32(&o[i], PEDANTIC), i == 0, i != 0);
            assert_went(sgemm(&o[i], &one, &zero), fp32, !fp32);
            cublasSetMathMode(blas_context, BLAS_BF16X9_MATH);
            assert_went(sgemm(&o[i], &one, &zero), class, !class);
            cublasSetMathMode(blas_context, BLAS_PEDANTIC_MATH);
            assert_went(sgemm(&o[i], &one, &zero), i == 0, i != 0);
            cublasSetMathMode(blas_context, BLAS_DEFAULT_MATH);
        }
    for (int i = 0; i < 4; i++) operands_free(&o[i]);
}

static void a_neighbour_of_another_type_is_not_followed(void **state)
{
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nt:128x128x128", 0), p;
    operands_free(&o);
    o = operands_make("sgemm:nt:128x128x132", 0);
    assert_went(gemm_ex_fp32(&o, TF32), 0, 1);
    assert_went(gemm_ex_fp32(&o, BLAS_COMPUTE_32F), 1, 0);
    p = operands_make("sgemm:nt:128x128x136", 0);
    assert_went(gemm_ex_fp32(&p, TF32), 0, 1);
    cublasSetMathMode(blas_context, 3);
    assert_went(gemm_ex_fp32(&p, BLAS_COMPUTE_32F), 0, 1);
    operands_free(&o);
    operands_free(&p);
}

static void problems_of_any_type_are_excluded(void **state)
{
    (void)state;
    put_winner("hgemm:nn:16x24x32", LT_ALGORITHM, 5, false);
    put_winner("hgemm:nt:16x24x32", LT_ALGORITHM, 5, false);
    struct half_set s = arrive_with("bf16gemm:nn:16x24x32", LT_ALGORITHM, 0),
                    t = half_set_make("hgemm:nn:16x24x32", 0), u = half_set_make("hgemm:nt:16x24x32", 0);
    assert_answered(gemm_ex(&s), 0);
    assert_answered(gemm_ex(&t), 0);
    assert_answered(gemm_ex(&u), 1);
    half_set_free(&s);
    half_set_free(&t);
    half_set_free(&u);
}

static const struct scenario scenarios[] = {
    SCENARIO(sixteen_bits_are_answered_in_every_form),
    {"sixteen_bits_without_a_winner_are_cublas_s", sixteen_bits_are_answered_in_every_form, "NO_WINNERS",
     "1"},
    SCENARIO(types_that_are_no_row_of_the_table_are_cublas_s),
    SCENARIO(a_winner_answers_its_own_type_only),
    {"a_log_changes_nothing_of_that", a_winner_answers_its_own_type_only, "GEMMTUNE_LOG", "1"},
    SCENARIO(tensor_cores_are_used_unless_the_math_mode_is_pedantic),
    SCENARIO(partial_sums_in_16_bits_answer_no_call),
    SCENARIO(halves_at_any_address_are_answered_or_passed_on),
    SCENARIO(scalars_on_the_device_are_read_there),
    SCENARIO(halves_behind_pointers_have_no_winner_yet),
    SCENARIO(row_order_is_answered_as_column_order_is),
    SCENARIO(orders_may_differ),
    SCENARIO(a_bias_is_of_the_type_of_d),
    SCENARIO(what_does_not_fit_together_is_cublaslt_s),
    SCENARIO(an_algorithm_runs_in_the_cublaslt_that_the_program_has_loaded),
    SCENARIO(an_algorithm_is_captured_once_it_is_prepared),
    SCENARIO(an_algorithm_of_another_version_answers_nothing),
    SCENARIO(an_algorithm_answers_strict_fp32_as_a_kernel_does),
    SCENARIO(tf32_is_answered_where_it_is_asked_for),
    SCENARIO(each_accuracy_is_answered_by_itself_or_better),
    {"where_accurate_is_enough", each_accuracy_is_answered_by_itself_or_better, "GEMMTUNE_ACCURACY",
     "accurate"},
    {"where_normwise_is_enough", each_accuracy_is_answered_by_itself_or_better, "GEMMTUNE_ACCURACY",
     "normwise"},
    {"where_tf32_is_enough", each_accuracy_is_answered_by_itself_or_better, "GEMMTUNE_ACCURACY", "tf32"},
    {"where_what_is_enough_is_not_understood", each_accuracy_is_answered_by_itself_or_better,
     "GEMMTUNE_ACCURACY", "exact"},
    {"a_neighbour_of_another_type_is_not_followed", a_neighbour_of_another_type_is_not_followed,
     "GEMMTUNE_DROPIN", "nearest"},
    {"problems_of_any_type_are_excluded", problems_of_any_type_are_excluded, "GEMMTUNE_EXCLUDE",
     "bf16gemm:*,hgemm:nn:16x24x32"},
    {"with_a_log_tf32_is_answered_alike", tf32_is_answered_where_it_is_asked_for, "GEMMTUNE_LOG", "1"},
};

/* ---- captures and logs ---- */

static void the_capture_names_the_type(void **state)
{
    struct suite suite;
    char path[] = "/tmp/gemmtune-suite-XXXXXX";
    (void)state;
    setenv("NO_WINNERS", "1", 1);
    const char *text = scenario_capture("sixteen_bits_are_answered_in_every_form");
    unsetenv("NO_WINNERS");
    for (int i = 0; i < 2 * TYPES; i++) {
        char line[PROBLEM_TEXT_MAX + 32];
        snprintf(line, sizeof line, "\n%s  # count=%d\n", texts[i / 2][i % 2], i % 2 ? 3 : 5);
        if (!strstr(text, line)) fail_msg("'%s' is not in %s", line, text);
    }
    assert_int_equal(lines_in(text), 1 + 2 * TYPES);
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_ok(suite_read(path, GEMM_SGEMM, NULL, &suite));
    assert_int_equal(suite.count, 2 * TYPES);
    int of_type[GEMM_TYPE_COUNT] = {0};
    for (size_t i = 0; i < suite.count; i++) of_type[suite.at[i].type]++;
    assert_true(of_type[GEMM_BF16] == 2 && of_type[GEMM_F16] == 2 && of_type[GEMM_BF16_TO_F32] == 2 &&
                of_type[GEMM_F16_TO_F32] == 2);
    suite_free(&suite);
    unlink(path);
}

static void tf32_is_captured_as_such(void **state)
{
    (void)state;
    const char *text = scenario_capture("tf32_is_answered_where_it_is_asked_for");
    assert_non_null(strstr(text, "\ntf32gemm:nn:16x24x32  # count=10\n"));
    assert_non_null(strstr(text, "\nsgemm:nn:16x24x32  # count=6\n"));
    assert_non_null(strstr(text, "\n# left out: count=2 its math mode allows less than strict FP32\n"));
    assert_non_null(strstr(text, "\n# left out: count=2 its math mode is neither the default nor TF32\n"));
}

static void assert_logged(const char *scenario, const char *line)
{
    const char *text = scenario_log(scenario);
    if (!strstr(text, line)) fail_msg("the log of %s lacks '%s': %s", scenario, line, text);
}

static void the_log_says_why_a_call_is_passed_on(void **state)
{
    (void)state;
    assert_logged("sixteen_bits_are_answered_in_every_form",
                  "cublasGemmEx bf16gemm:tn:16x24x32:lda=24:ldb=40:ldc=48 -> tuned kernel: 1.250 times as "
                  "fast as cuBLAS, measured, cublaslt ALGO=21");
    assert_logged("types_that_are_no_row_of_the_table_are_cublas_s",
                  "cublasGemmEx -> cuBLAS: its types and its compute type are none of FP32, TF32, BF16 and "
                  "FP16 with FP32 sums");
    assert_logged("tensor_cores_are_used_unless_the_math_mode_is_pedantic",
                  "-> cuBLAS: its math mode is neither the default nor TF32");
    assert_logged("partial_sums_in_16_bits_answer_no_call",
                  "cublasGemmEx bf16gemm:nn:16x24x40 -> cuBLAS: no winner is known for this problem");
    assert_logged("a_bias_is_of_the_type_of_d", "its bias is of another type than D");
    assert_logged("a_bias_is_of_the_type_of_d", "its bias is less aligned than its kernel requires");
    assert_logged("row_order_is_answered_as_column_order_is", "it has a bias, and D is in row order");
    assert_logged("an_algorithm_runs_in_the_cublaslt_that_the_program_has_loaded",
                  "the program has not loaded ");
    assert_logged("an_algorithm_of_another_version_answers_nothing",
                  "nothing here can compute bf16gemm:nn:16x24x32: cublasLt is of version 130200, and its "
                  "algorithm was judged with 130100: tune again");
    assert_logged(
        "tf32_is_answered_where_it_is_asked_for",
        "cublasGemmEx tf32gemm:nn:16x24x40 -> cuBLAS: its winner was compared with cuBLAS in another "
        "type only");
}

static void a_type_that_the_gpu_lacks_is_cublas_s(void **state)
{
    (void)state;
    setenv("FAKE_GPU_ARCH", "75", 1);
    setenv("NO_WINNERS", "1", 1);
    assert_logged("sixteen_bits_are_answered_in_every_form", "-> cuBLAS: the GPU has no units for its type");
    const char *text = scenario_capture("sixteen_bits_are_answered_in_every_form");
    assert_non_null(strstr(text, "\n# left out: count=16 the GPU has no units for its type\n"));
    assert_null(strstr(text, "bf16gemm"));
    assert_non_null(strstr(text, "\nhgemm:nn:16x24x32:beta=1  # count=5\n"));
    unsetenv("FAKE_GPU_ARCH");
    unsetenv("NO_WINNERS");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(the_capture_names_the_type),
        cmocka_unit_test(tf32_is_captured_as_such),
        cmocka_unit_test(the_log_says_why_a_call_is_passed_on),
        cmocka_unit_test(a_type_that_the_gpu_lacks_is_cublas_s),
    };
    return dropin_main(argc, argv, "test_dropin_types", scenarios, sizeof scenarios / sizeof *scenarios, left,
                       sizeof left / sizeof *left);
}
