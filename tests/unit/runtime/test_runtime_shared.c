/* The runtime library without a GPU: many threads, streams, captures and contexts at once. */
#include "runtime_fakes.h"

#include <pthread.h>

static CUstream new_stream(void)
{
    CUstream made = NULL;
    assert_int_equal(cuda.StreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return made;
}

static const float one = 1, zero = 0;
static _Alignas(16) float data[3][64 * 64];

TEST(the_first_use_may_be_captured_and_only_launches_are)
{
    static const char *const texts[] = {"sgemm:nn:64x64x64", "sgemm:nt:64x64x64", "sgemm:tn:64x64x64"};
    put_winner(texts[0], SIMT, 5, false);
    put_winner(texts[1], SIMT_SPLIT, 5, false);
    put_winner(texts[2], NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    CUgraph graph;
    for (int i = 0; i < 3; i++) {
        struct operand_set even = operands_make(texts[i], 0), odd = operands_make(texts[i], 1);
        struct gt_problem p = problem_of(texts[i]);
        int before = *fake.launch_count;
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        assert_gt(gemm_set(handle, &p, &even));
        struct gt_plan *plan = make_plan(handle, texts[i]);
        assert_gt(launch_set(plan, &odd)); /* another kernel or cuBLAS has to be prepared */
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
        operands_check(&even, 1, "captured");
        operands_check(&odd, 1, "captured, unaligned");
        for (int l = before; l < *fake.launch_count; l++) assert_true(fake.launches[l].captured);
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        cuda.ThreadExchangeStreamCaptureMode(&mode);
        assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL); /* as it was */
        operands_free(&even);
        operands_free(&odd);
    }
    gt_close(handle);
}

/* From opening to closing, with a plan of every kind. */
static void *whole_life(void *opaque)
{
    static const char *const texts[] = {"sgemm:nn:64x64x64", "sgemm:nt:64x64x64", "sgemm:tn:64x64x64"};
    struct gt_handle *handle = NULL;
    intptr_t wrong = gt_open(&handle, NULL);
    for (int i = 0; i < 3 && !wrong; i++) {
        struct gt_problem p = problem_of(texts[i]);
        struct gt_plan *plan;
        wrong = gemm(handle, &p, &one, data[0], data[1], &zero, data[2], opaque);
        if (!wrong) wrong = gt_plan_open(handle, &p, &plan);
        if (!wrong) gt_plan_close(plan);
    }
    gt_close(handle);
    return (void *)wrong;
}

TEST(captures_of_other_threads_are_not_disturbed)
{
    static const CUstreamCaptureMode modes[] = {
        CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    put_winner("sgemm:nt:64x64x64", SIMT_SPLIT, 5, false);
    put_winner("sgemm:tn:64x64x64", NULL, 5, false);
    CUstream other = new_stream();
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *wrong;
        CUgraph graph;
        assert_int_equal(cuda.StreamBeginCapture(stream, modes[i]), CUDA_SUCCESS);
        assert_int_equal(pthread_create(&thread, NULL, whole_life, other), 0);
        pthread_join(thread, &wrong);
        assert_null(wrong);
        assert_null(whole_life(stream)); /* nor is this thread's, which takes part */
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    }
    cuda.CtxSetCurrent(NULL);
    cuda.StreamDestroy(other);
}

/* ---- threads ---- */

enum { THREADS = 8, EACH = 4 };

struct worker {
    struct gt_handle *handle;
    const char *text[EACH];
    CUcontext context;
    pthread_t thread;
    enum gt_status status;
    _Alignas(16) float c[64 * 64];
};

static pthread_barrier_t barrier;

static void *work(void *opaque)
{
    struct worker *w = opaque;
    CUstream own;
    cuda.CtxSetCurrent(w->context);
    if (cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING)) return NULL;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < EACH && !w->status; i++) {
        struct gt_problem p = problem_of(w->text[i]);
        w->status = gemm(w->handle, &p, &one, data[0], data[1], &zero, w->c, own);
    }
    cuda.StreamDestroy(own);
    return NULL;
}

static void work_together(struct worker workers[THREADS])
{
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].status, GT_OK);
    }
    pthread_barrier_destroy(&barrier);
}

static CUcontext context_now(void)
{
    CUcontext current;
    cuda.CtxGetCurrent(&current);
    return current;
}

TEST(threads_that_come_first_together_compile_once)
{
    static struct worker workers[THREADS];
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    setenv("FAKE_NVRTC_MS", "50", 1);
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.handle = handle, .context = context_now()};
        for (int j = 0; j < EACH; j++) workers[i].text[j] = "sgemm:nn:64x64x64";
    }
    work_together(workers);
    assert_int_equal(*fake.compilations, 1);
    assert_int_equal(*fake.loads, 1);
    assert_int_equal(*fake.launch_count, THREADS * EACH);
    assert_int_equal(*fake.blas_calls, 0); /* who came later waited */
    gt_close(handle);
}

TEST(problems_that_share_a_kernel_compile_it_once)
{
    static struct worker workers[THREADS];
    static char texts[THREADS * EACH][64];
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.handle = handle, .context = context_now()};
        for (int j = 0; j < EACH; j++) {
            snprintf(texts[i * EACH + j], sizeof texts[0], "sgemm:nn:64x64x%d", 32 + 4 * ((i + j) % 8));
            workers[i].text[j] = texts[i * EACH + j];
        }
    }
    work_together(workers);
    assert_int_equal(*fake.compilations, 1);
    assert_int_equal(*fake.loads, 1);
    gt_close(handle);
}

