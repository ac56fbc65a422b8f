/* bench_eager.c — the host time of a product that a program calls without a CUDA graph, on a real GPU, with
 * the drop-in and without it.
 *
 *     bench_eager LIBGEMMTUNE_CUBLAS [--threads N] [--cold 1] [--json FILE]
 *
 * cuBLAS and cublasLt are called as PyTorch calls them: before a product of cuBLAS the handle gets its
 * stream, its workspace and its math mode; a product of cublasLt has descriptors of its own, which are made,
 * used for the heuristic, and destroyed. In a process that has the drop-in preloaded, three variants run in
 * turns:
 *
 *     plain   the functions of NVIDIA's libraries
 *     seen    those that a program gets, which are the drop-in's
 *     floor   as plain, without the product: what any product costs the program
 *
 * of problems without a winner, and with each kind of winner: a kernel, one with tensor maps, one whose
 * blocks add their parts by counters in a workspace, an algorithm of cublasLt. GEMMTUNE_DROPIN=off shows what
 * it costs then. Also what the drop-in asks the driver and the libraries for, each alone, and bare launches.
 * --cold 1: between two calls the processor's caches are filled with something else, as by a program that
 * does other things between its products; each call is timed by itself.
 *
 * Rounds of all alternate, because the speed of a shared machine's processor changes by a half from second
 * to second: figures of different rounds, and of different processes, are not comparable. Printed is the
 * median over the rounds, of differences and ratios within each round. Exits with 77 if there is no GPU or no
 * cuBLAS, and with 1 if a winner did not answer or a bound is exceeded.
 */
#include "compile.h"
#include "cublas_abi.h"
#include "kernel.h"
#include "library.h"
#include "loaded_from.h"
#include "lt_kernel.h"
#include "rounds.h"
#include "stats.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bounds, of the medians. */
#define NONE_BOUND_NS 300 /* added to a product without a winner */
#define OFF_BOUND_NS  100 /* the same where the drop-in is off */
#define KERNEL_BOUND  0.6 /* a product by a kernel of ours, of plain */
#define LIBRARY_BOUND 1.0 /* by an algorithm of cublasLt */

enum { SIZE = 256, K_MOST = 512, THREADS_MAX = 16, EAGER_ROUNDS = 151, EAGER_CALLS = 60, COLD_CALLS = 10 };
enum { WORKSPACE_BYTES = 32 << 20, LT_WORKSPACE_BYTES = 1 << 20 };

/* ---- what is called ---- */

/* Of NVIDIA's libraries, or of the drop-in. */
static struct functions {
    __typeof__(cublasSgemm_v2) *Sgemm;
    __typeof__(cublasGemmEx) *GemmEx;
    __typeof__(cublasGemmStridedBatchedEx) *GemmStridedEx;
    __typeof__(cublasSetStream_v2) *SetStream;
    __typeof__(cublasSetWorkspace_v2) *SetWorkspace;
    __typeof__(cublasLtMatmul) *Matmul;
} plain, seen;

/* Of NVIDIA's libraries; the drop-in has none of them. */
static struct {
    int (*SetMathMode)(blas_handle, int);
    int (*GetStream)(blas_handle, CUstream *);
} own;

static struct device device;
static const float one = 1, zero = 0;

/* Each thread's own. */
struct caller {
    blas_handle handle;
    blas_lt_handle lt;
    CUstream stream;
    struct device_buffer a, b, c, bias, workspace, lt_workspace;
};
static struct caller callers[THREADS_MAX];
static int threads = 1, cold;
static CUfunction nothing;

enum call { SGEMM, MM, BMM, LINEAR, CALLS };
enum winner { NONE, KERNEL, MAPS, COUNTERS, LIBRARY, WINNERS };
enum variant { PLAIN, SEEN, FLOOR, VARIANTS };

static const char *const call_name[CALLS] = {"mm, FP32", "mm, BF16", "bmm, BF16", "linear + bias, BF16"};
static const char *const winner_name[WINNERS] = {"no winner", "kernel", "kernel with maps",
                                                 "kernel with counters", "algorithm of cublasLt"};

/* The winner's problem: K tells the kinds of winners apart. "": there is none of the kind. */
static const char *const problem_text[CALLS] = {"sgemm:nn:256x256x%d", "bf16gemm:nn:256x256x%d",
                                                "bf16gemm:nn:256x256x%d:batch=4",
                                                "bf16gemm:nt:256x256x%d:epilogue=bias"};
