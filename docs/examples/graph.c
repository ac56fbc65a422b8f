/* graph.c — two products, H = X V and Y = H W, captured into a CUDA graph that is launched for several X.
 * Checks the answers.
 *
 *     cc graph.c -o graph $(pkg-config --cflags --libs gemmtune) -lcudart
 */
#include "checks.h"

enum { M = 16, N = 32, K = 48 }; /* X is M x K, V K x N, W N x N */

int main(void)
{
    const float alpha = 1, beta = 0;
    struct numbers x = numbers_make(M * K, 3), v = numbers_make(K * N, 2), h = numbers_make(M * N, 1),
                   w = numbers_make(N * N, 2), y = numbers_make(M * N, 1);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    struct gt_handle *handle;
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    /* The first use of a kernel may be in a capture. A graph keeps the workspaces that its kernels need. */
    const struct gt_problem to_h = gt_problem_make(M, N, K), to_y = gt_problem_make(M, N, N);
    const struct gt_call call_h = gt_call_make(&alpha, x.gpu, v.gpu, &beta, h.gpu, stream);
    const struct gt_call call_y = gt_call_make(&alpha, h.gpu, w.gpu, &beta, y.gpu, stream);
    cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    gemmtune_check(gt_gemm(handle, &to_h, &call_h));
    gemmtune_check(gt_gemm(handle, &to_y, &call_y));
    cuda_check(cudaStreamEndCapture(stream, &graph));
    cuda_check(cudaGraphInstantiate(&executable, graph, 0));

    int wrong = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < M * K; i++) x.host[i] = (float)((i + turn) % 7 - 3);
        to_gpu(&x);
        cuda_check(cudaGraphLaunch(executable, stream));
        cuda_check(cudaStreamSynchronize(stream));
        to_host(&h);
        to_host(&y);
        wrong += count_wrong(x.host, v.host, h.host, M, N, K) + count_wrong(h.host, w.host, y.host, M, N, N);
    }
    printf("%d elements wrong\n", wrong);

    cuda_check(cudaGraphExecDestroy(executable)); /* graphs go before the handle */
    cuda_check(cudaGraphDestroy(graph));
    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    struct numbers *const all[] = {&x, &v, &h, &w, &y};
    for (int i = 0; i < 5; i++) numbers_free(all[i]);
    return wrong != 0;
}
