/* The runtime library on a real GPU: products of BF16 and FP16 elements. Skipped (77) without one. With
 * TYPES_DB=FILE the winners of that database are used, of problems tuned before; else cuBLAS computes.
 */
#include "gpu_tests.h"

#include "gemmtune.h"
#include "public_problem.h"

#include <math.h>

/* Of a whole number that the type holds exactly. */
static uint32_t bits_of(enum element element, int whole)
{
    const float x = (float)whole;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (element == ELEMENT_F32) return bits;
    if (element == ELEMENT_BF16 || whole == 0) return bits >> 16;
    return (bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112) << 10 | (bits >> 13 & 0x3ffu);
}

/* Elements on the host as the GPU has them, and the whole numbers that they are. */
struct matrix {
    enum element element;
    int64_t count;
    unsigned char *bytes;
    int *whole;
    struct device_buffer there;
};

static void put(const struct matrix *m, int64_t i, int whole)
{
    const uint32_t bits = bits_of(m->element, whole);
    memcpy(m->bytes + i * element_bytes(m->element), &bits,
           (size_t)element_bytes(m->element)); /* little-endian */
}

static struct matrix random_matrix(enum element element, int64_t count, uint64_t seed)
{
    const size_t bytes = (size_t)count * (size_t)element_bytes(element);
    struct matrix m = {element, count, malloc(bytes), malloc(sizeof *m.whole * (size_t)count), {0}};
    assert_true(m.bytes && m.whole);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        m.whole[i] = (int)(seed >> 33) % 3 - 1;
        put(&m, i, m.whole[i]);
    }
    assert_ok(device_allocate(&m.there, bytes));
    assert_ok(device_check(cuda.MemcpyHtoD(m.there.address, m.bytes, bytes), "copy in"));
    return m;
}

static void matrix_free(struct matrix *m)
{
    device_free(&m->there);
    free(m->bytes);
    free(m->whole);
}

static void *place(const struct matrix *m)
{
    return (void *)(uintptr_t)m->there.address;
}

/* C as it must be, in place of C. */
static void compute(const struct problem *p, const struct matrix *a, const struct matrix *b, struct matrix *c)
{
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int *of_a = a->whole + item * p->stride_a, *of_b = b->whole + item * p->stride_b;
                const int64_t at = item * p->stride_c + i * p->ldc + j;
                int sum = (int)p->beta * c->whole[at];
                for (int64_t k = 0; k < p->k; k++)
                    sum += (p->trans_a ? of_a[k * p->lda + i] : of_a[i * p->lda + k]) *
                           (p->trans_b ? of_b[j * p->ldb + k] : of_b[k * p->ldb + j]);
                put(c, at, sum);
            }
}

static void check_product(struct gt_handle *handle, const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    const struct gemm_type_row *type = gemm_type_row(p.type);
    struct matrix a = random_matrix(type->a, problem_span_a(&p), 1),
                  b = random_matrix(type->b, problem_span_b(&p), 2),
                  c = random_matrix(type->c, problem_span_c(&p), 3);
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
    compute(&p, &a, &b, &c);
    const size_t bytes = (size_t)c.count * (size_t)element_bytes(c.element);
    unsigned char *got = malloc(bytes);
    assert_non_null(got);
    assert_ok(device_check(cuda.MemcpyDtoH(got, c.there.address, bytes), "copy out"));
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != c.bytes[i])
            fail_msg("%s: byte %zu of C is %02x, not %02x", text, i, got[i], c.bytes[i]);
    free(got);
    gt_plan_close(plan);
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
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
