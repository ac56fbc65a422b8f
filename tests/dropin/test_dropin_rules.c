/* What decides under the drop-in beside the problem's sizes: beta, modes that a handle or the environment
 * sets, handles and algorithms that the real library would refuse, exclusions, contexts, failures that pass.
 */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "files.h"

/* ---- scalars ---- */

static void a_winner_for_beta_0_answers_no_other_beta(void **state)
{
    static const float some = -2.5f;
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("sgemm:nn:32x24x32:beta=1", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0), p = operands_make("sgemm:nn:32x24x32", 0);
    assert_went(sgemm(&o, &one, &zero), 1, 0);
    operands_check(&o, 1, "beta 0");
    assert_went(sgemm(&o, &one, &one), 0, 1);
    assert_went(sgemm(&o, &some, &some), 0, 1);
    assert_went(sgemm(&o, &some, &zero), 1, 0); /* any alpha */
    assert_went(sgemm(&p, &one, &zero), 0, 1);
    assert_went(sgemm(&p, &one, &some), 1, 0);
    assert_went(sgemm(&p, &some, &one), 1, 0);
    cublasSetPointerMode_v2(blas_context, BLAS_DEVICE_SCALARS); /* what beta is cannot be known */
    assert_went(sgemm(&o, &one, &one), 1, 0);
    assert_went(sgemm(&p, &one, &one), 0, 1);
    operands_free(&o);
    operands_free(&p);
}

TEST(without_a_product_the_call_is_cublas_s)
{
    struct operand_set o = arrive_tuned_both("sgemm:nn:16x24x32", "", 0);
    assert_went(sgemm(&o, &zero, &zero), 0, 1);
    assert_went(sgemm(&o, &zero, &one), 0, 1);
    assert_went(sgemm(&o, &one, &one), 1, 0);
    operands_free(&o);
}

/* What the real library says to that is the real library's to say. */
TEST(matrices_that_are_not_there_are_cublas_s)
{
    struct operand_set o = arrive_tuned_both("sgemm:nn:16x24x32", "", 0);
    const float *betas[] = {&zero, &one};
    for (int i = 0; i < 2; i++) {
        struct operand_set none = o;
        assert_went(sgemm(&o, &one, betas[i]), 1, 0);
        program_blas_idle = 1;
        none.a = NULL;
        assert_went(sgemm(&none, &one, betas[i]), 0, 1);
        none.c = NULL;
        assert_went(sgemm(&none, &one, betas[i]), 0, 1);
        assert_went(sgemm(&o, NULL, betas[i]), 0, 1);
        assert_went(sgemm(&o, &one, NULL), 0, 1);
        program_blas_idle = 0;
        assert_went(sgemm(&o, &one, betas[i]), 1, 0);
    }
    operands_free(&o);
}

/* ---- modes ---- */

TEST(a_handle_with_a_number_of_multiprocessors_goes_to_cublas)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 1, 0);
    cublasSetSmCountTarget(blas_context, 64);
    assert_went(sgemm_of(&o), 0, 1);
    cublasSetSmCountTarget(blas_context, 0);
    assert_went(sgemm_of(&o), 1, 0);
    operands_free(&o);
}

static int gemm_ex_of(const struct operand_set *o, int compute)
{
    return cublasGemmEx(blas_context, 0, 0, 24, 16, 32, &one, o->b, BLAS_R_32F, 24, o->a, BLAS_R_32F, 32,
                        &zero, o->c, BLAS_R_32F, 24, compute, -1);
}

/* NVIDIA_TF32_OVERRIDE=0: whoever asks for TF32 gets strict FP32. */
static void tf32_is_answered_where_it_is_forbidden(void **state)
{
    enum { TF32_MATH = 3, FAST_16F = 74 };
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    const int kernels = override && strcmp(override, "0") == 0;
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    const int tf32 = BLAS_COMPUTE_32F_FAST_TF32;
    assert_went(gemm_ex_of(&o, BLAS_COMPUTE_32F_FAST_TF32), kernels, 1 - kernels);
    assert_went(gemm_ex_of(&o, FAST_16F), 0, 1);
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_COMPUTE_TYPE, &tf32, sizeof tf32);
    assert_went(lt_run(&x, &o, &zero, o.c), kernels, 1 - kernels);
    cublasSetMathMode(blas_context, TF32_MATH);
    assert_went(sgemm_of(&o), kernels, 1 - kernels);
    assert_went(gemm_ex_of(&o, BLAS_COMPUTE_32F), kernels, 1 - kernels);
    lt_free(&x);
    operands_free(&o);
}

/* ---- cublasLt ---- */

static int matmul(lt_handle handle, const struct lt_call *x, const struct operand_set *o,
                  const void *algorithm, size_t workspace_bytes)
{
    static char workspace[2 * PROGRAM_LT_WORKSPACE] __attribute__((aligned(256)));
    return cublasLtMatmul(handle, x->desc, &one, o->b, x->a, o->a, x->b, &zero, o->c, x->c, o->c, x->c,
                          algorithm, workspace, workspace_bytes, stream);
}

