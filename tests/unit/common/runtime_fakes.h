/* runtime_fakes.h — libgemmtune on a driver, a cuBLAS and a compiler made of host memory: a folder with a
 * database of winners, a cache and pretuned files, operands, and what is said on standard error.
 */
#ifndef GT_RUNTIME_FAKES_H
#define GT_RUNTIME_FAKES_H

#include "device.h"
#include "fake_gpu.h"
#include "gemmtune.h"
#include "kernel_hash.h"
#include "least_config.h"
#include "public_problem.h"
#include "reference.h"
#include "runtime_calls.h"
#include "store.h"

#include <dlfcn.h>
#include <fcntl.h>

/* Configurations of simt by what they differ in from a plain one: a parameter that is not named has its least
 * value. Texts of the program's lifetime. */
#define SIMT       config_text(0, "")
#define SIMT_SPLIT config_text(1, "SPLIT_K=4")
#define SIMT_LARGE config_text(2, "BM=128 BN=128 WM=64 TM=8 MIN_BLOCKS=2 GROUP=8")

/* Of mma, for aligned operands. */
#define MMA       "mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 SPLIT_K=1"
#define MMA_SPLIT "mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 SPLIT_K=2"

/* An algorithm of cublasLt as fake_lt.c keeps it: for operands at multiples of 16 bytes, scalars on the host;
 * needs no workspace. sums: a number of cublasLtReductionScheme_t, as text. */
#define LT_ALGORITHM_ADDS(sums)                                                                              \
    "cublaslt ALGO=21 TILE_ID=0 STAGES_ID=0 SPLIT_K=2 SUMS=" sums " SWIZZLE=0 CUSTOM=0 INNER_ID=0 "          \
    "CLUSTER_ID=0 WORKSPACE=0 VERSION=130100 W0=16 W1=0 W2=0 W3=0 W4=1 W5=0 W6=0 W7=0 W8=0 W9=0 W10=21 "     \
    "W11=0 W12=0 W13=0 W14=0 W15=0"
#define LT_ALGORITHM LT_ALGORITHM_ADDS("0")

static inline const char *config_text(int place, const char *changes)
{
    static char texts[8][CONFIG_TEXT_MAX];
    static const char *const base =
        "BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8";
    struct config config = least_config("simt");
    config_change(&config, base);
    config_change(&config, changes);
    config_format(&config, texts[place]);
    return texts[place];
}

/* What the fakes remember; the addresses are known once they are loaded. */
static struct {
    struct fake_launch *launches;
    int *launch_count, *open, *computes, *loads, *blas_calls, *compilations;
    int *records, *waits, *overlaps, *dirty_counters, *stale_launches, *forbidden, *busy, *modules;
    int *buffers, *allocations, *fail_at, *torn, *lt_calls, *lt_compute, *blas_pointer_calls;
    int *lt_asked, *lt_workspace,
        *lt_alignment; /* of the last product: offered, taken, and for which addresses */
    int *lt_descs;     /* descriptors that were made */
    long long *bytes, *bytes_most;
    void (*join)(void *captured, void *other);
    void (*reset)(void *context);
} fake;

static CUstream stream;

