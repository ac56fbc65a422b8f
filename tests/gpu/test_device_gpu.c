/* The driver layer on a real GPU: compiled kernels and cuBLAS give the reference's results, captured and not.
 * A kernel that reads out of bounds makes the device unusable for its process, and affects nothing else.
 * Skipped (77) without a GPU. */
#include "compile.h"
#include "gpu_tests.h"
#include "kernel.h"
#include "nvml.h"
#include "open_anchor.h"
#include "rivals.h"
#include "trial_setup.h"

static struct operands operands_of(const struct set *set)
{
    return (struct operands){.at = {set->buffer[0].address, set->buffer[1].address, set->buffer[2].address}};
}

static const char *const rests[] = {
    "64x64x64",
    "33x65x17",
    "1x1x1",
    "7x5x0:beta=2",
    "0x5x3",
    "130x70x40:lda=150:ldb=151:ldc=153:alpha=2:beta=-1",
    "20x30x10:batch=5:alpha=0.5:beta=2",
};
static const char *const ops[] = {"nn", "nt", "tn", "tt"};

static void load(const char *config_text, const struct problem *problem, struct kernel *kernel)
{
    struct config config;
    struct compiled built;
    assert_ok(config_parse(config_text, &config));
    const struct kernel_key key = kernel_key_of(&config, problem, device.gpu.arch);
    assert_ok(compile_kernel(&key, folder, &built));
    if (!built.built) fail_msg("%s: %s", config_text, built.log);
    assert_ok(kernel_load(&device, &config, problem, built.path, built.checksum, kernel));
}

#define SIMT                                                                                                 \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K="

static bool serves(const char *config_text, const struct problem *problem)
{
    struct config config;
    assert_ok(config_parse(config_text, &config));
    return config.template->check(&config, problem, &device.gpu) == NULL;
}

/* who: a configuration's text, or NULL for cuBLAS. Problems that its rules refuse are skipped; at least
 * `least` must remain. */
static void right_answers(const char *who, int least)
{
    int judged = 0;
    for (size_t o = 0; o < 4; o++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
            char text[PROBLEM_TEXT_MAX];
            struct set set;
            struct kernel kernel;
            snprintf(text, sizeof text, "sgemm:%s:%s", ops[o], rests[r]);
            set_make(&set, text, 0);
            if (who && !serves(who, &set.problem)) {
                set_free(&set);
                continue;
            }
            judged++;
            if (who) load(who, &set.problem, &kernel);
            else assert_ok(open_anchor(&device, &set.problem, &kernel));
            struct operands operands = operands_of(&set);
            assert_ok(kernel.launch(kernel.self, &operands, set.problem.alpha, set.problem.beta));
            set_check(&set, 1, text);
            kernel_close(&kernel);
            set_free(&set);
        }
    assert_in_range(judged, least, 28);
}

TEST(the_plainest_rung_is_right)
{
    right_answers("ladder_naive BM=16 BN=16", 5);
}

TEST(the_simt_kernel_is_right_with_and_without_split_k)
{
    right_answers(SIMT "1", 28);
    right_answers(SIMT "3", 28);
}

TEST(cublas_is_right_through_the_swap)
{
    right_answers(NULL, 28);
}

