/* The runtime library on a real GPU: products of BF16 and FP16 elements. Skipped (77) without one. With
 * TYPES_DB=FILE the winners of that database are used, of problems tuned before; else cuBLAS computes.
 */
#include "whole_matrix.h"

#include "gemmtune.h"
#include "public_problem.h"

static void check_product(struct gt_handle *handle, const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    const struct gemm_type_row *type = gemm_type_row(p.type);
    struct matrix a = random_matrix(type->a, problem_span_a(&p), 1),
                  b = random_matrix(type->b, problem_span_b(&p), 2),
                  c = random_matrix(type->c, problem_span_c(&p), 3), bias = random_matrix(type->c, 0, 4);
    struct gt_problem said = public_problem(&p);
    if (p.beta != 0) said.flags |= GT_ADDS_TO_C; /* so that the plan described is the one that is launched */
    const float alpha = (float)p.alpha, beta = (float)p.beta;
    struct gt_call call = gt_call_make(&alpha, place(&a), place(&b), &beta, place(&c), NULL);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    if (gt_plan_open(handle, &said, &plan) || gt_launch(plan, &call))
        fail_msg("%s: %s", text, gt_error_text());
    assert_ok(device_check(cuda.CtxSynchronize(), text));
    if (gt_plan_describe(plan, &info)) fail_msg("%s: %s", text, gt_error_text());
    printf("%s: %.60s (%s)\n", text, info.config, info.why);
    if (getenv("TYPES_DB"))
        assert_int_equal(info.source, GT_EXACT); /* also after the launch: it was not refused */
    compute(&p, &a, &b, &bias, &c);
    matrix_check(&c, text);
    gt_plan_close(plan);
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
    matrix_free(&bias);
}

/* Sums of at most 128 products of 0 and 1 are exact in both types. */
TEST(products_of_16_bit_elements_are_right)
{
    static const char *const texts[] = {"bf16gemm:nn:256x256x64",
                                        "hgemm:nn:256x256x64",
                                        "bf16gemm:nt:33x65x127:beta=1",
                                        "hgemm:tn:40x24x128:batch=3",
                                        "hgemm:tt:17x9x33:lda=21:ldb=40:ldc=12",
                                        "bf16gemm:nt:64x48x32:c=f32",
                                        "hgemm:nn:33x17x65:c=f32:beta=1"};
    const struct gt_options options = {
        .size = sizeof options, .database = getenv("TYPES_DB"), .pretuned = ""};
    struct gt_handle *handle;
    if (gt_open(&handle, &options)) fail_msg("%s", gt_error_text());
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_product(handle, texts[i]);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_16_bit_elements_are_right)};
    return no_gpu() ? SKIPPED : cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
