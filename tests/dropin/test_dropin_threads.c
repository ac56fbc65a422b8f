/* The drop-in in a program of many threads: problems and layouts that come up at the same time in all of
 * them, kernels that are prepared meanwhile, captures, a recorder that saves every millisecond, the log. For
 * the thread sanitizer, and for the answers: every product is of ones, so that each element of C is K.
 */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "files.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 40, SIDE = 16, PROBLEMS = 24 };

static float ones[SIDE * 64];
static pthread_barrier_t barrier;

struct caller {
    pthread_t thread;
    int number, wrong;
    float c[SIDE * SIDE];
};

static int k_of(int problem)
{
    return 16 + problem;
}

static int call_lt(int problem, float *c, CUstream on)
{
    struct lt_call x;
    const int k = k_of(problem);
    cublasLtMatmulDescCreate(&x.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&x.a, BLAS_R_32F, SIDE, (uint64_t)k, SIDE);
    cublasLtMatrixLayoutCreate(&x.b, BLAS_R_32F, (uint64_t)k, SIDE, k);
    cublasLtMatrixLayoutCreate(&x.c, BLAS_R_32F, SIDE, SIDE, SIDE);
    int result = cublasLtMatmul(lt_context, x.desc, &one, ones, x.a, ones, x.b, &zero, c, x.c, c, x.c, NULL,
                                NULL, 0, on);
    lt_free(&x);
    return result;
}

static int call_sgemm(int problem, float *c, blas_handle handle)
{
    const int k = k_of(problem);
    return cublasSgemm_v2(handle, 0, 0, SIDE, SIDE, k, &one, ones, SIDE, ones, k, &zero, c, SIDE);
}

static void *call_all(void *opaque)
{
    struct caller *x = opaque;
    CUstream own;
    CUgraph graph;
    blas_handle handle;
    unsigned seed = (unsigned)x->number;
    const CUdevice device = use_primary_context();
    x->wrong +=
        cublasCreate_v2(&handle) != 0 || cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
    cublasSetStream_v2(handle, own);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        const int problem =
            i < PROBLEMS ? i : rand_r(&seed) % PROBLEMS; /* all meet each for the first time */
        const bool captured = rand_r(&seed) % 8 == 0;
        if (captured) cuda.StreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        x->wrong +=
            (rand_r(&seed) % 2 ? call_lt(problem, x->c, own) : call_sgemm(problem, x->c, handle)) != 0;
        if (captured) x->wrong += cuda.StreamEndCapture(own, &graph) != CUDA_SUCCESS;
        for (int j = 0; j < SIDE * SIDE; j++) x->wrong += x->c[j] != (float)k_of(problem);
    }
    cuda.StreamDestroy(own);
    cublasDestroy_v2(handle);
    cuda.CtxSetCurrent(NULL);
    cuda.DevicePrimaryCtxRelease(device);
    return NULL;
}

static void many_threads_call(void **state)
{
    static struct caller callers[THREADS];
    const char *const configs[] = {SIMT, SIMT_SPLIT, NULL};
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        char text[64];
        snprintf(text, sizeof text, "sgemm:nn:%dx%dx%d", SIDE, SIDE, k_of(i));
        if (i % 4 != 3) put_winner(text, configs[i % 4], 5, false);
    }
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
    assert_int_equal(cublasLtCreate(&lt_context), 0);
    *fake.computes = 1;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_all, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(callers[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
    cublasLtDestroy(lt_context);
    for (int i = 0; i < THREADS; i++)
        if (callers[i].wrong) fail_msg("thread %d: %d wrong", i, callers[i].wrong);
    assert_true(*fake.launch_count > 0 && program_blas_calls + program_lt_calls > 0);
}

static const struct scenario scenarios[] = {
    SCENARIO(many_threads_call),
};

/* Every call is in the file, although it was being written all the time. */
static void many_threads_are_recorded(void **state)
{
    char path[] = "/tmp/gemmtune-threads-XXXXXX", said[] = "/tmp/gemmtune-threads-XXXXXX", line[512];
    (void)state;
    close(mkstemp(path));
    close(mkstemp(said));
    setenv("GEMMTUNE_LOG", "1", 1);
    int status = scenario_start_recorded("many_threads_call", said, path);
    unsetenv("GEMMTUNE_LOG");
    if (status) fail_msg("%d: %s", status, file_text(said));
    long count = 0, problems = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "count=");
        if (!at) continue;
        count += strtol(at + strlen("count="), NULL, 10);
        problems++;
    }
    fclose(file);
    assert_int_equal(problems, PROBLEMS);
    assert_int_equal(count, THREADS * ROUNDS);
    unlink(path);
    unlink(said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest recorded[] = {
        cmocka_unit_test(many_threads_are_recorded),
    };
    return dropin_main(argc, argv, "test_dropin_threads", scenarios, sizeof scenarios / sizeof *scenarios,
                       recorded, sizeof recorded / sizeof *recorded);
}
