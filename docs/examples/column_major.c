/* column_major.c — C = alpha A B + beta C stored by columns, as BLAS has it, with alpha and beta in the GPU's
 * memory, where a kernel may have computed them. Checks the answer.
 *
 *     cc column_major.c -o column_major $(pkg-config --cflags --libs gemmtune) -lcudart
 */
#include "checks.h"

enum { M = 40, N = 24, K = 56, LDA = 64 };

int main(void)
{
    struct numbers a = numbers_make(LDA * K, 3), b = numbers_make(K * N, 2), c = numbers_make(M * N, 5),
                   before = numbers_make(M * N, 5), scalars = numbers_make(2, 1);
    cudaStream_t stream;
    struct gt_handle *handle;
    scalars.host[0] = 2;  /* alpha */
    scalars.host[1] = -3; /* beta */
    to_gpu(&scalars);
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_problem problem = gt_problem_make(M, N, K);
    problem.flags = GT_COLUMN_MAJOR | GT_SCALARS_ON_DEVICE | GT_ADDS_TO_C; /* the last: beta will not be 0 */
    problem.lda = LDA; /* what is left 0 has no padding: ldb is K, ldc is M */
    const struct gt_call call = gt_call_make(scalars.gpu, a.gpu, b.gpu, scalars.gpu + 1, c.gpu, stream);
    gemmtune_check(gt_gemm(handle, &problem, &call));
    cuda_check(cudaStreamSynchronize(stream));
    to_host(&c);

    int wrong = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = 0;
            for (int l = 0; l < K; l++) sum += a.host[i + l * LDA] * b.host[l + j * K];
            const float expected = scalars.host[0] * sum + scalars.host[1] * before.host[i + j * M];
            wrong += c.host[i + j * M] != expected;
        }
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    struct numbers *const all[] = {&a, &b, &c, &before, &scalars};
    for (int i = 0; i < 5; i++) numbers_free(all[i]);
    return wrong != 0;
}
