/* The rival as an anchor, on a cuBLAS made of host memory. */
#include "fake_device.h"
#include "kernel.h"
#include "open_anchor.h"
#include "reference.h"
#include "rivals.h"

#include <stdio.h>

static float *random_floats(int64_t count)
{
    float *x = malloc((size_t)(count ? count : 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < count; i++) x[i] = (float)(rand() % 17 - 8);
    return x;
}

/* Run the rival on whole numbers; its C must be the reference's, padding included. */
static void rival_agrees(const char *text)
{
    struct problem p;
    struct kernel kernel;
    assert_ok(problem_parse(text, &p));
    assert_ok(open_anchor(&device, &p, &kernel));
    int64_t span_c = problem_span_c(&p);
    float *a = random_floats(problem_span_a(&p)), *b = random_floats(problem_span_b(&p));
    float *c = random_floats(span_c), *want = malloc((size_t)(span_c ? span_c : 1) * sizeof *want);
    assert_non_null(want);
    memcpy(want, c, (size_t)span_c * sizeof *c);
    struct operands operands = {
        .at = {(CUdeviceptr)(uintptr_t)a, (CUdeviceptr)(uintptr_t)b, (CUdeviceptr)(uintptr_t)c}};
    assert_ok(kernel.launch(kernel.self, &operands, p.alpha, p.beta));
    reference_ijk(&p, a, b, want);
    for (int64_t i = 0; i < span_c; i++)
        if (c[i] != want[i])
            fail_msg("%s: C[%lld] is %g, expected %g", text, (long long)i, (double)c[i], (double)want[i]);
    kernel_close(&kernel);
    free(a);
    free(b);
    free(c);
    free(want);
}

TEST(the_rival_computes_row_major_gemm_through_the_column_major_swap)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    static const char *const rests[] = {
        "5x7x3",
        "1x9x4",
        "9x1x4",
        "4x4x1",
        "5x7x3:lda=11:ldb=13:ldc=17:alpha=2:beta=-3",
        "6x5x4:batch=3:lda=8:ldb=9:ldc=10:stride_a=100:stride_b=99:stride_c=80:alpha=0.5:beta=1",
        "6x5x4:alpha=0:beta=2",
        "6x5x0:beta=2",
        "0x5x4",
        "5x0x4",
    };
    for (size_t o = 0; o < 4; o++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
            char text[PROBLEM_TEXT_MAX];
            snprintf(text, sizeof text, "sgemm:%s:%s", ops[o], rests[r]);
            rival_agrees(text);
        }
    assert_true(*blas_calls > 0);
    assert_int_equal(*blas_wide_calls, 0);
}

TEST(the_rival_uses_64_bit_sizes_only_where_an_int_does_not_hold_them)
{
    struct problem p;
    struct kernel kernel;
    float one[1] = {1};
    assert_ok(problem_parse("sgemm:nn:1x1x1:lda=2147483648", &p));
    assert_ok(open_anchor(&device, &p, &kernel));
    int before = *blas_wide_calls;
    struct operands operands = {
        .at = {(CUdeviceptr)(uintptr_t)one, (CUdeviceptr)(uintptr_t)one, (CUdeviceptr)(uintptr_t)one}};
    assert_ok(kernel.launch(kernel.self, &operands, 3, 0));
    assert_true(one[0] == 3);
    assert_int_equal(*blas_wide_calls, before + 1);
    kernel_close(&kernel);
}

/* The environment stays as it is; where it says TF32 or emulation cuBLAS is asked for a mode that knows
 * neither. */
TEST(the_rival_is_strict_fp32_whatever_the_environment_says)
{
    static const char *const variables[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"};
    enum { DEFAULT_MATH = 0, PEDANTIC_MATH = 2 };
    char version[16], path[256];
    struct problem p = problem_make(4, 4, 4);
    struct kernel kernel;
    for (int set = 0; set < 4; set++) { /* bit i: variable i */
        for (int i = 0; i < 2; i++)
            if (set & 1 << i) setenv(variables[i], "1", 1);
            else unsetenv(variables[i]);
        assert_ok(open_anchor(&device, &p, &kernel));
        assert_int_equal(*blas_math, set ? PEDANTIC_MATH : DEFAULT_MATH);
        kernel_close(&kernel);
        for (int i = 0; i < 2; i++)
            if (set & 1 << i) assert_string_equal(getenv(variables[i]), "1");
            else assert_null(getenv(variables[i]));
    }
    assert_ok(rival_version(version, path, sizeof path));
    assert_string_equal(version, "13.1.2");
    assert_string_equal(path, FAKE_GPU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKE(the_rival_computes_row_major_gemm_through_the_column_major_swap),
        ON_FAKE(the_rival_uses_64_bit_sizes_only_where_an_int_does_not_hold_them),
        ON_FAKE(the_rival_is_strict_fp32_whatever_the_environment_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
