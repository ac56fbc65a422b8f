/* test_dropin_gpu.c — test_dropin_gpu [DROPIN [winners]]: calls of cuBLAS and cublasLt in BF16 and FP16 on a
 * real GPU under the drop-in, checked bit by bit. Prints where the calls went, as the drop-in's log says.
 * winners: at least one must have gone to a winner (GEMMTUNE_DB; test_dropin_gpu.sh tunes them). Exits with
 * 77 without a GPU or cuBLAS.
 */
#include "whole_matrix.h"

#include "blas.h"
#include "blas_lt.h"
#include "library.h"

#include <dlfcn.h>

enum { WIDE_SUMS = 16 }; /* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION */

static blas_handle handle;
static blas_lt_handle lt;
static bool winners;

/* The functions that a program linked with cuBLAS calls: the drop-in's. */
static void call_like_a_program(void)
{
    const struct library_symbol seen[] = {{"cublasGemmEx", &blas.GemmEx},
                                          {"cublasGemmStridedBatchedEx", &blas.GemmBatchedEx},
                                          {"cublasLtMatmul", &blas_lt.Matmul}};
    __typeof__(blas.GemmEx) own = blas.GemmEx;
    assert_null(library_bind(RTLD_DEFAULT, seen, 3));
    if (own == blas.GemmEx) fail_msg("the drop-in is not preloaded");
}

/* A problem, its operands, and C as it is before a call. */
struct product {
    struct problem problem;
    const char *text;
    struct matrix a, b, c, bias;
};

static struct product product_make(const char *text)
{
    struct product x = {.text = text};
    assert_ok(problem_parse(text, &x.problem));
    const struct gemm_type_row *type = gemm_type_row(x.problem.type);
    x.a = random_matrix(type->a, problem_span_a(&x.problem), 1);
    x.b = random_matrix(type->b, problem_span_b(&x.problem), 2);
    x.bias = random_matrix(type->c, problem_span_bias(&x.problem), 4);
    return x;
}

static void product_free(struct product *x)
{
    matrix_free(&x->a);
    matrix_free(&x->b);
    matrix_free(&x->bias);
}

/* By cuBLAS under this math mode. */
static int by_blas(const struct product *x, int math, const float *alpha, const float *beta)
{
    const int result = blas.SetMathMode(handle, math);
    return result ? result
                  : blas_run(handle, &x->problem, x->a.there.address, x->b.there.address, x->c.there.address,
                             alpha, beta);
}

static int by_lt(const struct product *x, const float *alpha, const float *beta)
{
    struct blas_lt_product product = {.handle = lt, .problem = x->problem, .compute = BLAS_COMPUTE_32F};
    blas_lt_object desc = NULL;
    int result = blas_lt_describe(&product);
    if (!result) result = blas_lt_make_desc(&product, &desc);
    if (!result && x->problem.epilogue) result = blas_lt_set_bias(desc, place(&x->bias));
    if (!result)
        result =
            blas_lt.Matmul(lt, desc, alpha, place(&x->b), product.a, place(&x->a), product.b, beta,
                           place(&x->c), product.c, place(&x->c), product.c, NULL, NULL, 0, device.stream);
    if (desc) blas_lt.DescDestroy(desc);
    blas_lt_close(&product);
    return result;
}

enum { DEFAULT, WIDE, LT, WAYS };

static void check(struct product *x, int way)
{
    const float alpha = (float)x->problem.alpha, beta = (float)x->problem.beta;
    if (way != LT && x->problem.epilogue) return;
    x->c = random_matrix(gemm_type_row(x->problem.type)->c, problem_span_c(&x->problem), 3);
    const int result =
        way == LT ? by_lt(x, &alpha, &beta) : by_blas(x, way == WIDE ? WIDE_SUMS : 0, &alpha, &beta);
    if (result) fail_msg("%s: status %d", x->text, result);
    compute(&x->problem, &x->a, &x->b, &x->bias, &x->c);
    matrix_check(&x->c, x->text);
    matrix_free(&x->c);
}

/* What the drop-in said is printed. Calls that it answered at least. */
static int answered(const char *path)
{
    char line[1024];
    int count = 0;
    fflush(stderr);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log)) {
        count += strstr(line, "-> tuned kernel") != NULL;
        printf("%.200s%s", line, strlen(line) > 200 ? "...\n" : "");
    }
    fclose(log);
    return count;
}

/* Sums of K products of -1, 0 and 1: below 256, which BF16 holds exactly. */
TEST(calls_of_16_bits_are_right)
{
    static const char *const texts[] = {"bf16gemm:nn:64x64x2048",
                                        "hgemm:nn:64x64x2048",
                                        "bf16gemm:nt:8x2048x2048",
                                        "hgemm:tn:512x64x1024",
                                        "bf16gemm:nn:333x777x555",
                                        "hgemm:nt:256x256x512:batch=4",
                                        "bf16gemm:tt:256x512x128:beta=1",
                                        "hgemm:nn:65x33x127:ldc=40",
                                        "bf16gemm:nt:512x768x512:epilogue=bias",
                                        "hgemm:nt:64x128x1024:c=f32",
                                        "bf16gemm:nn:256x64x2048:c=f32:beta=1"};
    const char *path = in_folder("log");
    assert_non_null(freopen(path, "w", stderr));
    assert_int_equal(blas.Create(&handle) || blas.SetStream(handle, device.stream) || blas_lt.Create(&lt), 0);
    call_like_a_program();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct product x = product_make(texts[i]);
        for (int call = 0; call < 3 * WAYS; call++) check(&x, call % WAYS);
        product_free(&x);
    }
    const int count = answered(path);
    printf("%d of %zu problems went to a winner\n", count, sizeof texts / sizeof *texts);
    if (winners) assert_true(count > 0);
    blas_lt.Destroy(lt);
    blas.Destroy(handle);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_of_16_bits_are_right)};
    char version[16];
    winners = argc > 2 && strcmp(argv[2], "winners") == 0;
    if (no_gpu()) return SKIPPED;
    if (!getenv("LD_PRELOAD")) {
        setenv("LD_PRELOAD", argc > 1 ? argv[1] : DROPIN, 1);
        setenv("GEMMTUNE_LOG", "1", 1);
        execv("/proc/self/exe", argv);
    }
    if (blas_load(version) || blas_lt_load()) {
        printf("skipped: %s\n", status_text());
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