/* Answered by the real library, with its own status; so is not a call of ours. */
#define assert_refused(call)                                                                                 \
    do {                                                                                                     \
        *fake.launch_count = program_lt_calls = 0;                                                           \
        assert_int_not_equal((call), 0);                                                                     \
        assert_int_equal(*fake.launch_count, 0);                                                             \
        assert_int_equal(program_lt_calls, 1);                                                               \
    } while (0)

static void handles_and_algorithms_that_cublaslt_refuses_are_refused(void **state)
{
    static char foreign[4096];
    const struct lt_algorithm algorithm = {{PROGRAM_LT_ALGORITHM, 1}}, other = {{PROGRAM_LT_ALGORITHM, 2}},
                              invalid = {{1}};
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    for (int again = 0; again < 2; again++) {
        assert_refused(matmul(NULL, &x, &o, NULL, 0));
        assert_refused(matmul((lt_handle)(void *)foreign, &x, &o, NULL, 0));
        assert_went(matmul(lt_context, &x, &o, NULL, 0), 1, 0);
        assert_refused(matmul(lt_context, &x, &o, &invalid, PROGRAM_LT_WORKSPACE));
        assert_went(matmul(lt_context, &x, &o, &algorithm, PROGRAM_LT_WORKSPACE), 1, 0);
        assert_refused(matmul(lt_context, &x, &o, &algorithm, PROGRAM_LT_WORKSPACE - 1));
        assert_went(matmul(lt_context, &x, &o, &other, 2 * PROGRAM_LT_WORKSPACE), 1, 0);
        assert_refused(matmul(NULL, &x, &o, &algorithm, PROGRAM_LT_WORKSPACE));
    }
    lt_free(&x);
    operands_free(&o);
}

/* ---- contexts ---- */

static void a_context_that_was_reset_gets_kernels_of_its_own(void **state)
{
    CUcontext context;
    void (*reset)(void *);
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    *(void **)&reset = dlsym(dlopen(FAKE_GPU, RTLD_NOW), "fake_reset");
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    assert_went(sgemm_of(&o), 1, 0);
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    assert_int_equal(*fake.loads, 1);
    cuda.CtxGetCurrent(&context);
    reset(context);
    assert_went(sgemm_of(&o), 1, 0);
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    assert_int_equal(*fake.loads, 2);
    assert_went(sgemm_of(&o), 1, 0);
    assert_int_equal(*fake.loads, 2);
    lt_free(&x);
    operands_free(&o);
}

/* ---- failures ---- */

/* How many calls, at most so many, until one is answered by a kernel. */
static int calls_until_tuned(const struct operand_set *o, int most)
{
    for (int i = 1; i <= most; i++) {
        *fake.launch_count = 0;
        assert_int_equal(sgemm_of(o), 0);
        if (*fake.launch_count) return i;
    }
    return most + 1;
}

enum { SOME_CALLS = 1000 };

TEST(a_gpu_that_cannot_be_looked_at_is_looked_at_again)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    setenv("FAKE_GPU_FAIL", "cuDeviceTotalMem_v2=2", 1);
    assert_went(sgemm_of(&o), 0, 1);
    assert_went(sgemm_of(&o), 0, 1);
    unsetenv("FAKE_GPU_FAIL");
    assert_in_range(calls_until_tuned(&o, SOME_CALLS), 2, SOME_CALLS); /* not at every call */
    operands_free(&o);
}

/* True if the primary context stays when the program lets go of it, for a moment. */
static bool is_retained(void)
{
    unsigned flags;
    int active = -1;
    CUdevice device;
    CUcontext context;
    assert_int_equal(cuda.CtxGetDevice(&device), CUDA_SUCCESS);
    cuda.DevicePrimaryCtxRelease(device);
    assert_int_equal(cuda.DevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
    assert_int_equal(cuda.DevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    return active;
}

/* Most programs have none. */
TEST(without_a_winner_nothing_is_prepared_for_kernels)
{
    char folder[256];
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0),
                       other = operands_make("sgemm:nn:16x28x32", 0);
    snprintf(folder, sizeof folder, "%s/new", getenv("GEMMTUNE_CACHE")); /* the database had the other */
    setenv("GEMMTUNE_CACHE", folder, 1);
    assert_went(sgemm_of(&other), 0, 1);
    assert_int_not_equal(access(folder, F_OK), 0);
    assert_false(is_retained());
    assert_went(sgemm_of(&o), 1, 0);
    assert_int_equal(access(folder, F_OK), 0);
    assert_true(is_retained());
    operands_free(&o);
    operands_free(&other);
}

TEST(what_fails_for_good_is_not_tried_again)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    setenv("FAKE_NVRTC_REFUSES", "BM", 1);
    assert_went(sgemm_of(&o), 0, 1);
    unsetenv("FAKE_NVRTC_REFUSES");
    const int compilations = *fake.compilations;
    assert_int_equal(calls_until_tuned(&o, SOME_CALLS), SOME_CALLS + 1);
    assert_int_equal(*fake.compilations, compilations);
    operands_free(&o);
}