TEST(cublas_serves_more_threads_than_it_has_handles)
{
    static struct worker workers[THREADS];
    put_winner("sgemm:nn:64x64x64", NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.handle = handle, .context = context_now()};
        for (int j = 0; j < EACH; j++) workers[i].text[j] = "sgemm:nn:64x64x64";
    }
    for (int i = 0; i < 64 * 64; i++) data[0][i] = (float)(i % 5 - 2), data[1][i] = (float)(i % 7 - 3);
    work_together(workers);
    for (int i = 1; i < THREADS; i++) assert_memory_equal(workers[i].c, workers[0].c, sizeof workers[0].c);
    assert_int_equal(*fake.blas_calls, THREADS * EACH);
    gt_close(handle);
}

/* ---- many problems, contexts, the cache ---- */

TEST(gemm_finds_each_of_many_problems_again)
{
    const struct gt_options options = {
        .size = sizeof(struct gt_options), .database = "", .pretuned = ""}; /* cuBLAS computes them */
    struct gt_handle *handle = open_handle(&options);
    float c[4];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2000; i++) {
            struct gt_problem p = gt_problem_make(1, 1, 1);
            p.lda = i + 1; /* another problem, the same work */
            assert_gt(gemm(handle, &p, &one, data[0], data[1], &zero, c, stream));
        }
    assert_int_equal(*fake.blas_calls, 4000);
    gt_close(handle);
}

TEST(each_context_has_plans_and_kernels_of_its_own)
{
    static char contexts[2];
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    struct gt_handle *handle = NULL;
    struct gt_problem p = problem_of("sgemm:nn:64x64x64");
    struct gt_plan *plans[2];
    for (int i = 0; i < 2; i++) {
        cuda.CtxSetCurrent((CUcontext)(void *)&contexts[i]);
        if (!handle) handle = open_handle(NULL);
        assert_gt(gemm(handle, &p, &one, data[0], data[1], &zero, data[2], stream));
        assert_gt(gt_plan_open(handle, &p, &plans[i]));
        assert_int_equal(*fake.loads, i + 1);
        assert_ptr_equal(context_now(), &contexts[i]); /* never ours */
    }
    assert_int_equal(*fake.compilations, 1); /* the second came from the cache */
    gt_plan_close(plans[0]);
    gt_close(handle);
    assert_ptr_equal(context_now(), &contexts[1]);
    cuda.CtxSetCurrent(NULL);
}

static void *bare_thread(void *opaque)
{
    struct worker *w = opaque;
    struct gt_problem p = problem_of(w->text[0]);
    w->status = gemm(w->handle, &p, &one, data[0], data[1], &zero, w->c, stream);
    w->context = context_now();
    return NULL;
}

static void *bare_launch(void *opaque)
{
    return (void *)(uintptr_t)launch(opaque, &one, data[0], data[1], &zero, data[2], stream);
}

TEST(a_thread_without_a_context_is_given_the_plan_s)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    put_winner("sgemm:nt:64x64x64", SIMT_SPLIT, 5, false);
    static struct worker w;
    pthread_t thread;
    w = (struct worker){.handle = open_handle(NULL), .text = {"sgemm:nn:64x64x64"}};
    assert_non_null(context_now()); /* there was none: gt_open made the GPU's primary one current */
    assert_int_equal(pthread_create(&w.thread, NULL, bare_thread, &w), 0);
    pthread_join(w.thread, NULL);
    assert_int_equal(w.status, GT_OK);
    assert_ptr_equal(w.context, context_now());
    static const char *const texts[] = {"sgemm:nn:64x64x64", "sgemm:nt:64x64x64"};
    for (int i = 0; i < 2; i++) {
        void *status = NULL;
        assert_int_equal(pthread_create(&thread, NULL, bare_launch, make_plan(w.handle, texts[i])), 0);
        pthread_join(thread, &status);
        assert_int_equal((uintptr_t)status, GT_OK);
    }
    gt_close(w.handle);
    assert_null(context_now());
}

TEST(the_cache_serves_the_next_program)
{
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    for (int i = 0; i < 3; i++) {
        struct gt_handle *handle = open_handle(NULL);
        make_plan(handle, "sgemm:nn:64x64x64");
        gt_close(handle);
    }
    assert_int_equal(*fake.compilations, 1);
    assert_int_equal(*fake.loads, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(the_first_use_may_be_captured_and_only_launches_are),
        ON_FAKES(captures_of_other_threads_are_not_disturbed),
        ON_FAKES(threads_that_come_first_together_compile_once),
        ON_FAKES(problems_that_share_a_kernel_compile_it_once),
        ON_FAKES(cublas_serves_more_threads_than_it_has_handles),
        ON_FAKES(gemm_finds_each_of_many_problems_again),
        ON_FAKES(each_context_has_plans_and_kernels_of_its_own),
        ON_FAKES(a_thread_without_a_context_is_given_the_plan_s),
        ON_FAKES(the_cache_serves_the_next_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