/* The family, and what differs from its least values. */
#define MMA16 "mma16 BM=8 BN=64 BK=128 WM=8 WN=32 SWAP=1 WARPS_K=2 STAGES=7 PRELOAD=1 VA=8 VB=8 VC=8 "
#define WGMMA "wgmma BM=64 BN=64 BK=64 STAGES=4 VC=8 WALK=1 STORE=2 SMS=132 "
#define SIMT  "simt BM=32 BN=64 BK=16 WM=16 WN=32 TM=4 TN=4 STAGES=2 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 "
static const char *const config_text[CALLS][WINNERS] = {
    [SGEMM] = {[KERNEL] = SIMT, [COUNTERS] = SIMT "SPLIT_K=4 REDUCE=1"},
    [MM] = {[KERNEL] = MMA16 "PDL=1 ASK=16", [MAPS] = WGMMA, [COUNTERS] = MMA16 "SPLIT_K=2 REDUCE=1"},
    [BMM] = {[KERNEL] = MMA16 "PDL=1"},
    [LINEAR] = {[KERNEL] = MMA16 "PDL=1 ASK=16", [MAPS] = WGMMA, [COUNTERS] = MMA16 "SPLIT_K=2 REDUCE=1"},
};

static struct config config_of(const char *text)
{
    char family[16];
    int length = 0;
    if (sscanf(text, "%15[a-z0-9] %n", family, &length) != 1) abort();
    struct config config = least_config(family);
    config_change(&config, text + length);
    return config;
}

static int k_of(enum winner winner)
{
    return SIZE + 64 * (int)winner;
}

static bool has(enum call call, enum winner winner)
{
    return winner == NONE || config_text[call][winner] ||
           (winner == LIBRARY && (call == MM || call == LINEAR));
}

static void *at(const struct device_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address; /* NOLINT: a device address */
}

/* What PyTorch does before each product of cuBLAS. */
static int prepare_handle(const struct functions *f, const struct caller *x, int math)
{
    return f->SetStream(x->handle, x->stream) |
           f->SetWorkspace(x->handle, at(&x->workspace), WORKSPACE_BYTES) | own.SetMathMode(x->handle, math);
}

static int run_blas(const struct functions *f, const struct caller *x, enum call call, int k, bool product)
{
    int result = prepare_handle(f, x, BLAS_DEFAULT_MATH);
    if (!product) return result;
    if (call == SGEMM)
        return result | f->Sgemm(x->handle, BLAS_OP_N, BLAS_OP_N, SIZE, SIZE, k, &one, at(&x->a), SIZE,
                                 at(&x->b), k, &zero, at(&x->c), SIZE);
    if (call == MM)
        return result | f->GemmEx(x->handle, BLAS_OP_N, BLAS_OP_N, SIZE, SIZE, k, &one, at(&x->a),
                                  BLAS_R_16BF, SIZE, at(&x->b), BLAS_R_16BF, k, &zero, at(&x->c), BLAS_R_16BF,
                                  SIZE, BLAS_COMPUTE_32F, -1);
    return result | f->GemmStridedEx(x->handle, BLAS_OP_N, BLAS_OP_N, SIZE, SIZE, k, &one, at(&x->a),
                                     BLAS_R_16BF, SIZE, SIZE * k, at(&x->b), BLAS_R_16BF, k, SIZE * k, &zero,
                                     at(&x->c), BLAS_R_16BF, SIZE, SIZE * SIZE, 4, BLAS_COMPUTE_32F, -1);
}