/* ---- exclusions ---- */

TEST(some_problems_are_excluded)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("sgemm:nn:16x24x32:beta=1", SIMT, 5, false);
    put_winner("sgemm:nt:16x24x32", SIMT, 5, false);
    put_winner("sgemm:nt:32x24x32", SIMT, 5, false);
    put_winner("sgemm:nn:32x24x32", SIMT, 5, false);
    arrive();
    static const char *const texts[] = {"sgemm:nn:16x24x32", "sgemm:nn:16x24x32:beta=1", "sgemm:nt:16x24x32",
                                        "sgemm:nt:32x24x32", "sgemm:nn:32x24x32"};
    const char *expected = getenv("EXPECT_KERNELS");
    for (int i = 0; i < 5; i++) {
        struct operand_set o = operands_make(texts[i], 0);
        int kernels = expected ? expected[i] == '1' : 1;
        assert_went(sgemm_of(&o), kernels, 1 - kernels);
        operands_check(&o, 1, texts[i]);
        operands_free(&o);
    }
}

static const struct scenario scenarios[] = {
    SCENARIO(a_winner_for_beta_0_answers_no_other_beta),
    SCENARIO(without_a_product_the_call_is_cublas_s),
    SCENARIO(matrices_that_are_not_there_are_cublas_s),
    SCENARIO(a_handle_with_a_number_of_multiprocessors_goes_to_cublas),
    SCENARIO(tf32_is_answered_where_it_is_forbidden),
    {"tf32_that_is_forbidden_is_answered", tf32_is_answered_where_it_is_forbidden, "NVIDIA_TF32_OVERRIDE",
     "0"},
    SCENARIO(handles_and_algorithms_that_cublaslt_refuses_are_refused),
    SCENARIO(a_context_that_was_reset_gets_kernels_of_its_own),
    SCENARIO(a_gpu_that_cannot_be_looked_at_is_looked_at_again),
    SCENARIO(without_a_winner_nothing_is_prepared_for_kernels),
    SCENARIO(what_fails_for_good_is_not_tried_again),
    SCENARIO(some_problems_are_excluded),
};

/* What the program said under GEMMTUNE_EXCLUDE=value; its calls must go as expected. */
static const char *exclude(const char *value, const char *expected)
{
    char path[] = "/tmp/gemmtune-log-XXXXXX";
    close(mkstemp(path));
    setenv("GEMMTUNE_EXCLUDE", value, 1);
    setenv("GEMMTUNE_LOG", "1", 1);
    setenv("EXPECT_KERNELS", expected, 1);
    int status = scenario_start("some_problems_are_excluded", path);
    unsetenv("GEMMTUNE_EXCLUDE");
    unsetenv("GEMMTUNE_LOG");
    unsetenv("EXPECT_KERNELS");
    const char *text = file_text(path);
    unlink(path);
    if (status) fail_msg("GEMMTUNE_EXCLUDE='%s': %d, %s", value, status, text);
    return text;
}

TEST(what_is_excluded_stays_with_cublas)
{
    const char *said = exclude("16x24x32, sgemm:nt:32x24x32:lda=32", "01101");
    assert_non_null(strstr(said, "sgemm:nn:16x24x32 -> cuBLAS: excluded by GEMMTUNE_EXCLUDE"));
    exclude("sgemm:nn:16x24x32*\nsgemm:nt:*", "00001");
    exclude("sgemm:*", "00000");
    exclude("*", "00000");
    exclude("", "11111");
    said = exclude("16x24,nn:4x4x4:lda=1 , 512*, sgemm:nn:32x24x32", "11110");
    assert_non_null(strstr(said, "gemmtune: GEMMTUNE_EXCLUDE: '16x24' is passed over: "));
    assert_non_null(strstr(said, "'nn:4x4x4:lda=1' is passed over: "));
    assert_non_null(strstr(said, "'512*' is passed over: a pattern is for a problem's full text"));
}

/* Whatever ends its lines. */
static void a_file_may_name_what_is_excluded(void **state)
{
    char path[] = "/tmp/gemmtune-list-XXXXXX", value[64];
    static const char *const lists[] = {
        "# problems, and how often\nsgemm:nn:16x24x32  # count=3 time_us=1, and more\n\nsgemm:nt:*\n",
        "# problems, and how often\rsgemm:nn:16x24x32  # count=3 time_us=1, and more\r\rsgemm:nt:*\r"};
    (void)state;
    close(mkstemp(path));
    snprintf(value, sizeof value, "@%s", path);
    for (int i = 0; i < 2; i++) {
        file_write(path, lists[i]);
        exclude(value, "01001");
    }
    unlink(path);
    assert_non_null(strstr(exclude(value, "00000"), "everything is excluded: "));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(what_is_excluded_stays_with_cublas),
        cmocka_unit_test(a_file_may_name_what_is_excluded),
    };
    return dropin_main(argc, argv, "test_dropin_rules", scenarios, sizeof scenarios / sizeof *scenarios, more,
                       sizeof more / sizeof *more);
}
