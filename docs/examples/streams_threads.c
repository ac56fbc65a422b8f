/* streams_threads.c — several threads, each with a stream of its own, share one handle and one plan. Checks
 * the answers.
 *
 *     cc streams_threads.c -o streams_threads $(pkg-config --cflags --libs gemmtune) -lcudart -pthread
 */
#include "checks.h"

#include <pthread.h>

enum { THREADS = 4, CALLS = 20, M = 48, N = 32, K = 64 };

struct work {
    struct gt_plan *plan;
    int wrong;
};

static void *work(void *of)
{
    struct work *mine = of;
    const float alpha = 1, beta = 0;
    struct numbers a = numbers_make(M * K, 3), b = numbers_make(K * N, 2), c = numbers_make(M * N, 1);
    cudaStream_t stream;
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const struct gt_call call = gt_call_make(&alpha, a.gpu, b.gpu, &beta, c.gpu, stream);
    for (int i = 0; i < CALLS; i++) gemmtune_check(gt_launch(mine->plan, &call)); /* gt_gemm, too */
    cuda_check(cudaStreamSynchronize(stream));
    to_host(&c);
    mine->wrong = count_wrong(a.host, b.host, c.host, M, N, K);
    cuda_check(cudaStreamDestroy(stream));
    struct numbers *const all[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) numbers_free(all[i]);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct work works[THREADS];
    struct gt_handle *handle;
    struct gt_plan *plan;
    const struct gt_problem problem = gt_problem_make(M, N, K);
    int wrong = 0;
    cuda_check(cudaFree(NULL)); /* makes the runtime's context current, and the plan is opened in that */
    gemmtune_check(gt_open(&handle, NULL));
    gemmtune_check(gt_plan_open(handle, &problem, &plan));
    for (int i = 0; i < THREADS; i++) {
        works[i] = (struct work){plan, 0};
        if (pthread_create(&threads[i], NULL, work, &works[i])) exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += works[i].wrong;
    }
    printf("%d elements wrong\n", wrong);
    gt_close(handle); /* and its plans */
    return wrong != 0;
}
