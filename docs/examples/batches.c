/* batches.c — many small products in one call: matrices at constant strides, then anywhere. Checks the
 * answers.
 *
 *     cc batches.c -o batches $(pkg-config --cflags --libs gemmtune) -lcudart
 */
#include "checks.h"

enum { BATCH = 5, M = 24, N = 32, K = 16 };

int main(void)
{
    const float alpha = 1, beta = 0;
    struct numbers a = numbers_make(BATCH * M * K, 3), b = numbers_make(K * N, 2),
                   c = numbers_make(BATCH * M * N, 1);
    float *at[3][BATCH], **at_gpu; /* addresses, in arrays that the GPU reads */
    cudaStream_t stream;
    struct gt_handle *handle;
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_problem strided = gt_problem_make(M, N, K);
    strided.batch = BATCH;
    strided.stride_a = M * K; /* elements */
    strided.stride_b = 0;     /* one B for all */
    strided.stride_c = M * N;
    struct gt_call call = gt_call_make(&alpha, a.gpu, b.gpu, &beta, c.gpu, stream);
    gemmtune_check(gt_gemm(handle, &strided, &call));
    cuda_check(cudaStreamSynchronize(stream));
    to_host(&c);
    int wrong = 0;
    for (int i = 0; i < BATCH; i++)
        wrong += count_wrong(a.host + i * M * K, b.host, c.host + i * M * N, M, N, K);

    for (int i = 0; i < BATCH; i++) { /* the same products, the last one first in C */
        at[0][i] = a.gpu + i * M * K;
        at[1][i] = b.gpu;
        at[2][i] = c.gpu + (BATCH - 1 - i) * M * N;
    }
    cuda_check(cudaMalloc((void **)&at_gpu, sizeof at));
    cuda_check(cudaMemcpy(at_gpu, at, sizeof at, cudaMemcpyHostToDevice));
    struct gt_problem anywhere = gt_problem_make(M, N, K);
    anywhere.batch = BATCH;
    anywhere.flags = GT_POINTER_ARRAYS;
    call = gt_call_make(&alpha, at_gpu, at_gpu + BATCH, &beta, at_gpu + 2 * BATCH, stream);
    gemmtune_check(gt_gemm(handle, &anywhere, &call));
    cuda_check(cudaStreamSynchronize(stream));
    to_host(&c);
    for (int i = 0; i < BATCH; i++)
        wrong += count_wrong(a.host + i * M * K, b.host, c.host + (BATCH - 1 - i) * M * N, M, N, K);
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    cuda_check(cudaFree(at_gpu));
    numbers_free(&a);
    numbers_free(&b);
    numbers_free(&c);
    return wrong != 0;
}
