/* The driver layer without a GPU: a fake driver and a fake cuBLAS (fake_gpu.c) stand in. */
#include "cache.h"
#include "device.h"
#include "fake_gpu.h"
#include "kernel.h"
#include "nvml.h"
#include "open_anchor.h"
#include "reference.h"
#include "rivals.h"
#include "scratch_folder.h"
#include "trial_setup.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device device;

/* What the fake remembers, once it is loaded. */
static struct fake_launch *launches;
static int *launch_count, *attributes_set, *open_count, *blas_calls, *blas_wide_calls, *blas_math;

static int use_fake(void **state)
{
    (void)state;
    setenv("GEMMTUNE_LIBCUDA", FAKE_GPU, 1);
    setenv("GEMMTUNE_LIBCUBLAS", FAKE_GPU, 1);
    unsetenv("FAKE_GPU_VERSION");
    unsetenv("FAKE_GPU_FAIL");
    unsetenv("FAKE_GPU_THREADS");
    unsetenv("FAKE_GPU_SMEM");
    return 0;
}

static int open_fake(void **state)
{
    use_fake(state);
    if (device_open(0, &device)) return -1;
    void *fake = dlopen(FAKE_GPU, RTLD_NOW | RTLD_NOLOAD);
    if (!fake) return -1;
    launches = dlsym(fake, "fake_launches");
    launch_count = dlsym(fake, "fake_launch_count");
    attributes_set = dlsym(fake, "fake_attributes_set");
    open_count = dlsym(fake, "fake_open");
    blas_calls = dlsym(fake, "fake_blas_calls");
    blas_wide_calls = dlsym(fake, "fake_blas_wide_calls");
    blas_math = dlsym(fake, "fake_blas_math");
    *launch_count = 0;
    *open_count = 2; /* context and stream: one test's leak is not the next one's */
    memset(attributes_set, 0, 8 * sizeof *attributes_set);
    return make_folder(state);
}

static int close_fake(void **state)
{
    use_fake(state);
    device_close(&device);
    return remove_folder(state) || *open_count != 0; /* nothing may be left open */
}

