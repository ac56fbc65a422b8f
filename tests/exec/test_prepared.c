/* Prepared operands with kernels executed on the CPU: the bits of the product without. */
#include "cpu_kernel.h"
#include "unit.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

#define HALF "bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=2 VA=1 VB=1 VC=1 GROUP=1 SMS=2 SPLIT_K="
#define BASE "bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SMS=2 SPLIT_K="

/* Of all magnitudes, with an infinity. */
static float *some_floats(int64_t count)
{
    float *const made = malloc(sizeof(float) * ((size_t)count + 1));
    assert_non_null(made);
    for (int64_t i = 0; i < count; i++)
        made[i] = ((float)(rand() % 65536) - 32768 + 1.0F / (float)(rand() % 97 + 1)) * (i % 3 ? 1 : 1e-6F);
    return made;
}

static void run(const struct cpu_kernel *kernel, const struct problem *p, int prepared, const float *a,
                const float *b, float *c)
{
    const struct run_mode mode = {.seed = 1, .prepared = prepared};
    const struct cpu_operands operands = {.a = a, .b = b, .c = c};
    for (int64_t i = 0; i < problem_span_c(p); i++) c[i] = (float)(i % 7);
    cpu_kernel_run(kernel, p, &mode, &operands);
}

/* With A prepared (1), or B (2): from `first` to `last`. */
static void assert_same_bits_of(const char *config_line, const char *text, int first, int last)
{
    struct config config;
    struct problem p;
    struct cpu_kernel kernel;
    assert_ok(config_parse(config_line, &config));
    assert_ok(problem_parse(text, &p));
    assert_ok(cpu_kernel_build(&config, &p, NULL, 0, &kernel));
    float *const a = some_floats(problem_span_a(&p)), *const b = some_floats(problem_span_b(&p));
    const int64_t span = problem_span_c(&p);
    float *const plain = some_floats(span), *const prepared = some_floats(span);
    a[3] = 1e30F, b[5] = -1e30F, b[6] = INFINITY;
    run(&kernel, &p, 0, a, b, plain);
    for (int which = first; which <= last; which++) {
        run(&kernel, &p, which, a, b, prepared);
        for (int64_t i = 0; i < span; i++)
            if (memcmp(&plain[i], &prepared[i], sizeof *plain) != 0)
                fail_msg("%s, %c prepared: C[%lld] is %a, without %a", text, "ab"[which - 1], (long long)i,
                         (double)prepared[i], (double)plain[i]);
    }
    free(a);
    free(b);
    free(plain);
    free(prepared);
    cpu_kernel_close(&kernel);
}

static void assert_same_bits(const char *config_line, const char *text)
{
    assert_same_bits_of(config_line, text, 1, 2);
}

TEST(products_with_a_prepared_operand_have_the_same_bits)
{
    assert_same_bits(BASE "1", "sgemm_accurate:nt:70x33x130:beta=1");
    assert_same_bits(BASE "1", "sgemm_accurate:nt:1x16x64");
    assert_same_bits(BASE "1", "sgemm_accurate:nt:65x40x100:batch=3");
    assert_same_bits(BASE "1", "sgemm_accurate:nt:65x40x100:batch=3:stride_b=0");
    assert_same_bits(BASE "2", "sgemm_accurate:nt:70x33x200:batch=2:stride_a=0"); /* parts in the workspace */
    assert_same_bits(BASE "1", "sgemm_accurate:tn:70x33x130");
}

TEST(a_prepared_right_operand_leaves_nothing_to_the_kernel_that_splits)
{
    assert_same_bits_of(HALF "1", "sgemm_accurate:nt:65x40x100:batch=3", 2, 2);
    assert_same_bits_of(HALF "2", "sgemm_accurate:nn:70x33x200:batch=2:stride_b=0:ldb=36", 2, 2);
    assert_same_bits_of(
        "bf16x6 BM=16 BN=64 BK=64 STAGES=4 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=1 SMS=2 SPLIT_K=1",
        "sgemm_accurate:nt:30x70x100", 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_a_prepared_operand_have_the_same_bits),
        cmocka_unit_test(a_prepared_right_operand_leaves_nothing_to_the_kernel_that_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