/* Loads the fakes that the environment names. 0: done. */
static inline int fakes_attach(void)
{
    if (device_load()) return -1;
    void *gpu = dlopen(FAKE_GPU, RTLD_NOW), *nvrtc = dlopen(FAKE_NVRTC, RTLD_NOW);
    if (!gpu || !nvrtc) return -1;
    fake.launches = dlsym(gpu, "fake_launches");
    fake.launch_count = dlsym(gpu, "fake_launch_count");
    fake.open = dlsym(gpu, "fake_open");
    *(void **)&fake.join = dlsym(gpu, "fake_join");
    fake.computes = dlsym(gpu, "fake_computes");
    fake.loads = dlsym(gpu, "fake_loads");
    fake.blas_calls = dlsym(gpu, "fake_blas_calls");
    fake.compilations = dlsym(nvrtc, "fake_compilations");
    const struct {
        const char *name;
        int **at;
    } counts[] = {{"fake_records", &fake.records},
                  {"fake_waits", &fake.waits},
                  {"fake_overlaps", &fake.overlaps},
                  {"fake_dirty_counters", &fake.dirty_counters},
                  {"fake_stale_launches", &fake.stale_launches},
                  {"fake_forbidden", &fake.forbidden},
                  {"fake_busy", &fake.busy},
                  {"fake_modules", &fake.modules},
                  {"fake_buffers", &fake.buffers},
                  {"fake_allocations", &fake.allocations},
                  {"fake_fail_at", &fake.fail_at},
                  {"fake_torn", &fake.torn},
                  {"fake_lt_calls", &fake.lt_calls},
                  {"fake_lt_compute", &fake.lt_compute},
                  {"fake_blas_pointer_calls", &fake.blas_pointer_calls},
                  {"fake_lt_asked", &fake.lt_asked},
                  {"fake_lt_workspace", &fake.lt_workspace},
                  {"fake_lt_alignment", &fake.lt_alignment},
                  {"fake_lt_descs", &fake.lt_descs}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i].at = dlsym(gpu, counts[i].name);
        **counts[i].at = 0;
    }
    fake.bytes = dlsym(gpu, "fake_bytes");
    fake.bytes_most = dlsym(gpu, "fake_bytes_most");
    *fake.bytes_most = *fake.bytes;
    *(void **)&fake.reset = dlsym(gpu, "fake_reset");
    cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    *fake.launch_count = *fake.open = *fake.computes = *fake.loads = *fake.blas_calls = *fake.compilations =
        0;
    return 0;
}

/* The environment of every test: nothing but the fakes and the test's own folder. */
static inline int fakes_setup(void **state)
{
    if (store_setup(state)) return -1;
    char path[160];
    setenv("GEMMTUNE_LIBCUDA", FAKE_GPU, 1);
    setenv("GEMMTUNE_LIBCUBLAS", FAKE_GPU, 1);
    setenv("GEMMTUNE_LIBCUBLASLT", FAKE_GPU, 1);
    setenv("GEMMTUNE_LIBNVRTC", FAKE_NVRTC, 1);
    setenv("FAKE_CUBLAS_POOL", "1", 1);
    setenv("GEMMTUNE_DB", store_path, 1);
    snprintf(path, sizeof path, "%s/configs", store_folder);
    setenv("GEMMTUNE_CONFIGS", path, 1);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/configs/winners", store_folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/kernels", store_folder);
    setenv("GEMMTUNE_CACHE", path, 1);
    static const char *const none[] = {
        "FAKE_GPU_FAIL", "FAKE_GPU_THREADS", "FAKE_GPU_SMEM",    "FAKE_GPU_VERSION", "FAKE_NVRTC_REFUSES",
        "FAKE_NVRTC_MS", "FAKE_CUBLAS_FAIL", "GEMMTUNE_QUIET",   "FAKE_GPU_MEMORY",  "FAKE_GPU_NO_POOLS",
        "FAKE_LT_FAIL",  "FAKE_LT_PROPOSES", "FAKE_LT_WORKSPACE"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) unsetenv(none[i]);
    return fakes_attach();
}

/* Nothing may be left open, in the driver or of the thread's context. */
static inline int fakes_teardown(void **state)
{
    CUcontext current;
    unsetenv("FAKE_GPU_FAIL");
    int left = *fake.open;
    if (left) print_error("%d resources were not released\n", left);
    cuda.CtxGetCurrent(&current);
    cuda.CtxSetCurrent(NULL);
    cuda.StreamDestroy(stream);
    return store_teardown(state) || left != 0 || current != NULL;
}