TEST(without_a_driver_one_sentence_says_what_to_do)
{
    setenv("GEMMTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    assert_fails(device_load(), E_GPU, "no NVIDIA driver");
    assert_non_null(strstr(status_text(), "/nowhere/libcuda.so.1"));
    assert_non_null(strstr(status_text(), "install it"));
    int count;
    assert_int_equal(device_count(&count), E_GPU);
    struct device none;
    assert_int_equal(device_open(0, &none), E_GPU);
    device_close(&none);
}

TEST(a_driver_older_than_the_toolkit_is_refused_with_both_versions)
{
    char both[2][16];
    setenv("FAKE_GPU_VERSION", "11040", 1);
    snprintf(both[0], sizeof both[0], "CUDA %d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    assert_fails(device_load(), E_GPU, "CUDA 11.4");
    assert_non_null(strstr(status_text(), both[0]));
}

TEST(a_driver_that_does_not_start_says_why)
{
    setenv("FAKE_GPU_FAIL", "cuInit=100", 1);
    assert_fails(device_load(), E_GPU, "finds no GPU (CUDA_ERROR_NO_DEVICE)");
    setenv("FAKE_GPU_FAIL", "cuInit=34", 1);
    assert_fails(device_load(), E_GPU, "stub");
    setenv("FAKE_GPU_FAIL", "cuInit=803", 1);
    assert_fails(device_load(), E_GPU, "restart the machine");
    setenv("FAKE_GPU_FAIL", "cuInit=999", 1);
    assert_fails(device_load(), E_GPU, "CUDA error 999");
    assert_false(device_lost());
}

TEST(a_library_that_is_no_driver_is_refused)
{
    setenv("GEMMTUNE_LIBCUDA", "libm.so.6", 1);
    assert_fails(device_load(), E_GPU, "lacks cuInit");
}

TEST(attributes_become_the_gpu)
{
    const struct gpu *gpu = &device.gpu;
    assert_string_equal(gpu->name, "NVIDIA H200");
    assert_string_equal(gpu->id, "h200");
    assert_int_equal(gpu->arch, 90);
    assert_int_equal(gpu->sm_count, 132);
    assert_int_equal(gpu->threads_per_sm, 2048);
    assert_int_equal(gpu->blocks_per_sm, 32);
    assert_int_equal(gpu->registers_per_sm, 65536);
    assert_int_equal(gpu->smem_per_sm_bytes, 233472);
    assert_int_equal(gpu->smem_per_block_bytes, 232448);
    assert_int_equal(gpu->smem_reserved_bytes, 1024);
    assert_int_equal(gpu->l2_bytes, 62914560);
    assert_true(gpu->memory_bytes == (int64_t)140 << 30);
    assert_true(fabs(gpu->clock_mhz - 1980) < 1e-9);
    assert_true(fabs(gpu->memory_gb_per_s - 4916.736) < 1e-6); /* published: 4.8 TB/s */
    assert_true(fabs(gpu_rate(gpu, "fp32") - 66.9) < 0.05);
    assert_string_equal(device.uuid, "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
}

TEST(a_gpu_that_is_not_there_is_named)
{
    struct device none;
    assert_fails(device_open(1, &none), E_GPU, "no GPU 1");
    assert_fails(device_open(-1, &none), E_GPU, "no GPU -1");
}

TEST(ids_are_short)
{
    static const char *const names[][2] = {
        {"NVIDIA H200", "h200"},
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 PCIe", "h100pcie"},
        {"NVIDIA A100-SXM4-80GB", "a100"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA GeForce RTX 3080 Ti Laptop GPU", "rtx3080tilaptop"},
        {"Tesla T4", "t4"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
        {"  ", ""},
    };
    char id[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        device_short_id(names[i][0], id, sizeof id);
        assert_string_equal(id, names[i][1]);
    }
    device_short_id("A Name With So Many Words That No Id Can Hold It", id, sizeof id);
    assert_true(strlen(id) < sizeof id);
}

TEST(out_of_memory_names_the_sizes_and_is_survived)
{
    struct device_buffer buffer;
    assert_fails(device_allocate(&buffer, (size_t)3 << 30), E_GPU, "3073 MiB wanted, 100 of 143360 MiB");
    assert_false(device_lost());
    assert_ok(device_allocate(&buffer, 0));
    assert_true(buffer.address != 0);
    device_free(&buffer);
    assert_ok(device_allocate(&buffer, 1000));
    assert_int_equal(buffer.bytes, 1000);
    device_free(&buffer);
    device_free(&buffer);
}

/* A cubin for the fake driver, which looks only for the epilogue in it. */
static struct cache_entry fake_cubin(const struct problem *problem)
{
    char key[CACHE_KEY_TEXT], code[32];
    struct cache_entry entry;
    struct kernel_facts facts = {.registers = 32};
    const int length = snprintf(code, sizeof code, "-DEPILOGUE=%d", problem->epilogue);
    cache_key((const char *const[]){code}, 1, key);
    assert_ok(cache_store(folder, key, code, (size_t)length + 1, &facts, &entry));
    return entry;
}

static enum status load(const char *config_text, const struct problem *problem, struct kernel *kernel)
{
    struct config config;
    struct cache_entry cubin = fake_cubin(problem);
    assert_ok(config_parse(config_text, &config));
    return kernel_load(&device, &config, problem, cubin.path, cubin.checksum, kernel);
}

#define NAIVE "ladder_naive BM=16 BN=16"

#define SIMT                                                                                                 \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K="

/* Load, and launch once with the problem's alpha and beta on operands at 0x10000, 0x20000 and 0x30000. */
static void launch_once(const char *config_text, const char *problem_text, struct kernel *kernel)
{
    struct problem p;
    const struct operands operands = {.a = 0x10000, .b = 0x20000, .c = 0x30000};
    assert_ok(problem_parse(problem_text, &p));
    assert_ok(load(config_text, &p, kernel));
    assert_ok(kernel->launch(kernel->self, &operands, p.alpha, p.beta));
}

/* A launch over `count` items of a batch of 20x30x70, after `items` others. */
static void check_slice(const struct fake_launch *l, bool is_gemm, unsigned items, unsigned count)
{
    assert_true(l->is_gemm == is_gemm);
    assert_int_equal(l->grid[2], count);
    assert_true((uintptr_t)l->args.a == 0x10000 + items * (uintptr_t)1500 * 4);
    assert_true((uintptr_t)l->args.b == 0x20000 + items * (uintptr_t)2100 * 4);
    assert_true((uintptr_t)l->args.c == 0x30000 + items * (uintptr_t)600 * 4);
    assert_int_equal(l->args.m, 20);
    assert_int_equal(l->args.n, 30);
    assert_int_equal(l->args.k, 70);
    assert_true(l->args.alpha == 2.0f && l->args.beta == 0.5f);
    assert_null(l->args.alpha_device);
    assert_null(l->args.beta_device);
    if (!is_gemm) return;
    assert_int_equal(l->threads, 128);
    assert_int_equal(l->grid[0], 1);
    assert_int_equal(l->grid[1], l->args.splits);
    assert_true(l->smem_bytes > 0);
}

TEST(a_long_batch_is_launched_in_slices_with_moved_pointers)
{
    struct kernel kernel;
    launch_once(SIMT "1", "sgemm:nn:20x30x70:batch=70000:stride_a=1500:alpha=2:beta=0.5", &kernel);
    assert_int_equal(*launch_count, 2);
    check_slice(&launches[0], true, 0, 65535);
    check_slice(&launches[1], true, 65535, 70000 - 65535);
    kernel_close(&kernel);
    kernel_close(&kernel);
}

TEST(a_long_batch_of_pointers_is_launched_in_slices_of_the_arrays)
{
    struct kernel kernel;
    launch_once(SIMT "1", "sgemm:nn:20x30x70:batch=70000:pointers", &kernel);
    assert_int_equal(*launch_count, 2);
    for (int i = 0; i < 2; i++) {
        const uintptr_t moved = (uintptr_t)i * 65535 * 8;
        assert_int_equal(launches[i].grid[2], i ? 70000 - 65535 : 65535);
        assert_true((uintptr_t)launches[i].args.a == 0x10000 + moved);
        assert_true((uintptr_t)launches[i].args.b == 0x20000 + moved);
        assert_true((uintptr_t)launches[i].args.c == 0x30000 + moved);
    }
    kernel_close(&kernel);
}

/* In place the kernel reads what it writes; without a bias its address is null. */
TEST(an_epilogue_is_given_where_to_read_c_and_the_bias)
{
    static const struct {
        const char *problem;
        struct operands operands;
        uintptr_t source, bias;
    } cases[] = {{"20x30x70:beta=1:epilogue=bias+gelu+out",
                  {.a = 0x10000, .b = 0x20000, .c = 0x30000, .source = 0x40000, .bias = 0x50000},
                  0x40000,
                  0x50000},
                 {"20x30x70:epilogue=rowbias",
                  {.a = 0x10000, .b = 0x20000, .c = 0x30000, .bias = 0x50000},
                  0x30000,
                  0x50000},
                 {"20x30x70:epilogue=relu", {.a = 0x10000, .b = 0x20000, .c = 0x30000}, 0x30000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kernel kernel;
        struct problem p;
        *launch_count = 0;
        assert_ok(problem_parse(cases[i].problem, &p));
        assert_ok(load(SIMT "1", &p, &kernel));
        assert_ok(kernel.launch(kernel.self, &cases[i].operands, p.alpha, p.beta));
        assert_int_equal(*launch_count, 1);
        assert_int_equal((uintptr_t)launches[0].args.c, 0x30000);
        assert_int_equal((uintptr_t)launches[0].args.source, cases[i].source);
        assert_int_equal((uintptr_t)launches[0].args.bias, cases[i].bias);
        kernel_close(&kernel);
    }
}

TEST(split_k_launches_the_sum_after_each_slice_and_shares_a_workspace)
{
    struct kernel kernel;
    launch_once(SIMT "2", "sgemm:nn:20x30x70:batch=10000:stride_a=1500:alpha=2:beta=0.5", &kernel);
    assert_int_equal(*launch_count, 4);
    unsigned first = launches[0].grid[2]; /* as many as the workspace of a launch holds */
    assert_true(first > 0 && first < 10000);
    for (int i = 0; i < 4; i++) {
        check_slice(&launches[i], i % 2 == 0, i > 1 ? first : 0, i > 1 ? 10000 - first : first);
        assert_int_equal(launches[i].args.splits, 2);
        assert_non_null(launches[i].args.workspace);
        assert_ptr_equal(launches[i].args.workspace, launches[0].args.workspace);
    }
    kernel_close(&kernel);
}

TEST(rungs_without_a_batch_dimension_are_launched_item_by_item)
{
    struct kernel kernel;
    launch_once(NAIVE, "sgemm:nn:20x30x7:batch=3", &kernel);
    assert_int_equal(*launch_count, 3);
    for (uintptr_t i = 0; i < 3; i++) {
        assert_int_equal(launches[i].grid[2], 1);
        assert_true((uintptr_t)launches[i].args.c == 0x30000 + i * 600 * 4);
    }
    kernel_close(&kernel);
}

TEST(a_problem_without_elements_launches_nothing)
{
    struct problem p;
    struct kernel kernel;
    assert_ok(problem_parse("sgemm:nn:0x30x7", &p));
    assert_ok(load(NAIVE, &p, &kernel));
    struct operands operands = {0};
    assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
    assert_int_equal(*launch_count, 0);
    kernel_close(&kernel);
}

TEST(a_kernel_that_the_driver_refuses_is_a_verdict_and_the_context_lives)
{
    static const char *const refusals[][2] = {
        {"FAKE_GPU_FAIL", "cuModuleLoadData=701"},
        {"FAKE_GPU_FAIL", "cuModuleLoadData=1"},
        {"FAKE_GPU_FAIL", "cuFuncSetAttribute=1"},
        {"FAKE_GPU_THREADS", "128"},
        {"FAKE_GPU_SMEM", "232449"},
    };
    struct problem p = problem_make(64, 64, 64);
    struct kernel kernel;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        setenv("FAKE_GPU_SMEM", "1024", 1); /* so that there is an attribute to set */
        setenv(refusals[i][0], refusals[i][1], 1);
        assert_int_equal(load(NAIVE, &p, &kernel), E_ABSENT);
        assert_true(strlen(status_text()) > 10);
        assert_null(kernel.self);
        unsetenv(refusals[i][0]);
    }
    unsetenv("FAKE_GPU_SMEM");
    assert_ok(load(NAIVE, &p, &kernel));
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=701", 1);
    struct operands operands = {0};
    assert_fails(kernel.launch(kernel.self, &operands, 1, 0), E_ABSENT, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    kernel_close(&kernel);
    assert_false(device_lost());
}

/* All there is, since the function may be launched for problems that need more than this one. */
TEST(more_than_48_KiB_of_shared_memory_is_asked_for)
{
    struct problem p = problem_make(64, 64, 64);
    struct kernel kernel;
    setenv("FAKE_GPU_SMEM", "49152", 1);
    assert_ok(load(NAIVE, &p, &kernel));
    kernel_close(&kernel);
    assert_int_equal(attributes_set[1], CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
    attributes_set[0] = -1;
    setenv("FAKE_GPU_SMEM", "49153", 1);
    assert_ok(load(NAIVE, &p, &kernel));
    kernel_close(&kernel);
    assert_int_equal(attributes_set[0], device.gpu.smem_per_block_bytes - 49153);
}

TEST(a_damaged_cubin_never_reaches_the_driver)
{
    struct problem p = problem_make(64, 64, 64);
    struct config config;
    struct kernel kernel;
    struct cache_entry cubin = fake_cubin(&p);
    assert_ok(config_parse(NAIVE, &config));
    assert_fails(kernel_load(&device, &config, &p, cubin.path, "00000000000000000000000000000000", &kernel),
                 E_INPUT, "damaged");
    assert_fails(kernel_load(&device, &config, &p, "/nowhere.cubin", cubin.checksum, &kernel), E_IO,
                 "/nowhere.cubin");
}

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
        .a = (CUdeviceptr)(uintptr_t)a, .b = (CUdeviceptr)(uintptr_t)b, .c = (CUdeviceptr)(uintptr_t)c};
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
        .a = (CUdeviceptr)(uintptr_t)one, .b = (CUdeviceptr)(uintptr_t)one, .c = (CUdeviceptr)(uintptr_t)one};
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

TEST(without_nvml_the_figures_are_0_and_nothing_fails)
{
    struct nvml nvml = {(void *)1};
    struct gpu_state state = {.sm_clock_mhz = 5};
    char version[32] = "x";
    int sm, memory;
    double power;
    setenv("GEMMTUNE_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    assert_false(nvml_open(&nvml, "GPU-0"));
    assert_null(nvml.handle);
    assert_false(nvml_read(&nvml, &state));
    assert_int_equal(state.sm_clock_mhz, 0);
    assert_false(nvml_limits(&nvml, &sm, &memory, &power));
    assert_false(nvml_driver_version(version, sizeof version));
    assert_string_equal(version, "");
}

TEST(only_results_that_end_the_process_lose_the_device)
{
    assert_ok(device_check(CUDA_SUCCESS, "nothing"));
    assert_fails(device_check(CUDA_ERROR_OUT_OF_MEMORY, "allocate"), E_GPU, "allocate");
    assert_fails(device_check(CUDA_ERROR_INVALID_VALUE, "set"), E_GPU, "set: CUDA_ERROR_INVALID_VALUE");
    assert_fails(device_check(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "launch"), E_GPU, "launch");
    assert_fails(device_check(CUDA_ERROR_INVALID_CONTEXT, "look"), E_GPU, "look");
    assert_fails(device_check(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "launch"), E_GPU, "launch");
    assert_fails(device_check(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "launch"), E_GPU, "launch");
    assert_false(device_lost());
    assert_fails(device_check(CUDA_ERROR_ILLEGAL_ADDRESS, "run"), E_GPU, "run: CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_true(device_lost());
    assert_ok(device_check(CUDA_SUCCESS, "nothing"));
    assert_true(device_lost()); /* for good */
}

#define WITHOUT_GPU(test) cmocka_unit_test_setup(test, use_fake)
#define ON_FAKE(test)     cmocka_unit_test_setup_teardown(test, open_fake, close_fake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITHOUT_GPU(without_a_driver_one_sentence_says_what_to_do),
        WITHOUT_GPU(a_library_that_is_no_driver_is_refused),
        WITHOUT_GPU(a_driver_older_than_the_toolkit_is_refused_with_both_versions),
        WITHOUT_GPU(a_driver_that_does_not_start_says_why),
        ON_FAKE(attributes_become_the_gpu),
        ON_FAKE(a_gpu_that_is_not_there_is_named),
        cmocka_unit_test(ids_are_short),
        ON_FAKE(out_of_memory_names_the_sizes_and_is_survived),
        ON_FAKE(a_long_batch_is_launched_in_slices_with_moved_pointers),
        ON_FAKE(a_long_batch_of_pointers_is_launched_in_slices_of_the_arrays),
        ON_FAKE(an_epilogue_is_given_where_to_read_c_and_the_bias),
        ON_FAKE(split_k_launches_the_sum_after_each_slice_and_shares_a_workspace),
        ON_FAKE(rungs_without_a_batch_dimension_are_launched_item_by_item),
        ON_FAKE(a_problem_without_elements_launches_nothing),
        ON_FAKE(a_kernel_that_the_driver_refuses_is_a_verdict_and_the_context_lives),
        ON_FAKE(more_than_48_KiB_of_shared_memory_is_asked_for),
        ON_FAKE(a_damaged_cubin_never_reaches_the_driver),
        ON_FAKE(the_rival_computes_row_major_gemm_through_the_column_major_swap),
        ON_FAKE(the_rival_uses_64_bit_sizes_only_where_an_int_does_not_hold_them),
        ON_FAKE(the_rival_is_strict_fp32_whatever_the_environment_says),
        cmocka_unit_test(without_nvml_the_figures_are_0_and_nothing_fails),
        ON_FAKE(only_results_that_end_the_process_lose_the_device), /* last: it cannot be undone */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
