/* How a kernel is loaded and launched, on a driver that only notes what it is asked. */
#include "cache.h"
#include "fake_device.h"
#include "kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MAP_B_AT 320 /* of the argument: the tensor map of B */

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
    const struct operands operands = {.at = {0x10000, 0x20000, 0x30000}};
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
                  {.at = {0x10000, 0x20000, 0x30000, 0x40000, 0x50000}},
                  0x40000,
                  0x50000},
                 {"20x30x70:epilogue=rowbias",
                  {.at = {0x10000, 0x20000, 0x30000, [OPERAND_BIAS] = 0x50000}},
                  0x30000,
                  0x50000},
                 {"20x30x70:epilogue=relu", {.at = {0x10000, 0x20000, 0x30000}}, 0x30000, 0}};
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

/* ---- prepared operands ---- */

#define SPLIT  "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define HALF   "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=2 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define WEIGHT "sgemm_accurate:nt:256x512x1024:prepared=b"

/* Launches number `at` and the next one multiply with the pieces at this address: A alone is split. */
static void check_product(int at, uintptr_t pieces)
{
    void *const fake = dlopen(FAKE_GPU, RTLD_NOW);
    const struct fake_extended *extended = dlsym(fake, "fake_extended");
    const int *count = dlsym(fake, "fake_extended_count");
    struct fake_view view;
    assert_int_equal(launches[at].args.n, 0);
    assert_int_equal(launches[at].args.m, 256);
    memcpy(&view, extended[*count - 1].argument + MAP_B_AT, sizeof view);
    assert_int_equal(view.address, pieces);
}

TEST(what_is_prepared_is_made_apart_from_the_calls_that_bring_it)
{
    struct kernel kernel;
    struct problem p;
    struct operands operands = {.at = {0x10000, 0x20000, 0x30000}, .prepared = 0x700000};
    assert_ok(problem_parse(WEIGHT, &p));
    assert_ok(load(SPLIT, &p, &kernel));
    assert_int_equal(kernel.prepared_bytes, 3 * 2 * 512 * 1024);
    assert_ok(kernel.prepare(kernel.self, &operands, 0x700000));
    assert_int_equal(*launch_count, 1);
    assert_int_equal(launches[0].args.m, 0);
    assert_int_equal(launches[0].args.n, 512);
    assert_true((uintptr_t)launches[0].args.b == 0x20000 &&
                (uintptr_t)launches[0].args.workspace == 0x700000);
    _Atomic int *const encoded = dlsym(dlopen(FAKE_GPU, RTLD_NOW), "fake_maps_encoded");
    const int encoded_before = *encoded;
    assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
    assert_int_equal(*launch_count, 3);
    check_product(1, 0x700000);
    assert_int_equal(*encoded, encoded_before); /* the maps were when the kernel was loaded */
    kernel_close(&kernel);
}

TEST(a_product_of_one_kernel_and_its_preparation_launch_a_kernel_each)
{
    struct kernel kernel;
    struct problem p;
    struct operands operands = {.at = {0x10000, 0x20000, 0x30000}, .prepared = 0x700000};
    assert_ok(problem_parse(WEIGHT, &p));
    assert_ok(load(HALF, &p, &kernel));
    assert_ok(kernel.prepare(kernel.self, &operands, 0x700000));
    assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
    assert_int_equal(*launch_count, 2);
    assert_false(launches[0].is_gemm);
    assert_true(launches[1].is_gemm && launches[1].smem_bytes > 49152);
    kernel_close(&kernel);
}

TEST(a_call_that_brings_nothing_prepares_it_in_memory_of_the_kernel)
{
    struct kernel kernel;
    launch_once(SPLIT, WEIGHT, &kernel);
    assert_int_equal(*launch_count, 3);
    assert_int_equal(launches[0].args.m, 0);
    check_product(1, (uintptr_t)launches[0].args.workspace);
    assert_true(launches[0].args.workspace != launches[1].args.workspace);
    kernel_close(&kernel);
}

