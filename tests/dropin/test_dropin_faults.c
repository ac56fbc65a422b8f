/* The drop-in where kernels are missing, fail or are not wanted, in captures and in threads. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <pthread.h>

/* ---- graphs, failures ---- */

static void a_kernel_that_is_not_there_yet_is_not_prepared_in_a_capture(void **state)
{
    CUgraph graph;
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_went(sgemm_of(&o), 0, 1);
    assert_int_equal(*fake.compilations, 0);
    cuda.StreamEndCapture(stream, &graph);
    assert_went(sgemm_of(&o), 1, 0);
    cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_went(sgemm_of(&o), 1, 0);
    assert_true(fake.launches[0].captured);
    cuda.StreamEndCapture(stream, &graph);
    operands_free(&o);
}

TEST(a_kernel_that_cannot_be_built_leaves_its_calls_to_cublas)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 0, 1);
    operands_check(&o, 1, "without a compiler");
    assert_went(sgemm_of(&o), 0, 1);
    operands_free(&o);
}

TEST(a_launch_that_fails_is_computed_by_cublas_where_it_may)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 1, 0);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=999", 1);
    assert_went(sgemm_of(&o), 0, 1);
    unsetenv("FAKE_GPU_FAIL");
    operands_check(&o, 1, "after a failed launch");
    assert_went(sgemm_of(&o), 0, 1); /* it is not tried again */
    operands_free(&o);
}

static void a_launch_that_fails_while_adding_to_c_is_an_error(void **state)
{
    enum { EXECUTION_FAILED = 13 };
    (void)state;
    put_winner("sgemm:nn:16x24x32:beta=1", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm(&o, &one, &one), 1, 0);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=999", 1);
    assert_int_equal(sgemm(&o, &one, &one), EXECUTION_FAILED);
    unsetenv("FAKE_GPU_FAIL");
    operands_free(&o);
}

TEST(without_a_context_or_when_switched_off_everything_passes)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    assert_int_equal(cublasCreate_v2(&blas_context), 0);
    cublasSetStream_v2(blas_context, stream);
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&o), 0, 1); /* no context is current */
    cublasDestroy_v2(blas_context);
    arrive();
    assert_went(sgemm_of(&o), getenv("EXPECT_KERNEL") ? 1 : 0, getenv("EXPECT_KERNEL") ? 0 : 1);
    operands_free(&o);
}

TEST(similar_problems_count_only_when_asked_for)
{
    put_winner("sgemm:nn:4096x4096x4096", SIMT_LARGE, 2500, false);
    arrive();
    *fake.computes = 0;
    program_blas_idle = 1;
    static float memory[4];
    bool nearest = getenv("GEMMTUNE_DROPIN") != NULL;
    assert_went(cublasSgemm_v2(blas_context, 0, 0, 4096, 4000, 4096, &one, memory, 4096, memory, 4096, &zero,
                               memory, 4096),
                nearest, !nearest);
}

/* ---- threads ---- */

static void *call_often(void *operands)
{
    use_primary_context();
    for (int i = 0; i < 5; i++)
        if (sgemm_of(operands)) return operands;
    return NULL;
}

static void threads_share_one_kernel(void **state)
{
    enum { THREADS = 8 };
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    pthread_t thread[THREADS];
    struct operand_set o[THREADS];
    for (int i = 0; i < THREADS; i++) o[i] = operands_make("sgemm:nn:16x24x32", 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, &o[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
        operands_check(&o[i], 1, "one of many threads");
        operands_free(&o[i]);
    }
    assert_int_equal(*fake.launch_count, THREADS * 5);
    assert_int_equal(*fake.compilations, 1);
    assert_int_equal(program_blas_calls, 0);
}

static const struct scenario scenarios[] = {
    SCENARIO(a_kernel_that_is_not_there_yet_is_not_prepared_in_a_capture),
    SCENARIO(a_kernel_that_cannot_be_built_leaves_its_calls_to_cublas),
    SCENARIO(a_launch_that_fails_is_computed_by_cublas_where_it_may),
    SCENARIO(a_launch_that_fails_while_adding_to_c_is_an_error),
    {"everything_passes_when_switched_off", without_a_context_or_when_switched_off_everything_passes,
     "GEMMTUNE_DROPIN", "off"},
    {"everything_passes_when_switched_OFF", without_a_context_or_when_switched_off_everything_passes,
     "GEMMTUNE_DROPIN", "OFF"},
    {"everything_passes_when_it_is_0", without_a_context_or_when_switched_off_everything_passes,
     "GEMMTUNE_DROPIN", "0"},
    {"everything_passes_when_it_is_no", without_a_context_or_when_switched_off_everything_passes,
     "GEMMTUNE_DROPIN", "no"},
    {"everything_passes_when_the_switch_is_not_understood",
     without_a_context_or_when_switched_off_everything_passes, "GEMMTUNE_DROPIN", "of"},
    {"everything_passes_where_tf32_is_forced", without_a_context_or_when_switched_off_everything_passes,
     "NVIDIA_TF32_OVERRIDE", "1"},
    {"only_calls_without_a_context_pass_otherwise", without_a_context_or_when_switched_off_everything_passes,
     "EXPECT_KERNEL", "1"},
    SCENARIO(similar_problems_count_only_when_asked_for),
    {"similar_problems_count_when_asked_for", similar_problems_count_only_when_asked_for, "GEMMTUNE_DROPIN",
     "nearest"},
    SCENARIO(threads_share_one_kernel),
};

/* Those of vLLM. The first alone asks for equal bits in equal calls, which tuned kernels give, too. */
TEST(everything_passes_where_bits_must_not_depend_on_the_batch)
{
    setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
    setenv("CUBLASLT_WORKSPACE_SIZE", "1", 1);
    const char *text = scenario_log("everything_passes_when_switched_off");
    assert_non_null(strstr(text, "gemmtune: everything goes to cuBLAS: CUBLAS_WORKSPACE_CONFIG=:16:8 and "
                                 "CUBLASLT_WORKSPACE_SIZE=1 ask for bits that do not depend on the batch"));
    unsetenv("CUBLASLT_WORKSPACE_SIZE");
    setenv("EXPECT_KERNEL", "1", 1);
    assert_int_equal(scenario_start("only_calls_without_a_context_pass_otherwise", NULL), 0);
    unsetenv("EXPECT_KERNEL");
    unsetenv("CUBLAS_WORKSPACE_CONFIG");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(everything_passes_where_bits_must_not_depend_on_the_batch)};
    return dropin_main(argc, argv, "test_dropin_faults", scenarios, sizeof scenarios / sizeof *scenarios,
                       more, sizeof more / sizeof *more);
}