/* As at::cuda::blas::gemm_and_bias does. */
static int run_linear(const struct functions *f, const struct caller *x, int k, bool product)
{
    enum { TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS_POINTER = 8, PREFER_WORKSPACE = 1, PREFER_ALIGN = 5 };
    const int32_t op_a = BLAS_OP_T, op_b = BLAS_OP_N;
    const uint32_t epilogue = LT_EPILOGUE_BIAS, alignment = 256;
    const size_t bytes = LT_WORKSPACE_BYTES;
    const void *bias = at(&x->bias);
    blas_lt_object desc, preference, a, b, c;
    struct blas_lt_answer answer;
    int count = 0;
    int result = blas_lt.DescCreate(&desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    result |= blas_lt.DescSet(desc, TRANSA, &op_a, sizeof op_a) |
              blas_lt.DescSet(desc, TRANSB, &op_b, sizeof op_b) |
              blas_lt.DescSet(desc, EPILOGUE, &epilogue, sizeof epilogue) |
              blas_lt.DescSet(desc, BIAS_POINTER, &bias, sizeof bias);
    result |= blas_lt.LayoutCreate(&a, BLAS_R_16BF, (uint64_t)k, SIZE, k) |
              blas_lt.LayoutCreate(&b, BLAS_R_16BF, (uint64_t)k, SIZE, k) |
              blas_lt.LayoutCreate(&c, BLAS_R_16BF, SIZE, SIZE, SIZE);
    result |= blas_lt.PreferenceCreate(&preference) |
              blas_lt.PreferenceSet(preference, PREFER_WORKSPACE, &bytes, sizeof bytes);
    for (int i = 0; i < 4; i++)
        result |= blas_lt.PreferenceSet(preference, PREFER_ALIGN + i, &alignment, sizeof alignment);
    if (!result) result = blas_lt.Heuristic(x->lt, desc, a, b, c, c, preference, 1, &answer, &count);
    if (!result && product)
        result = f->Matmul((lt_handle)(void *)x->lt, (lt_desc)(void *)desc, &one, at(&x->a),
                           (lt_layout)(void *)a, at(&x->b), (lt_layout)(void *)b, &zero, at(&x->c),
                           (lt_layout)(void *)c, at(&x->c), (lt_layout)(void *)c, &answer.algorithm,
                           at(&x->lt_workspace), LT_WORKSPACE_BYTES, x->stream);
    return result | blas_lt.PreferenceDestroy(preference) | blas_lt.LayoutDestroy(c) |
           blas_lt.LayoutDestroy(b) | blas_lt.LayoutDestroy(a) | blas_lt.DescDestroy(desc);
}

static int run(const struct caller *x, enum call call, enum winner winner, enum variant variant)
{
    const struct functions *f = variant == SEEN ? &seen : &plain;
    return call == LINEAR ? run_linear(f, x, k_of(winner), variant != FLOOR)
                          : run_blas(f, x, call, k_of(winner), variant != FLOOR);
}

/* ---- what the drop-in asks for ---- */

static int ask_context(const struct caller *x)
{
    unsigned long long id;
    return (void)x, (int)cuda.CtxGetId(NULL, &id);
}

static int ask_capture(const struct caller *x)
{
    CUstreamCaptureStatus status;
    cuuint64_t id;
    return (int)cuda.StreamGetCaptureInfo(x->stream, &status, &id, NULL, NULL, NULL);
}

static int ask_stream_id(const struct caller *x)
{
    unsigned long long id;
    return (int)cuda.StreamGetId(x->stream, &id);
}

static int ask_stream(const struct caller *x)
{
    CUstream stream;
    return own.GetStream(x->handle, &stream);
}

static int exchange_mode(const struct caller *x)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return (void)x, (int)cuda.ThreadExchangeStreamCaptureMode(&mode) |
                        (int)cuda.ThreadExchangeStreamCaptureMode(&mode);
}

static int make_desc(const struct caller *x)
{
    enum { TRANSA = 3, EPILOGUE = 7 };
    const int32_t op = BLAS_OP_T;
    blas_lt_object desc;
    (void)x;
    return blas_lt.DescCreate(&desc, BLAS_COMPUTE_32F, BLAS_R_32F) |
           blas_lt.DescSet(desc, TRANSA, &op, sizeof op) | blas_lt.DescDestroy(desc);
}

static int set_bytes(const struct caller *x)
{
    return (int)cuda.MemsetD8Async(x->lt_workspace.address, 0, 256, x->stream);
}

static int launch_nothing(const struct caller *x)
{
    const void *argument = NULL;
    void *parameters[] = {&argument};
    return (int)cuda.LaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, x->stream, parameters, NULL);
}

static int launch_dependent(const struct caller *x)
{
    const void *argument = NULL;
    void *parameters[] = {&argument};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = x->stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    return (int)cuda.LaunchKernelEx(&config, nothing, parameters, NULL);
}

