/* FP32 under the drop-in that may be less than strict: TF32, the accuracy classes, and which winners answer
 * which of them.
 */
#include "dropin_types.h"

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

static const struct scenario scenarios[] = {
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
    {"with_a_log_tf32_is_answered_alike", tf32_is_answered_where_it_is_asked_for, "GEMMTUNE_LOG", "1"},
};

static void tf32_is_captured_as_such(void **state)
{
    (void)state;
    const char *text = scenario_capture("tf32_is_answered_where_it_is_asked_for");
    assert_non_null(strstr(text, "\ntf32gemm:nn:16x24x32  # count=10\n"));
    assert_non_null(strstr(text, "\nsgemm:nn:16x24x32  # count=6\n"));
    assert_non_null(strstr(text, "\n# left out: count=2 its math mode allows less than strict FP32\n"));
    assert_non_null(strstr(text, "\n# left out: count=2 its math mode is neither the default nor TF32\n"));
}

static void the_log_says_why_a_call_is_passed_on(void **state)
{
    (void)state;
    assert_logged("tf32_is_answered_where_it_is_asked_for",
                  "cublasGemmEx tf32gemm:nn:16x24x40 -> cuBLAS: no winner is known for this problem");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(tf32_is_captured_as_such),
        cmocka_unit_test(the_log_says_why_a_call_is_passed_on),
    };
    return dropin_main(argc, argv, "test_dropin_accuracy", scenarios, sizeof scenarios / sizeof *scenarios,
                       left, sizeof left / sizeof *left);
}
