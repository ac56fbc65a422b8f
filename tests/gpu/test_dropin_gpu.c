/* test_dropin_gpu.c — test_dropin_gpu [DROPIN [winners]]: calls of cuBLAS and cublasLt in BF16 and FP16 on a
 * real GPU under the drop-in, checked bit by bit. Prints where the calls went, as the drop-in's log says.
 * winners: at least one must have gone to a winner (GEMMTUNE_DB; test_dropin_gpu.sh tunes them). Exits with
 * 77 without a GPU or cuBLAS.
 */
#include "half_sets.h"

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

static void by_blas(struct half_set *s, const char *text, int math)
{
    const float alpha = (float)s->problem.alpha, beta = (float)s->problem.beta;
    assert_int_equal(blas.SetMathMode(handle, math), 0);
    half_set_fill(s, HALF_C);
    assert_int_equal(blas_run(handle, &s->problem, s->buffer[HALF_A].address, s->buffer[HALF_B].address,
                              s->buffer[HALF_C].address, &alpha, &beta),
                     0);
    half_set_check(s, text);
}

static void by_lt(struct half_set *s, const char *text)
{
    struct blas_lt_product product = {.handle = lt, .problem = s->problem, .compute = BLAS_COMPUTE_32F};
    const float alpha = (float)s->problem.alpha, beta = (float)s->problem.beta;
    void *c = half_set_at(s, HALF_C);
    blas_lt_object desc = NULL;
    assert_int_equal(blas_lt_describe(&product) || blas_lt_make_desc(&product, &desc), 0);
    if (s->problem.epilogue) assert_int_equal(blas_lt_set_bias(desc, half_set_at(s, HALF_BIAS)), 0);
    half_set_fill(s, HALF_C);
    assert_int_equal(blas_lt.Matmul(lt, desc, &alpha, half_set_at(s, HALF_B), product.a,
                                    half_set_at(s, HALF_A), product.b, &beta, c, product.c, c, product.c,
                                    NULL, NULL, 0, device.stream),
                     0);
    half_set_check(s, text);
    blas_lt.DescDestroy(desc);
    blas_lt_close(&product);
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
                                        "bf16gemm:nt:512x768x512:epilogue=bias"};
    const char *path = in_folder("log");
    assert_non_null(freopen(path, "w", stderr));
    assert_int_equal(blas.Create(&handle) || blas.SetStream(handle, device.stream) || blas_lt.Create(&lt), 0);
    call_like_a_program();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct half_set s;
        half_set_make(&s, texts[i]);
        for (int again = 0; again < 3; again++) {
            if (!s.problem.epilogue) by_blas(&s, texts[i], BLAS_DEFAULT_MATH);
            if (!s.problem.epilogue) by_blas(&s, texts[i], WIDE_SUMS);
            by_lt(&s, texts[i]);
        }
        half_set_free(&s);
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
