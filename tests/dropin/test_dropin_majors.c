/* Several majors of cuBLAS: each caller's calls and handles arrive at its own, and none is loaded that the
 * program did not load. */
#include "dropin_main.h"
#include "program_half.h"
#include "runtime_fakes.h"

#define PROBLEM "sgemm:nn:16x24x32"

static void *half_open(const char *file, int scope)
{
    void *half = dlopen(file, RTLD_NOW | scope);
    if (!half) fail_msg("%s", dlerror());
    return half;
}

static bool is_mapped(const char *name)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

/* A half of the program multiplies right; kernels of ours or calls of its own cuBLAS. */
static void check_half(void *half, bool tuned)
{
    struct half_calls calls;
    struct operand_set o = operands_make(PROBLEM, 0);
    CUstream own;
    __typeof__(half_run) *run;
    cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING);
    *(void **)&run = dlsym(half, "half_run");
    assert_non_null(run);
    *fake.launch_count = 0;
    run(o.a, o.b, o.c, own, &calls);
    assert_int_equal(calls.status, 0);
    assert_int_equal(calls.lt_status, 0);
    assert_int_equal(calls.arrived, !tuned);
    assert_int_equal(calls.lt_arrived, !tuned);
    assert_int_equal(*fake.launch_count, 2 * tuned);
    if (tuned) assert_ptr_equal(fake.launches[0].stream, own); /* its own cuBLAS knows the handle's */
    operands_check(&o, 1, "a half");
    operands_free(&o);
    cuda.StreamDestroy(own);
}

static void both_halves(int scope, bool tuned)
{
    use_primary_context();
    void *half_12 = half_open(HALF_12, scope), *half_13 = half_open(HALF_13, scope);
    for (int i = 0; i < 2; i++) {
        check_half(half_12, tuned);
        check_half(half_13, tuned);
    }
}

TEST(each_caller_reaches_its_own)
{
    both_halves(RTLD_GLOBAL, false);
}

TEST(each_caller_reaches_its_own_that_is_loaded_for_it_alone)
{
    both_halves(RTLD_LOCAL, false);
}

TEST(each_callers_handle_is_asked_at_its_own)
{
    put_winner(PROBLEM, SIMT, 5, false);
    both_halves(RTLD_GLOBAL, true);
}

TEST(only_what_the_program_has_loaded_is_called)
{
    use_primary_context();
    check_half(half_open(HALF_12, RTLD_LOCAL), false);
    assert_true(is_mapped("libcublas.so.12"));
    assert_false(is_mapped("libcublas.so.13"));
}

TEST(a_major_that_is_not_known_is_left_alone)
{
    use_primary_context();
    check_half(half_open(HALF_14, RTLD_LOCAL), false);
    assert_true(is_mapped("libcublas.so.14"));
    assert_false(is_mapped("libcublas.so.13"));
}

TEST(a_cublas_under_another_name_is_found)
{
    use_primary_context();
    check_half(half_open(HALF_RENAMED, RTLD_LOCAL), false);
    assert_false(is_mapped("libcublas.so.1"));
}

static void without_a_cublas_a_call_says_so_until_there_is_one(void **state)
{
    enum { NOT_INITIALIZED = 1 };
    static float memory[16];
    const float one = 1;
    blas_handle handle = (blas_handle)(void *)memory;
    __typeof__(cublasSgemm_v2) *sgemm;
    __typeof__(cublasSetStream_v2) *set_stream;
    __typeof__(cublasDestroy_v2) *destroy;
    __typeof__(cublasLtMatmul) *matmul;
    (void)state;
    use_primary_context();
    *(void **)&sgemm = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
    *(void **)&set_stream = dlsym(RTLD_DEFAULT, "cublasSetStream_v2");
    *(void **)&destroy = dlsym(RTLD_DEFAULT, "cublasDestroy_v2");
    *(void **)&matmul = dlsym(RTLD_DEFAULT, "cublasLtMatmul");
    assert_true(sgemm && set_stream && destroy && matmul);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sgemm(handle, 0, 0, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1),
                         NOT_INITIALIZED);
        assert_int_equal(set_stream(handle, NULL), NOT_INITIALIZED);
        assert_int_equal(destroy(handle), NOT_INITIALIZED);
        assert_int_equal(matmul(NULL, NULL, &one, memory, NULL, memory, NULL, &one, memory, NULL, memory,
                                NULL, NULL, NULL, 0, NULL),
                         NOT_INITIALIZED);
    }
    assert_false(is_mapped("libcublas.so"));
    void *half = half_open(HALF_12, RTLD_LOCAL);
    __typeof__(cublasCreate_v2) *create;
    *(void **)&create = dlsym(half, "cublasCreate_v2");
    assert_int_equal(create(&handle), 0);
    assert_int_equal(set_stream(handle, NULL), 0);
    assert_int_equal(sgemm(handle, 0, 0, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1), 0);
    assert_int_equal(destroy(handle), 0);
    check_half(half, false);
}

#define SWITCHED_OFF(function)                                                                               \
    {                                                                                                        \
#function "_switched_off", function, "GEMMTUNE_DROPIN", "off"                                        \
    }

static const struct scenario scenarios[] = {
    SCENARIO(each_caller_reaches_its_own),
    SWITCHED_OFF(each_caller_reaches_its_own),
    SCENARIO(each_caller_reaches_its_own_that_is_loaded_for_it_alone),
    SWITCHED_OFF(each_caller_reaches_its_own_that_is_loaded_for_it_alone),
    SCENARIO(each_callers_handle_is_asked_at_its_own),
    SCENARIO(only_what_the_program_has_loaded_is_called),
    SWITCHED_OFF(only_what_the_program_has_loaded_is_called),
    SCENARIO(a_major_that_is_not_known_is_left_alone),
    SWITCHED_OFF(a_major_that_is_not_known_is_left_alone),
    SCENARIO(a_cublas_under_another_name_is_found),
    SCENARIO(without_a_cublas_a_call_says_so_until_there_is_one),
    SWITCHED_OFF(without_a_cublas_a_call_says_so_until_there_is_one),
};

int main(int argc, char **argv)
{
    setenv("LD_LIBRARY_PATH", MAJORS, 1); /* all of them lie there to be found */
    return dropin_main(argc, argv, "test_dropin_majors", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}