/* As a program does that uses the GPU before it calls anything of ours, in each of its threads. */
static inline CUdevice use_primary_context(void)
{
    CUdevice device;
    CUcontext context;
    cuda.DeviceGet(&device, 0);
    cuda.DevicePrimaryCtxRetain(&context, device);
    cuda.CtxSetCurrent(context);
    return device;
}

#define ON_FAKES(test) cmocka_unit_test_setup_teardown(test, fakes_setup, fakes_teardown)

/* ---- winners ---- */

/* The winners' file as another program changes it, with SQL. */
static inline sqlite3 *open_stored(const char *sql)
{
    sqlite3 *handle;
    char *why = NULL;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
    return handle;
}

/* config NULL: cuBLAS won. ratio 0: there was no rival. */
static inline void put_raced(const char *problem, const char *config, double time_us, double ratio,
                             bool predicted, bool pinned)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = {.base.time_us = time_us,
                          .base.ratio = ratio,
                          .base.ratio_low = 0.96 * ratio,
                          .base.ratio_high = 1.04 * ratio,
                          .base.anchor_us = ratio * time_us,
                          .rounds = 8,
                          .trials = 100,
                          .base.cold = true,
                          .base.exact = true,
                          .base.predicted = predicted,
                          .pinned = pinned};
    assert_ok(problem_parse(problem, &w.base.problem));
    if (gemm_type_has_limits(w.base.problem.type))
        w.errors = w.rival_errors = (struct db_errors){true, 1e-7, 1e-7, 1e-7};
    if (config) assert_ok(config_parse(config, &w.config));
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

static inline void put_winner(const char *problem, const char *config, double time_us, bool predicted)
{
    put_raced(problem, config, time_us, 1.25, predicted, false);
}

/* Ratios of kernels that were no faster than cuBLAS. */
static const double lost_ratios[] = {0.683, 0.994, 0.009, 1};
enum { LOST_RATIOS = sizeof lost_ratios / sizeof *lost_ratios };

static inline void pretuned_line(char *line, size_t room, const char *problem, const char *config,
                                 double time_us)
{
    struct config parsed = {0};
    struct problem of;
    assert_ok(problem_parse(problem, &of));
    bool kernel = strcmp(config, "cublas") != 0;
    if (kernel) assert_ok(config_parse(config, &parsed));
    snprintf(line, room,
             "{\"problem\": \"%s\", \"gpu\": \"NVIDIA H200\", \"arch\": 90, \"sm_count\": 132, \"config\": "
             "\"%.*s\", "
             "\"template_hash\": \"%016llx\", \"time_us\": %g, \"cublas_us\": %g, \"ratio\": 1.1, \"more\": "
             "[1]}\n",
             problem, CONFIG_TEXT_MAX, config,
             kernel ? (unsigned long long)kernel_hash_of(&parsed, &of, 90) : 0, time_us, 1.1 * time_us);
}

