/* The driver layer on a real GPU: compiled kernels and cuBLAS give the reference's results, captured and not.
 * A kernel that reads out of bounds makes the device unusable for its process, and affects nothing else.
 * Skipped (77) without a GPU. */
#include "compile.h"
#include "device.h"
#include "kernel.h"
#include "nvml.h"
#include "open_anchor.h"
#include "reference.h"
#include "rivals.h"
#include "trial_setup.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static struct device device;

/* Operands on host and device, filled with integers so small that every sum is exact. */
struct data {
    struct problem problem;
    int64_t count[3]; /* A, B, C; floats */
    float *host[3];
    struct device_buffer buffer[3];
};

static void data_make(struct data *d, const char *text)
{
    assert_ok(problem_parse(text, &d->problem));
    const int64_t spans[] = {problem_span_a(&d->problem), problem_span_b(&d->problem),
                             problem_span_c(&d->problem)};
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)spans[i] * sizeof(float);
        d->count[i] = spans[i];
        d->host[i] = malloc(bytes ? bytes : 1);
        assert_non_null(d->host[i]);
        for (int64_t j = 0; j < spans[i]; j++) d->host[i][j] = (float)(rand() % 9 - 4);
        assert_ok(device_allocate(&d->buffer[i], bytes));
        if (bytes)
            assert_ok(device_check(cuda.MemcpyHtoD(d->buffer[i].address, d->host[i], bytes), "copy in"));
    }
}

static struct operands data_operands(const struct data *d)
{
    return (struct operands){d->buffer[0].address, d->buffer[1].address, d->buffer[2].address};
}

/* C on the device must equal the reference, applied `calls` times to the former C, including the padding. */
static void data_check(struct data *d, int calls, const char *who)
{
    size_t bytes = (size_t)d->count[2] * sizeof(float);
    float *got = malloc(bytes ? bytes : 1);
    assert_non_null(got);
    assert_ok(device_check(cuda.StreamSynchronize(device.stream), who));
    if (bytes) assert_ok(device_check(cuda.MemcpyDtoH(got, d->buffer[2].address, bytes), "copy out"));
    for (int i = 0; i < calls; i++) reference_ijk(&d->problem, d->host[0], d->host[1], d->host[2]);
    for (int64_t i = 0; i < d->count[2]; i++)
        if (got[i] != d->host[2][i])
            fail_msg("%s: C[%lld] is %g, expected %g", who, (long long)i, (double)got[i],
                     (double)d->host[2][i]);
    free(got);
}

static void data_free(struct data *d)
{
    for (int i = 0; i < 3; i++) {
        free(d->host[i]);
        device_free(&d->buffer[i]);
    }
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
            struct data data;
            struct kernel kernel;
            snprintf(text, sizeof text, "sgemm:%s:%s", ops[o], rests[r]);
            data_make(&data, text);
            if (who && !serves(who, &data.problem)) {
                data_free(&data);
                continue;
            }
            judged++;
            if (who) load(who, &data.problem, &kernel);
            else assert_ok(open_anchor(&device, &data.problem, &kernel));
            struct operands operands = data_operands(&data);
            assert_ok(kernel.launch(kernel.self, &operands, data.problem.alpha, data.problem.beta));
            data_check(&data, 1, text);
            kernel_close(&kernel);
            data_free(&data);
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
    struct data data;
    struct kernel kernel;
    data_make(&data, "sgemm:nn:100x60x30:alpha=1:beta=1");
    struct operands operands = data_operands(&data);
    if (who) load(who, &data.problem, &kernel);
    else assert_ok(open_anchor(&device, &data.problem, &kernel));
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
    data_check(&data, calls, who ? who : "cuBLAS");
    cuda.GraphExecDestroy(executable);
    cuda.GraphDestroy(graph);
    kernel_close(&kernel);
    data_free(&data);
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
    if (!mkdtemp(strcpy(folder, "/tmp/gemmtune-lost-XXXXXX"))) return 2;
    load("ladder_naive BM=16 BN=16", &p, &kernel);
    struct operands wild = {1 << 20, 1 << 20, 1 << 20};
    if (kernel.launch(kernel.self, &wild, 1, 0) || device_lost()) return 3;
    enum status st = device_check(cuda.StreamSynchronize(device.stream), "run");
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) return 4;
    return st == E_GPU && device_lost() && strstr(status_text(), "CUDA_ERROR_ILLEGAL_ADDRESS") ? 0 : 5;
}

TEST(an_illegal_address_loses_the_device_of_that_process_only)
{
    int how;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_device_gpu", "--lose", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_false(device_lost());
    right_answers("ladder_naive BM=16 BN=16", 5);
}

static int open_gpu(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gemmtune-gpu-XXXXXX");
    return device_open(0, &device) || !mkdtemp(folder);
}

static int close_gpu(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    device_close(&device);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--lose") == 0) return lose_the_device();
    if (device_load()) {
        printf("skipped: %s\n", status_text());
        return 77;
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
