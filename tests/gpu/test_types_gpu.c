/* The runtime library on a real GPU: products of BF16 and FP16 elements. Skipped (77) without one. With
 * TYPES_DB=FILE the winners of that database are used, of problems tuned before; else cuBLAS computes.
 */
#include "gpu_tests.h"

#include "gemmtune.h"
#include "public_problem.h"

#include <math.h>

/* Of a whole number that the type holds exactly. */
static uint16_t half_of(enum element element, int whole)
{
    const float x = (float)whole;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (element == ELEMENT_BF16 || whole == 0) return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112) << 10 | (bits >> 13 & 0x3ffu));
}

static uint16_t *random_halves(enum element element, int64_t count, uint64_t seed, int **wholes)
{
    uint16_t *halves = malloc(2 * (size_t)count);
    *wholes = malloc(sizeof **wholes * (size_t)count);
    assert_true(halves && *wholes);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        (*wholes)[i] = (int)(seed >> 33) % 3 - 1;
        halves[i] = half_of(element, (*wholes)[i]);
    }
    return halves;
}

static void check_product(struct gt_handle *handle, const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    const enum element element = gemm_type_row(p.type)->a;
    const int64_t spans[] = {problem_span_a(&p), problem_span_b(&p), problem_span_c(&p)};
    struct device_buffer buffer[3];
    uint16_t *half[3];
    int *whole[3];
    for (int i = 0; i < 3; i++) {
        half[i] = random_halves(element, spans[i], (uint64_t)i + 1, &whole[i]);
        assert_ok(device_allocate(&buffer[i], 2 * (size_t)spans[i]));
        assert_ok(device_check(cuda.MemcpyHtoD(buffer[i].address, half[i], 2 * (size_t)spans[i]), "copy in"));
    }
    struct gt_problem said = public_problem(&p);
    if (p.beta != 0) said.flags |= GT_ADDS_TO_C; /* so that the plan described is the one that is launched */
    const float alpha = (float)p.alpha, beta = (float)p.beta;
    struct gt_call call =
        gt_call_make(&alpha, (void *)(uintptr_t)buffer[0].address, (void *)(uintptr_t)buffer[1].address,
                     &beta, (void *)(uintptr_t)buffer[2].address, NULL);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    if (gt_plan_open(handle, &said, &plan) || gt_plan_describe(plan, &info) || gt_launch(plan, &call))
        fail_msg("%s: %s", text, gt_error_text());
    assert_ok(device_check(cuda.CtxSynchronize(), text));
    if (gt_plan_describe(plan, &info)) fail_msg("%s: %s", text, gt_error_text());
    printf("%s: %.60s (%s)\n", text, info.config, info.why);
    if (getenv("TYPES_DB"))
        assert_int_equal(info.source, GT_EXACT); /* also after the launch: it was not refused */
    uint16_t *got = malloc(2 * (size_t)spans[2]);
    assert_non_null(got);
    assert_ok(device_check(cuda.MemcpyDtoH(got, buffer[2].address, 2 * (size_t)spans[2]), "copy out"));
    for (int64_t item = 0; item < p.batch; item++)
        for (int64_t i = 0; i < p.m; i++)
            for (int64_t j = 0; j < p.n; j++) {
                const int *a = whole[0] + item * p.stride_a, *b = whole[1] + item * p.stride_b;
                const int64_t at = item * p.stride_c + i * p.ldc + j;
                int sum = (int)p.beta * whole[2][at];
                for (int64_t k = 0; k < p.k; k++)
                    sum += (p.trans_a ? a[k * p.lda + i] : a[i * p.lda + k]) *
                           (p.trans_b ? b[j * p.ldb + k] : b[k * p.ldb + j]);
                if (got[at] != half_of(element, sum))
                    fail_msg("%s: C[%lld,%lld] has the bits %04x, not those of %d", text, (long long)i,
                             (long long)j, got[at], sum);
            }
    free(got);
    gt_plan_close(plan);
    for (int i = 0; i < 3; i++) {
        free(half[i]);
        free(whole[i]);
        device_free(&buffer[i]);
    }
}

/* Sums of at most 128 products of 0 and 1 are exact in both types. */
TEST(products_of_16_bit_elements_are_right)
{
    static const char *const texts[] = {"bf16gemm:nn:256x256x64", "hgemm:nn:256x256x64",
                                        "bf16gemm:nt:33x65x127:beta=1", "hgemm:tn:40x24x128:batch=3",
                                        "hgemm:tt:17x9x33:lda=21:ldb=40:ldc=12"};
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