static inline void put_text(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/configs/winners/%s", store_folder, name);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void put_pretuned(const char *problem, const char *config, double time_us)
{
    char line[2048];
    pretuned_line(line, sizeof line, problem, config, time_us);
    put_text("h200.jsonl", line);
}

/* ---- problems and operands ---- */

static inline struct gt_problem problem_of(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return public_problem(&p);
}

/* Whole numbers so small that every sum is exact; `skew` floats after an address that is a multiple of 16. */
struct operand_set {
    struct problem problem;
    float *memory[3], *a, *b, *c, *want;
    int64_t span;
};

static inline float *some_floats(int64_t count, int skew, float **memory)
{
    size_t bytes = ((size_t)(count + skew + 8) * sizeof(float) + 63) / 64 * 64;
    *memory = aligned_alloc(64, bytes);
    assert_non_null(*memory);
    for (size_t i = 0; i < bytes / sizeof(float); i++) (*memory)[i] = (float)(rand() % 9 - 4);
    return *memory + skew;
}

static inline struct operand_set operands_make(const char *text, int skew)
{
    struct operand_set o;
    assert_ok(problem_parse(text, &o.problem));
    o.a = some_floats(problem_span_a(&o.problem), skew, &o.memory[0]);
    o.b = some_floats(problem_span_b(&o.problem), 0, &o.memory[1]);
    o.c = some_floats(problem_span_c(&o.problem), 0, &o.memory[2]);
    o.span = problem_span_c(&o.problem);
    o.want = malloc(((size_t)o.span + 1) * sizeof(float));
    assert_non_null(o.want);
    memcpy(o.want, o.c, (size_t)o.span * sizeof(float));
    *fake.computes = 1 + 2 * o.problem.trans_a + 4 * o.problem.trans_b;
    return o;
}

static inline void operands_free(struct operand_set *o)
{
    for (int i = 0; i < 3; i++) free(o->memory[i]);
    free(o->want);
}

/* C must be what the reference makes of it in so many calls. */
static inline void operands_check(struct operand_set *o, int calls, const char *who)
{
    for (int i = 0; i < calls; i++) reference_ijk(&o->problem, o->a, o->b, o->want);
    for (int64_t i = 0; i < o->span; i++)
        if (o->c[i] != o->want[i])
            fail_msg("%s: C[%lld] is %g, expected %g", who, (long long)i, (double)o->c[i],
                     (double)o->want[i]);
}

static inline enum gt_status launch_set(struct gt_plan *plan, const struct operand_set *o)
{
    float alpha = (float)o->problem.alpha, beta = (float)o->problem.beta;
    return launch(plan, &alpha, o->a, o->b, &beta, o->c, stream);
}

static inline enum gt_status gemm_set(struct gt_handle *handle, const struct gt_problem *p,
                                      const struct operand_set *o)
{
    float alpha = (float)o->problem.alpha, beta = (float)o->problem.beta;
    return gemm(handle, p, &alpha, o->a, o->b, &beta, o->c, stream);
}

#define assert_gt(call)                                                                                      \
    do {                                                                                                     \
        enum gt_status gt_answer = (call);                                                                   \
        if (gt_answer) fail_msg("%s: %d, %s", #call, (int)gt_answer, gt_error_text());                       \
    } while (0)

#define assert_gt_fails(call, expected, part)                                                                \
    do {                                                                                                     \
        assert_int_equal((call), (expected));                                                                \
        if (!strstr(gt_error_text(), (part))) fail_msg("'%s' lacks '%s'", gt_error_text(), (part));          \
    } while (0)

static inline struct gt_handle *open_handle(const struct gt_options *options)
{
    struct gt_handle *handle = NULL;
    assert_gt(gt_open(&handle, options));
    return handle;
}

static inline struct gt_handle *open_flagged(unsigned flags)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .flags = flags};
    return open_handle(&options);
}

static inline struct gt_plan *make_plan(struct gt_handle *handle, const char *text)
{
    struct gt_problem p = problem_of(text);
    struct gt_plan *plan = NULL;
    assert_gt(gt_plan_open(handle, &p, &plan));
    return plan;
}

static inline struct gt_plan_info info_of(const struct gt_plan *plan)
{
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_describe(plan, &info));
    return info;
}

/* ---- standard error ---- */

static int stderr_before = -1;

static inline void stderr_catch(void)
{
    char path[160];
    snprintf(path, sizeof path, "%s/stderr", store_folder);
    fflush(stderr);
    stderr_before = dup(2);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 2);
    close(fd);
}

/* What was said; valid until the next call. */
static inline const char *stderr_release(void)
{
    static char text[8192];
    fflush(stderr);
    lseek(2, 0, SEEK_SET);
    ssize_t length = read(2, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    dup2(stderr_before, 2);
    close(stderr_before);
    return text;
}

static inline int lines_in(const char *text)
{
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

#endif