static const struct {
    const char *name;
    int (*run)(const struct caller *x);
} questions[] = {{"cuCtxGetId", ask_context},
                 {"cublasGetStream", ask_stream},
                 {"cuStreamGetCaptureInfo", ask_capture},
                 {"cuStreamGetId", ask_stream_id},
                 {"cuThreadExchangeStreamCaptureMode, twice", exchange_mode},
                 {"a descriptor of cublasLt made and destroyed", make_desc},
                 {"cuMemsetD8Async", set_bytes},
                 {"cuLaunchKernel of an empty kernel", launch_nothing},
                 {"the same with programmatic dependency", launch_dependent}};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* ---- rounds ---- */

struct cell {
    double ns[VARIANTS][EAGER_ROUNDS];
};
static struct cell cells[CALLS][WINNERS];
static double question_ns[QUESTIONS][EAGER_ROUNDS];

/* One item of a round, which all threads do at the same time. */
static struct {
    pthread_barrier_t begin, end;
    enum call call;
    enum winner winner;
    enum variant variant;
    int question; /* -1: a product */
    bool stop;
    double ns[THREADS_MAX];
    int failed[THREADS_MAX];
} now;

static int do_call(const struct caller *x)
{
    return now.question >= 0 ? questions[now.question].run(x) : run(x, now.call, now.winner, now.variant);
}

/* Takes the place of all else in the caches of a core. */
static void fill_caches(int thread)
{
    enum { BYTES = 4 << 20, LINE = 64 };
    static unsigned char *other[THREADS_MAX];
    if (!other[thread]) other[thread] = calloc(1, BYTES);
    for (int i = 0; i < BYTES; i += LINE) other[thread][i]++;
}

static void do_item(int thread)
{
    const struct caller *x = &callers[thread];
    const int calls = cold ? COLD_CALLS : EAGER_CALLS;
    int failed = 0;
    double ns = 0, start = now_ns();
    for (int i = 0; i < calls; i++) {
        if (cold) {
            fill_caches(thread);
            start = now_ns();
        }
        failed |= do_call(x);
        if (cold) ns += now_ns() - start;
    }
    now.ns[thread] = (cold ? ns : now_ns() - start) / calls;
    now.failed[thread] = failed;
    if (cuda.StreamSynchronize(x->stream) != CUDA_SUCCESS) now.failed[thread] |= 1;
}

static void *body(void *of)
{
    const int thread = (int)((struct caller *)of - callers);
    cuda.CtxSetCurrent(device.context);
    for (;;) {
        pthread_barrier_wait(&now.begin);
        if (now.stop) return NULL;
        do_item(thread);
        pthread_barrier_wait(&now.end);
    }
}

/* ns of a call: the mean of the threads. */
static double item(const char *what)
{
    double sum = 0;
    pthread_barrier_wait(&now.begin);
    do_item(0);
    pthread_barrier_wait(&now.end);
    for (int i = 0; i < threads; i++) {
        if (now.failed[i]) {
            fprintf(stderr, "bench_eager: %s: a call failed (%d)\n", what, now.failed[i]);
            exit(1);
        }
        sum += now.ns[i];
    }
    return sum / threads;
}

static void round_all(int round)
{
    for (now.question = 0; now.question < QUESTIONS; now.question++)
        question_ns[now.question][round] = item(questions[now.question].name);
    now.question = -1;
    for (int call = 0; call < CALLS; call++)
        for (int winner = 0; winner < WINNERS; winner++) {
            if (!has((enum call)call, (enum winner)winner)) continue;
            now.call = (enum call)call;
            now.winner = (enum winner)winner;
            for (int i = 0; i < VARIANTS; i++) {
                now.variant = (enum variant)((i + round) % VARIANTS); /* none is always the first */
                cells[call][winner].ns[now.variant][round] = item(call_name[call]);
            }
        }
}

/* ---- the table ---- */

enum figure { OF_VARIANT, ADDED, RATIO, ABOVE_FLOOR };