TEST(a_kernel_without_a_form_of_its_own_reads_the_prepared_operand)
{
    static const char *const texts[][2] = {{SIMT "1", WEIGHT}, /* strict */
                                           {SPLIT, "sgemm_accurate:nt:256x512x0:prepared=b"}};
    for (int i = 0; i < 2; i++) {
        struct kernel kernel;
        *launch_count = 0;
        launch_once(texts[i][0], texts[i][1], &kernel);
        assert_true(!kernel.prepare && kernel.prepared_bytes == 0);
        assert_int_equal(*launch_count, 1);
        assert_true((uintptr_t)launches[0].args.b == 0x20000 && launches[0].args.n == 512);
        kernel_close(&kernel);
    }
}

TEST(no_memory_for_what_is_prepared_is_a_verdict)
{
    struct kernel kernel;
    struct problem p;
    assert_ok(problem_parse(WEIGHT, &p));
    setenv("FAKE_GPU_FAIL", "cuMemAlloc_v2=2", 1);
    assert_fails(load(SPLIT, &p, &kernel), E_ABSENT, "prepared operand");
    unsetenv("FAKE_GPU_FAIL");
}

/* ---- counters ---- */

/* The first kernel of f16x3 raises maxima there, and the last one takes them back. */
TEST(counters_are_cleared_after_a_launch_that_was_refused_half_way_and_at_no_other_time)
{
    static const char f16x3[] = "f16x3 BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132";
    const struct operands operands = {.at = {0x10000, 0x20000, 0x30000}};
    _Atomic int *const fail_at = dlsym(dlopen(FAKE_GPU, RTLD_NOW | RTLD_NOLOAD), "fake_fail_at");
    struct kernel kernel;
    launch_once(f16x3, "sgemm_normwise:nn:256x256x256", &kernel);
    assert_int_equal(*launch_count, 3);
    float *const maxima = launches[0].args.workspace;
    const int last = 256 + 256 + 2 * 256 - 1;
    for (int kernels = 2; kernels <= 3; kernels++) {
        *fail_at = kernels;
        assert_fails(kernel.launch(kernel.self, &operands, 1, 0), E_ABSENT, "OUT_OF_RESOURCES");
        maxima[0] = maxima[last] = 5;
        assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
        assert_true(maxima[0] == 0 && maxima[last] == 0);
        maxima[0] = 5;
        assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
        assert_true(maxima[0] == 5);
    }
    kernel_close(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKE(a_long_batch_is_launched_in_slices_with_moved_pointers),
        ON_FAKE(a_long_batch_of_pointers_is_launched_in_slices_of_the_arrays),
        ON_FAKE(an_epilogue_is_given_where_to_read_c_and_the_bias),
        ON_FAKE(split_k_launches_the_sum_after_each_slice_and_shares_a_workspace),
        ON_FAKE(rungs_without_a_batch_dimension_are_launched_item_by_item),
        ON_FAKE(a_problem_without_elements_launches_nothing),
        ON_FAKE(a_kernel_that_the_driver_refuses_is_a_verdict_and_the_context_lives),
        ON_FAKE(more_than_48_KiB_of_shared_memory_is_asked_for),
        ON_FAKE(a_damaged_cubin_never_reaches_the_driver),
        ON_FAKE(what_is_prepared_is_made_apart_from_the_calls_that_bring_it),
        ON_FAKE(a_product_of_one_kernel_and_its_preparation_launch_a_kernel_each),
        ON_FAKE(a_call_that_brings_nothing_prepares_it_in_memory_of_the_kernel),
        ON_FAKE(a_kernel_without_a_form_of_its_own_reads_the_prepared_operand),
        ON_FAKE(no_memory_for_what_is_prepared_is_a_verdict),
        ON_FAKE(counters_are_cleared_after_a_launch_that_was_refused_half_way_and_at_no_other_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
