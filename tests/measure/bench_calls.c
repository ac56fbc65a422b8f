/* bench_calls.c — single calls on a real GPU, as a program meets them: gt_gemm with the winners of a
 * database, cublasGemmEx, and the fastest proposal of cublasLt, which is found first.
 *
 *     bench_calls SUITE [RECORDS]
 *
 * Three ways to call. "offline": each call after a synchronisation, one after the other. "server": the same
 * after pauses whose lengths are exponential, 10 ms on average. "stream": calls that follow each other,
 * without waiting. Before a record A and B are copied for each of the three, and C is overwritten before its
 * call, as CUDA-L2's benchmark does, whose two modes the first two are; who goes first changes at random. The
 * time of a call is that between two events around it, which has the host's part in it where the GPU waits;
 * of a stream it is the host's until all have ended.
 *
 * Prints a CSV row for each problem and mode: medians in us, their ratios (above 1: gt_gemm is faster), those
 * of the mean speeds, which CUDA-L2 reports, and those of the host's clock around call and synchronisation.
 * Then the geometric means of all. RECORDS: 60, of each mode; twice as many offline. Results are not judged.
 * The database is GEMMTUNE_DB. Exits with 77 if there is no GPU or cuBLAS, with 1 if something did not run.
 */
#include "blas.h"
#include "clock.h"
#include "lt_kernel.h"
#include "public_problem.h"
#include "runtime_calls.h"
#include "stats.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OURS, CUBLAS, LT, RUNNERS };
enum { OFFLINE, SERVER, STREAM, MODES };
enum { RECORDS_MAX = 2000, WARM_RECORDS = 10, STREAM_CALLS = 20, LT_BLOCKS = 5, LT_CALLS_MAX = 50 };
#define PAUSE_S     0.010
#define LT_BLOCK_US 200.0
#define RECORDS_S   1.0 /* no further record of a mode, once it has LEAST_RECORDS */
#define LEAST       20

static const char *const mode_name[MODES] = {"offline", "server", "stream"};
static const float one = 1, zero = 0;
static struct device device;
static CUevent began, ended;
static struct gt_handle *handle;
static blas_handle cublas;
static uint64_t random_state = 1;
static int records = 60;

/* What is timed now. */
static struct {
    struct problem problem;
    struct gt_problem said;
    struct kernel lt;
    struct device_buffer slab;
    int64_t bytes[3];                      /* of A, B, C */
    CUdeviceptr master[2], at[RUNNERS][3]; /* A and B; each runner's own */
} now;

/* Of a mode, in us. */
struct times {
    double event[RUNNERS][RECORDS_MAX], host[RUNNERS][RECORDS_MAX];
    size_t count;
};

static void must(enum status st, const char *what)
{
    if (!st) return;
    fprintf(stderr, "%s: %s\n", what, status_text());
    exit(1);
}

static void must_cuda(CUresult result, const char *what)
{
    must(device_check(result, what), what);
}

static void *address(CUdeviceptr at)
{
    return (void *)(uintptr_t)at; /* NOLINT: a device address */
}

/* ---- runners ---- */

static void call(int runner)
{
    const CUdeviceptr *const at = now.at[runner];
    if (runner == OURS) {
        if (gemm(handle, &now.said, &one, address(at[0]), address(at[1]), &zero, address(at[2]),
                 device.stream))
            must(fail(E_GPU, "%.200s", gt_error_text()), "gt_gemm");
    } else if (runner == CUBLAS) {
        const int status = blas_run(cublas, &now.problem, at[0], at[1], at[2], &one, &zero);
        if (status) must(fail(E_GPU, "status %d", status), "cublasGemmEx");
    } else {
        const struct operands operands = {.at = {at[0], at[1], at[2]}};
        must(now.lt.launch(now.lt.self, &operands, 1, 0), "cublasLtMatmul");
    }
}

static void wait(void)
{
    must_cuda(cuda.StreamSynchronize(device.stream), "wait");
}

static double between_events_us(void)
{
    float ms = 0;
    must_cuda(cuda.EventElapsedTime(&ms, began, ended), "time");
    return 1e3 * (double)ms;
}

/* ---- operands ---- */

static void allocate(void)
{
    enum { LINE = 256, WORDS = 1 << 20 };
    static uint16_t pattern[WORDS]; /* floats of 16 bits, and of 32, of magnitudes about 1 */
    const struct problem *const p = &now.problem;
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    int64_t room = 0;
    now.bytes[0] = problem_span_a(p) * element_bytes(type->a);
    now.bytes[1] = problem_span_b(p) * element_bytes(type->b);
    now.bytes[2] = problem_span_c(p) * element_bytes(type->c);
    for (int i = 0; i < 3; i++)
        room += (now.bytes[i] + LINE - 1) / LINE * LINE * (i < 2 ? RUNNERS + 1 : RUNNERS);
    must(device_allocate(&now.slab, (size_t)room), "operands");
    for (int i = 0; i < WORDS; i++)
        pattern[i] = (uint16_t)(stats_random(&random_state) & 0x83ff) | 0x3800; /* FP16: +- 0.5 to 1 */
    for (size_t at = 0; at < now.slab.bytes; at += sizeof pattern) {
        const size_t left = now.slab.bytes - at;
        must_cuda(
            cuda.MemcpyHtoD(now.slab.address + at, pattern, left < sizeof pattern ? left : sizeof pattern),
            "fill");
    }
    CUdeviceptr next = now.slab.address;
    for (int i = 0; i < 3; i++)
        for (int copy = i < 2 ? -1 : 0; copy < RUNNERS; copy++) {
            *(copy < 0 ? &now.master[i] : &now.at[copy][i]) = next;
            next += (CUdeviceptr)((now.bytes[i] + LINE - 1) / LINE * LINE);
        }
}