/* Over the rounds: of a variant, or of what `seen` adds to plain or floor, or is of plain. */
static double quantile_of(const struct cell *cell, enum figure figure, enum variant variant, double quantile)
{
    double v[EAGER_ROUNDS];
    for (int i = 0; i < EAGER_ROUNDS; i++) {
        const double s = cell->ns[SEEN][i], p = cell->ns[PLAIN][i], f = cell->ns[FLOOR][i];
        v[i] = figure == ADDED         ? s - p
               : figure == RATIO       ? s / p
               : figure == ABOVE_FLOOR ? s - f
                                       : cell->ns[variant][i];
    }
    qsort(v, EAGER_ROUNDS, sizeof *v, round_ascending);
    return v[(int)(quantile * (EAGER_ROUNDS - 1))];
}

static bool is_off(void)
{
    const char *mode = getenv("GEMMTUNE_DROPIN");
    return mode && strcmp(mode, "off") == 0;
}

/* Why the cell is beyond its bound; NULL: it is not. With several threads it is the libraries' locks that are
 * timed. */
static const char *beyond(enum winner winner, double added, double ratio)
{
    if (threads > 1 || cold) return NULL;
    if (is_off()) return added > OFF_BOUND_NS ? "more than 100 ns added" : NULL;
    if (winner == NONE) return added > NONE_BOUND_NS ? "more than 300 ns added" : NULL;
    if (winner == LIBRARY) return ratio > LIBRARY_BOUND ? "slower than plain" : NULL;
    return ratio > KERNEL_BOUND ? "more than 0.6 of plain" : NULL;
}

static int print_all(FILE *json)
{
    int over = 0;
    printf("%s: host time of a call at 256x256x256 to 512, %d thread%s, %s, drop-in %s; us, medians of %d "
           "rounds "
           "of %d calls\n",
           device.gpu.name, threads, threads > 1 ? "s" : "", cold ? "cold" : "warm", is_off() ? "off" : "on",
           EAGER_ROUNDS, EAGER_CALLS);
    printf("%-20s %-22s %7s %7s %7s %9s %15s %7s %9s\n", "", "", "plain", "seen", "floor", "seen-plain",
           "(p10 to p90)", "ratio", "seen-floor");
    for (int call = 0; call < CALLS; call++)
        for (int winner = 0; winner < WINNERS; winner++) {
            const struct cell *cell = &cells[call][winner];
            if (!has((enum call)call, (enum winner)winner)) continue;
            const double added = quantile_of(cell, ADDED, PLAIN, 0.5),
                         ratio = quantile_of(cell, RATIO, PLAIN, 0.5);
            const char *why = beyond((enum winner)winner, added, ratio);
            printf("%-20s %-22s %7.2f %7.2f %7.2f %9.2f (%6.2f %6.2f) %7.3f %9.2f %s\n", call_name[call],
                   winner_name[winner], 1e-3 * quantile_of(cell, OF_VARIANT, PLAIN, 0.5),
                   1e-3 * quantile_of(cell, OF_VARIANT, SEEN, 0.5),
                   1e-3 * quantile_of(cell, OF_VARIANT, FLOOR, 0.5), 1e-3 * added,
                   1e-3 * quantile_of(cell, ADDED, PLAIN, 0.1), 1e-3 * quantile_of(cell, ADDED, PLAIN, 0.9),
                   ratio, 1e-3 * quantile_of(cell, ABOVE_FLOOR, PLAIN, 0.5), why ? why : "");
            over += why != NULL;
            if (json)
                fprintf(json,
                        "{\"call\": \"%s\", \"winner\": \"%s\", \"threads\": %d, \"cold\": %s, \"off\": %s, "
                        "\"plain_us\": "
                        "%.3f, "
                        "\"seen_us\": %.3f, \"floor_us\": %.3f, \"added_us\": %.3f, \"ratio\": %.3f}\n",
                        call_name[call], winner_name[winner], threads, cold ? "true" : "false",
                        is_off() ? "true" : "false", 1e-3 * quantile_of(cell, OF_VARIANT, PLAIN, 0.5),
                        1e-3 * quantile_of(cell, OF_VARIANT, SEEN, 0.5),
                        1e-3 * quantile_of(cell, OF_VARIANT, FLOOR, 0.5), 1e-3 * added, ratio);
        }
    for (int i = 0; i < QUESTIONS; i++) {
        qsort(question_ns[i], EAGER_ROUNDS, sizeof(double), round_ascending);
        printf("%-44s %7.0f ns\n", questions[i].name, question_ns[i][EAGER_ROUNDS / 2]);
    }
    printf("bounds: %s\n", over ? "NOT kept" : "kept");
    return over;
}