/* Captures three calls and launches the graph twice. */
static void capture_is_right(const char *who)
{
    struct set set;
    struct kernel kernel;
    set_make(&set, "sgemm:nn:100x60x30:alpha=1:beta=1", 0);
    struct operands operands = operands_of(&set);
    if (who) load(who, &set.problem, &kernel);
    else assert_ok(open_anchor(&device, &set.problem, &kernel));
    int calls = 1;
    assert_ok(kernel.launch(kernel.self, &operands, 1, 1)); /* one-time initialisation happens now */
    CUgraph graph = NULL;
    CUgraphExec executable = NULL;
    assert_ok(device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin"));
    for (int i = 0; i < 3; i++) assert_ok(kernel.launch(kernel.self, &operands, 1, 1));
    assert_ok(device_check(cuda.StreamEndCapture(device.stream, &graph), "end"));
    assert_ok(device_check(cuda.GraphInstantiate(&executable, graph, 0), "instantiate"));
    for (int i = 0; i < 2; i++)
        assert_ok(device_check(cuda.GraphLaunch(executable, device.stream), "launch"));
    calls += 6;
    set_check(&set, calls, who ? who : "cuBLAS");
    cuda.GraphExecDestroy(executable);
    cuda.GraphDestroy(graph);
    kernel_close(&kernel);
    set_free(&set);
}

TEST(calls_can_be_captured_and_replayed)
{
    capture_is_right(SIMT "1");
    capture_is_right(SIMT "2");
    capture_is_right(NULL);
}

TEST(the_description_is_plausible)
{
    const struct gpu *gpu = &device.gpu;
    assert_true(gpu->arch >= 75 && gpu->sm_count > 0 && gpu->id[0]);
    assert_true(gpu->smem_per_block_bytes >= 48 << 10 && gpu->smem_per_block_bytes <= gpu->smem_per_sm_bytes);
    assert_true(gpu->clock_mhz > 300 && gpu->clock_mhz < 5000);
    assert_true(gpu->memory_gb_per_s > 50 && gpu_rate(gpu, "fp32") > 1);
    assert_true(device_driver_version() >= CUDA_VERSION / 1000 * 1000);
    print_message("%s (%s): %.0f MHz, %.0f GB/s, %.1f TFLOPS, %s\n", gpu->name, gpu->id, gpu->clock_mhz,
                  gpu->memory_gb_per_s, gpu_rate(gpu, "fp32"), device.uuid);
}

TEST(nvml_knows_the_same_gpu)
{
    struct nvml nvml;
    struct gpu_state state;
    char version[80];
    int sm, memory;
    double power;
    if (!nvml_driver_version(version, sizeof version)) {
        print_message("no NVML here\n");
        skip();
    }
    assert_true(nvml_open(&nvml, device.uuid));
    assert_true(nvml_read(&nvml, &state));
    assert_true(nvml_limits(&nvml, &sm, &memory, &power));
    assert_in_range(state.sm_clock_mhz, 100, 5000);
    assert_in_range(state.temperature_c, 5, 120);
    assert_true(sm >= state.sm_clock_mhz);
    print_message("driver %s: %d of %d MHz, %.0f of %.0f W, %d C, reasons %#llx\n", version,
                  state.sm_clock_mhz, sm, state.power_w, power, state.temperature_c,
                  (unsigned long long)state.throttle_reasons);
}

/* Runs in a separate process: a kernel with wild pointers. Returns 0 if the failure was detected
 * correctly. */
static int lose_the_device(void)
{
    struct problem p = problem_make(64, 64, 64);
    struct kernel kernel;
    if (device_open(0, &device)) return 1;
    load("ladder_naive BM=16 BN=16", &p, &kernel);
    struct operands wild = {.at = {1 << 20, 1 << 20, 1 << 20}};
    if (kernel.launch(kernel.self, &wild, 1, 0) || device_lost()) return 3;
    enum status st = device_check(cuda.StreamSynchronize(device.stream), "run");
    return st == E_GPU && device_lost() && strstr(status_text(), "CUDA_ERROR_ILLEGAL_ADDRESS") ? 0 : 4;
}

TEST(an_illegal_address_loses_the_device_of_that_process_only)
{
    assert_int_equal(run_self("--lose"), 0);
    assert_false(device_lost());
    right_answers("ladder_naive BM=16 BN=16", 5);
}

int main(int argc, char **argv)
{
    if (no_gpu()) return SKIPPED;
    if (argc == 3 && strcmp(argv[1], "--lose") == 0) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        return lose_the_device();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_description_is_plausible),
        cmocka_unit_test(nvml_knows_the_same_gpu),
        cmocka_unit_test(the_plainest_rung_is_right),
        cmocka_unit_test(the_simt_kernel_is_right_with_and_without_split_k),
        cmocka_unit_test(cublas_is_right_through_the_swap),
        cmocka_unit_test(calls_can_be_captured_and_replayed),
        cmocka_unit_test(an_illegal_address_loses_the_device_of_that_process_only),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