static void renew(void)
{
    for (int runner = 0; runner < RUNNERS; runner++)
        for (int i = 0; i < 2; i++)
            must_cuda(
                cuda.MemcpyDtoDAsync(now.at[runner][i], now.master[i], (size_t)now.bytes[i], device.stream),
                "copy");
    wait();
}

/* ---- the best of cublasLt ---- */

/* Of a call, among so many; INFINITY: it does not run. */
static double lt_block_us(int calls)
{
    const struct operands operands = {.at = {now.at[LT][0], now.at[LT][1], now.at[LT][2]}};
    must_cuda(cuda.EventRecord(began, device.stream), "time");
    for (int i = 0; i < calls; i++)
        if (now.lt.launch(now.lt.self, &operands, 1, 0)) return INFINITY;
    must_cuda(cuda.EventRecord(ended, device.stream), "time");
    wait();
    return between_events_us() / calls;
}

static double lt_us(void)
{
    double us[LT_BLOCKS];
    const double first = fmax(lt_block_us(1), lt_block_us(1)); /* the first of all loads it */
    if (!isfinite(first)) return INFINITY;
    const double wanted = LT_BLOCK_US / fmax(lt_block_us(1), 1);
    const int calls = wanted < 1 ? 1 : wanted > LT_CALLS_MAX ? LT_CALLS_MAX : (int)wanted;
    for (int i = 0; i < LT_BLOCKS; i++) us[i] = lt_block_us(calls);
    return stats_median(us, LT_BLOCKS);
}

static void find_lt(void)
{
    static const uint32_t aligned[] = {BLAS_LT_ALIGNMENT, BLAS_LT_ALIGNMENT, BLAS_LT_ALIGNMENT,
                                       BLAS_LT_ALIGNMENT};
    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX];
    size_t workspace = 0;
    int count = 0, best = -1;
    double least = INFINITY;
    must(lt_kernel_open(&device, &now.problem, blas_lt_compute(now.problem.type), aligned, 0,
                        BLAS_LT_WORKSPACE_BYTES, &now.lt),
         "cublasLt");
    must(lt_kernel_propose(&now.lt, answers, &count), "cublasLt");
    for (int i = 0; i < count; i++)
        if (blas_lt_usable(&answers[i], BLAS_LT_WORKSPACE_BYTES) && answers[i].workspace_bytes > workspace)
            workspace = answers[i].workspace_bytes;
    must(lt_kernel_reserve(&now.lt, workspace), "workspace of cublasLt");
    for (int i = 0; i < count; i++) {
        if (!blas_lt_usable(&answers[i], BLAS_LT_WORKSPACE_BYTES)) continue;
        lt_kernel_use(&now.lt, &answers[i].algorithm);
        const double us = lt_us();
        if (us >= least) continue;
        least = us;
        best = i;
    }
    if (best < 0) must(fail(E_ABSENT, "none of its %d proposals runs", count), "cublasLt");
    lt_kernel_use(&now.lt, &answers[best].algorithm);
}

/* ---- modes ---- */

static void pause_at_random(void)
{
    const double share = (double)(stats_random(&random_state) >> 11) * 0x1p-53, s = -PAUSE_S * log(1 - share);
    const struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)(1e9 * fmod(s, 1))};
    nanosleep(&t, NULL);
}

static void time_call(int runner, int calls, double *event_us, double *host_us)
{
    must_cuda(cuda.MemsetD8Async(now.at[runner][2], 0, (size_t)now.bytes[2], device.stream), "clear C");
    wait();
    const double start = now_s();
    must_cuda(cuda.EventRecord(began, device.stream), "time");
    for (int i = 0; i < calls; i++) call(runner);
    must_cuda(cuda.EventRecord(ended, device.stream), "time");
    wait();
    *host_us = 1e6 * (now_s() - start) / calls;
    *event_us = between_events_us() / calls;
}