/* ---- setup ---- */

static void find(struct functions *f, void *blas_library, void *lt_library)
{
    const struct library_symbol symbols[] = {{"cublasSgemm_v2", &f->Sgemm},
                                             {"cublasGemmEx", &f->GemmEx},
                                             {"cublasGemmStridedBatchedEx", &f->GemmStridedEx},
                                             {"cublasSetStream_v2", &f->SetStream},
                                             {"cublasSetWorkspace_v2", &f->SetWorkspace}};
    const struct library_symbol lt_symbols[] = {{"cublasLtMatmul", &f->Matmul}};
    must(library_bind(blas_library, symbols, 5) || library_bind(lt_library, lt_symbols, 1), "look up cuBLAS");
}

/* The libraries that blas.h and blas_lt.h have opened. */
static void *library_at(const void *function)
{
    char path[4096];
    void *symbol;
    memcpy(&symbol, function, sizeof symbol);
    loaded_from(symbol, path, sizeof path);
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    must(!library, path);
    return library;
}

static void find_functions(void)
{
    void *blas_library = library_at(&blas.Create), *lt_library = library_at(&blas_lt.Create);
    find(&plain, blas_library, lt_library);
    find(&seen, RTLD_DEFAULT, RTLD_DEFAULT);
    must(plain.GemmEx == seen.GemmEx || plain.Matmul == seen.Matmul, "the drop-in is not preloaded");
    const struct library_symbol others[] = {{"cublasSetMathMode", &own.SetMathMode},
                                            {"cublasGetStream_v2", &own.GetStream}};
    must(library_bind(blas_library, others, 2) != NULL, "look up cuBLAS");
}

