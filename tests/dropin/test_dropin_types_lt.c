/* Calls of cublasLt with 16-bit elements under the drop-in, and the algorithms of cublasLt that answer calls:
 * whose library runs them, and when.
 */
#include "dropin_types.h"

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

static const struct scenario scenarios[] = {
    SCENARIO(row_order_is_answered_as_column_order_is),
    SCENARIO(orders_may_differ),
    SCENARIO(a_bias_is_of_the_type_of_d),
    SCENARIO(what_does_not_fit_together_is_cublaslt_s),
    SCENARIO(an_algorithm_runs_in_the_cublaslt_that_the_program_has_loaded),
    SCENARIO(an_algorithm_is_captured_once_it_is_prepared),
    SCENARIO(an_algorithm_of_another_version_answers_nothing),
    SCENARIO(an_algorithm_answers_strict_fp32_as_a_kernel_does),
};

static void the_log_says_why_a_call_is_passed_on(void **state)
{
    (void)state;
    assert_logged("a_bias_is_of_the_type_of_d", "its bias is of another type than D");
    assert_logged("a_bias_is_of_the_type_of_d", "its bias is less aligned than its kernel requires");
    assert_logged("row_order_is_answered_as_column_order_is", "it has a bias, and D is in row order");
    assert_logged("an_algorithm_runs_in_the_cublaslt_that_the_program_has_loaded",
                  "the program has not loaded ");
    assert_logged("an_algorithm_of_another_version_answers_nothing",
                  "nothing here can compute bf16gemm:nn:16x24x32: cublasLt is of version 130200, and its "
                  "algorithm was judged with 130100: tune again");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(the_log_says_why_a_call_is_passed_on),
    };
    return dropin_main(argc, argv, "test_dropin_types_lt", scenarios, sizeof scenarios / sizeof *scenarios,
                       left, sizeof left / sizeof *left);
}
