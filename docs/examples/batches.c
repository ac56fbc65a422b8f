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
    float *a = numbers(BATCH * M * K, 3), *b = numbers(K * N, 2), *c = numbers(BATCH * M * N, 1);
    float **at[3]; /* arrays of addresses, which the GPU reads, too */
    for (int i = 0; i < 3; i++) at[i] = managed(BATCH * sizeof *at[i]);
    cudaStream_t stream;
    struct gt_handle *handle;
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_problem strided = gt_problem_make(M, N, K);
    strided.batch = BATCH;
    strided.stride_a = M * K; /* elements */
    strided.stride_b = 0;     /* one B for all */
    strided.stride_c = M * N;
    struct gt_call call = gt_call_make(&alpha, a, b, &beta, c, stream);
    gemmtune_check(gt_gemm(handle, &strided, &call));
    cuda_check(cudaStreamSynchronize(stream));
    int wrong = 0;
    for (int i = 0; i < BATCH; i++) wrong += count_wrong(a + i * M * K, b, c + i * M * N, M, N, K);

    for (int i = 0; i < BATCH; i++) { /* the same products, the last one first in C */
        at[0][i] = a + i * M * K;
        at[1][i] = b;
        at[2][i] = c + (BATCH - 1 - i) * M * N;
    }
    struct gt_problem anywhere = gt_problem_make(M, N, K);
    anywhere.batch = BATCH;
    anywhere.flags = GT_POINTER_ARRAYS;
    call = gt_call_make(&alpha, at[0], at[1], &beta, at[2], stream);
    gemmtune_check(gt_gemm(handle, &anywhere, &call));
    cuda_check(cudaStreamSynchronize(stream));
    for (int i = 0; i < BATCH; i++) wrong += count_wrong(at[0][i], at[1][i], at[2][i], M, N, K);
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    void *const all[] = {a, b, c, at[0], at[1], at[2]};
    for (int i = 0; i < 6; i++) cuda_check(cudaFree(all[i]));
    return wrong != 0;
}