static void record(int mode, double event[RUNNERS], double host[RUNNERS])
{
    int order[RUNNERS] = {OURS, CUBLAS, LT};
    for (int i = RUNNERS - 1; i > 0; i--) {
        const int j = (int)stats_random_below(&random_state, (uint64_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    if (mode == SERVER) pause_at_random();
    renew();
    for (int i = 0; i < RUNNERS; i++)
        time_call(order[i], mode == STREAM ? STREAM_CALLS : 1, &event[order[i]], &host[order[i]]);
}

static void run_mode(int mode, struct times *times)
{
    double event[RUNNERS], host[RUNNERS];
    const size_t wanted = (size_t)(mode == OFFLINE ? 2 * records : records);
    for (int i = 0; i < WARM_RECORDS; i++) record(mode, event, host);
    const double until = now_s() + RECORDS_S;
    for (times->count = 0; times->count < wanted; times->count++) {
        if (times->count >= LEAST && now_s() > until) break;
        record(mode, event, host);
        for (int i = 0; i < RUNNERS; i++) {
            times->event[i][times->count] = event[i];
            times->host[i][times->count] = host[i];
        }
    }
}

/* ---- figures ---- */

enum { EVENT, SPEED, HOST, FIGURES };
static const char *const figure_name[FIGURES] = {"medians", "mean speeds", "host's clock"};
static double logs[MODES][FIGURES][2];

static double mean_speed(const double *us, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += 1 / us[i];
    return sum / (double)count;
}

static void print_row(int mode, const struct times *t, const char *config)
{
    double us[RUNNERS], ratio[FIGURES][2];
    for (int i = 0; i < RUNNERS; i++)
        us[i] = stats_median(mode == STREAM ? t->host[i] : t->event[i], t->count);
    for (int rival = CUBLAS; rival <= LT; rival++) {
        ratio[EVENT][rival - 1] = us[rival] / us[OURS];
        ratio[SPEED][rival - 1] =
            mean_speed(t->event[OURS], t->count) / mean_speed(t->event[rival], t->count);
        ratio[HOST][rival - 1] =
            stats_median(t->host[rival], t->count) / stats_median(t->host[OURS], t->count);
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(&now.problem, text);
    printf("%s,%s,%.2f,%.2f,%.2f", text, mode_name[mode], us[OURS], us[CUBLAS], us[LT]);
    for (int figure = 0; figure < FIGURES; figure++)
        for (int rival = 0; rival < 2; rival++) {
            printf(",%.4f", ratio[figure][rival]);
            logs[mode][figure][rival] += log(ratio[figure][rival]);
        }
    printf(",%s\n", config);
}

static void run_problem(const struct problem *problem)
{
    static struct times times;
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    memset(&now, 0, sizeof now);
    now.problem = *problem;
    now.said = public_problem(problem);
    allocate();
    renew();
    if (gt_plan_open(handle, &now.said, &plan) || gt_plan_describe(plan, &info))
        must(fail(E_GPU, "%.200s", gt_error_text()), "gt_plan_open");
    find_lt();
    for (int mode = 0; mode < MODES; mode++) {
        run_mode(mode, &times);
        print_row(mode, &times, info.config);
    }
    fflush(stdout);
    gt_plan_close(plan);
    kernel_close(&now.lt);
    device_free(&now.slab);
}

int main(int argc, char **argv)
{
    struct suite suite = {0};
    char version[16];
    if (argc > 2) records = atoi(argv[2]);
    if (argc < 2 || argc > 3 || records < LEAST || records > RECORDS_MAX / 2) {
        fprintf(stderr, "bench_calls SUITE [RECORDS]; RECORDS from %d to %d\n", LEAST, RECORDS_MAX / 2);
        return 2;
    }
    must(suite_read(argv[1], GEMM_F16, NULL, &suite), "suite");
    for (size_t i = 0; i < suite.count; i++)
        if (suite.at[i].batch > 1 || suite.at[i].pointers || suite.at[i].epilogue || suite.at[i].beta != 0)
            must(fail(E_INPUT, "problem %zu: only single products, beta 0, without epilogue", i + 1),
                 argv[1]);
    if (device_load() || blas_load(version) || blas_lt_load() || device_open(0, &device)) {
        printf("skipped: %s\n", status_text());
        suite_free(&suite);
        return 77;
    }
    must_cuda(cuda.EventCreate(&began, 0), "event");
    must_cuda(cuda.EventCreate(&ended, 0), "event");
    if (blas.Create(&cublas) || blas.SetStream(cublas, device.stream))
        must(fail(E_GPU, "no handle"), "cuBLAS");
    if (gt_open(&handle, NULL)) must(fail(E_GPU, "%.200s", gt_error_text()), "gt_open");
    printf("# %s, cuBLAS %s\n", device.gpu.name, version);
    printf("problem,mode,ours_us,cublas_us,lt_us,over_cublas,over_lt,speed_over_cublas,speed_over_lt,"
           "host_over_cublas,host_over_lt,config\n");
    for (size_t i = 0; i < suite.count; i++) run_problem(&suite.at[i]);
    for (int mode = 0; mode < MODES; mode++)
        for (int figure = 0; figure < FIGURES; figure++)
            printf("# %s, %s: %.4f over cublasGemmEx, %.4f over the best of cublasLt (%zu problems)\n",
                   mode_name[mode], figure_name[figure], exp(logs[mode][figure][0] / (double)suite.count),
                   exp(logs[mode][figure][1] / (double)suite.count), suite.count);
    gt_close(handle);
    blas.Destroy(cublas);
    cuda.EventDestroy(began);
    cuda.EventDestroy(ended);
    device_close(&device);
    suite_free(&suite);
    return 0;
}
