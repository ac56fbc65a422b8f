/* column_major.c — C = alpha A B + beta C stored by columns, as BLAS has it, with alpha and beta in the GPU's
 * memory, where a kernel may have computed them. Checks the answer.
 *
 *     cc column_major.c -o column_major $(pkg-config --cflags --libs gemmtune) -lcudart
 */
#include "checks.h"

enum { M = 40, N = 24, K = 56, LDA = 64 };

int main(void)
{
    float *a = numbers(LDA * K, 3), *b = numbers(K * N, 2);
    float *c = numbers(M * N, 5), *before = numbers(M * N, 5), *scalars = numbers(2, 1);
    cudaStream_t stream;
    struct gt_handle *handle;
    scalars[0] = 2;  /* alpha */
    scalars[1] = -3; /* beta */
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_problem problem = gt_problem_make(M, N, K);
    problem.flags = GT_COLUMN_MAJOR | GT_SCALARS_ON_DEVICE | GT_ADDS_TO_C; /* the last: beta will not be 0 */
    problem.lda = LDA; /* what is left 0 has no padding: ldb is K, ldc is M */
    const struct gt_call call = gt_call_make(&scalars[0], a, b, &scalars[1], c, stream);
    gemmtune_check(gt_gemm(handle, &problem, &call));
    cuda_check(cudaStreamSynchronize(stream));

    int wrong = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = 0;
            for (int l = 0; l < K; l++) sum += a[i + l * LDA] * b[l + j * K];
            wrong += c[i + j * M] != scalars[0] * sum + scalars[1] * before[i + j * M];
        }
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    float *const all[] = {a, b, c, before, scalars};
    for (int i = 0; i < 5; i++) cuda_check(cudaFree(all[i]));
    return wrong != 0;
}