static void open_caller(struct caller *x)
{
    const size_t bytes = sizeof(float) * 4 * SIZE * K_MOST;
    must(blas.Create(&x->handle) || blas_lt.Create(&x->lt), "start cuBLAS");
    must(cuda.StreamCreate(&x->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS, "make a stream");
    must(device_allocate(&x->a, bytes) || device_allocate(&x->b, bytes) || device_allocate(&x->c, bytes) ||
             device_allocate(&x->bias, bytes) || device_allocate(&x->workspace, WORKSPACE_BYTES) ||
             device_allocate(&x->lt_workspace, LT_WORKSPACE_BYTES),
         "allocate");
}

/* The first that cublasLt proposes. */
static void library_config(const struct problem *problem, struct config *config)
{
    struct config all[BLAS_LT_ANSWERS_MAX];
    int count = 0;
    must(lt_kernel_candidates(&device, problem, all, &count) || !count, "algorithms of cublasLt");
    *config = all[0];
}

static void write_winners(const char *folder)
{
    char path[256], text[128];
    struct problem problem;
    struct config config;
    snprintf(path, sizeof path, "mkdir '%s/winners'", folder);
    must(system(path), "make a folder");
    snprintf(path, sizeof path, "%s/winners/some.jsonl", folder);
    FILE *file = fopen(path, "w");
    must(!file, path);
    for (int call = 0; call < CALLS; call++)
        for (int winner = KERNEL; winner < WINNERS; winner++) {
            if (!has((enum call)call, (enum winner)winner)) continue;
            snprintf(text, sizeof text, problem_text[call],
                     k_of((enum winner)winner)); /* NOLINT: a constant */
            must(problem_parse(text, &problem), text);
            if (winner == LIBRARY) library_config(&problem, &config);
            else config = config_of(config_text[call][winner]);
            const char *why = config.template->check(&config, &problem, &device.gpu);
            must(why != NULL, why ? why : "");
            round_winner(file, &device, text, &config);
        }
    fclose(file);
}

static void use_winners(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/no.db", folder);
    setenv("GEMMTUNE_DB", path, 1);
    setenv("GEMMTUNE_SYSTEM_DB", "off", 1);
    setenv("GEMMTUNE_CONFIGS", folder, 1);
    setenv("GEMMTUNE_CACHE", folder, 1);
    setenv("GEMMTUNE_RENEW_S", "0", 1);
    setenv("GEMMTUNE_WAIT", "1", 1);
}

/* ---- did the winners answer? ---- */

/* A log changes what is timed, so a process of its own is asked. Prints what is missing. */
static int missing_answers(const char *folder)
{
    char line[1024], text[128];
    int missing = 0;
    for (int call = 0; call < CALLS; call++)
        for (int winner = KERNEL; winner < WINNERS; winner++) {
            bool found = false;
            if (!has((enum call)call, (enum winner)winner)) continue;
            snprintf(text, sizeof text, problem_text[call],
                     k_of((enum winner)winner)); /* NOLINT: a constant */
            strcat(text, " -> tuned kernel");
            snprintf(line, sizeof line, "%s/log", folder);
            FILE *log = fopen(line, "r");
            must(!log, line);
            while (fgets(line, sizeof line, log)) found |= strstr(line, text) != NULL;
            if (!found) {
                printf("%s: no tuned kernel has answered; the log:\n", text);
                rewind(log);
                while (fgets(line, sizeof line, log)) fputs(line, stdout);
            }
            fclose(log);
            missing += !found;
        }
    return missing;
}

static void load_nothing(const char *folder)
{
    const struct source_text source = {"nothing.cu", "extern \"C\" __global__ void nothing(const void *) {}"};
    struct compiled built;
    CUmodule module;
    must(compile_sources(&source, 1, NULL, 0, device.gpu.arch, folder, &built) || !built.built, "compile");
    must(kernel_open(built.path, built.checksum, &module), "load");
    must(cuda.ModuleGetFunction(&nothing, module, "nothing") != CUDA_SUCCESS, "find a kernel");
}

static int start(const char *folder)
{
    char version[16];
    if (device_load() || device_open(0, &device) || blas_load(version) || blas_lt_load()) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    find_functions();
    load_nothing(folder);
    for (int i = 0; i < threads; i++) open_caller(&callers[i]);
    return 0;
}

/* In a child: each product once, with a log. */
static int run_once(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/log", folder);
    must(!freopen(path, "w", stderr), path);
    setenv("GEMMTUNE_LOG", "1", 1);
    threads = 1;
    int code = start(folder);
    if (code) return code;
    write_winners(folder);
    for (int call = 0; call < CALLS; call++)
        for (int winner = 0; winner < WINNERS; winner++)
            if (has((enum call)call, (enum winner)winner))
                code |= run(&callers[0], (enum call)call, (enum winner)winner, SEEN);
    fflush(stderr);
    return cuda.StreamSynchronize(callers[0].stream) || code ? 1 : missing_answers(folder) > 0;
}

static int check_answers(const char *folder)
{
    int status = 0;
    const pid_t child = fork();
    must(child < 0, "fork");
    if (child == 0) _exit(run_once(folder));
    must(waitpid(child, &status, 0) < 0, "wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int bench(FILE *json)
{
    pthread_t thread[THREADS_MAX];
    pthread_barrier_init(&now.begin, NULL, (unsigned)threads);
    pthread_barrier_init(&now.end, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        must(pthread_create(&thread[i], NULL, body, &callers[i]), "start a thread");
    for (int i = 0; i < 5; i++) round_all(0); /* first calls */
    for (int i = 0; i < EAGER_ROUNDS; i++) round_all(i);
    now.stop = true;
    pthread_barrier_wait(&now.begin);
    for (int i = 1; i < threads; i++) pthread_join(thread[i], NULL);
    return print_all(json);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/gemmtune-eager-XXXXXX", command[64];
    FILE *json = NULL;
    for (int i = 2; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--threads") == 0) threads = atoi(argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--cold") == 0) cold = atoi(argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--json") == 0) json = fopen(argv[i + 1], "a");
        else argc = 0;
    }
    if (argc < 2 || threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr,
                "usage: bench_eager LIBGEMMTUNE_CUBLAS [--threads 1..%d] [--cold 0|1] [--json FILE]\n",
                THREADS_MAX);
        return 2;
    }
    if (!getenv("LD_PRELOAD")) {
        setenv("LD_PRELOAD", argv[1], 1);
        execv("/proc/self/exe", argv);
        must(1, "start anew");
    }
    must(!mkdtemp(folder), "make a folder");
    use_winners(folder);
    const int checked = is_off() ? 0 : check_answers(folder);
    int code = checked ? checked : start(folder);
    if (!code) code = bench(json) > 0;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) || code;
}
