/* prepared_weight.c — FP32 on tensor cores, as accurate as strict FP32, with a constant weight that is split
 * once for all calls. Says whether it was, and checks the answers.
 *
 *     cc prepared_weight.c -o prepared_weight $(pkg-config --cflags --libs gemmtune) -lcudart
 */
#include "checks.h"

enum { MOST = 128, N = 128, K = 128 };

int main(void)
{
    const float alpha = 1, beta = 0;
    struct numbers x = numbers_make(MOST * K, 3), w = numbers_make(K * N, 2), y = numbers_make(MOST * N, 1);
    cudaStream_t stream;
    struct gt_handle *handle;
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_prepared *weight;
    struct gt_problem problem = gt_problem_make(MOST, N, K); /* with the M that comes most often */
    problem.type = GT_SGEMM_ACCURATE;
    const enum gt_status prepared = gt_prepare(handle, &problem, GT_OPERAND_B, w.gpu, stream, &weight);
    if (prepared != GT_UNAVAILABLE) gemmtune_check(prepared); /* no error: the kernel for this takes none */
    printf("the weight is %s\n", weight ? "prepared" : "read as it is");

    int wrong = 0;
    for (int m = MOST; m >= MOST / 4; m /= 2) { /* M may be another in each call */
        problem.m = m;
        struct gt_call call = gt_call_make(&alpha, x.gpu, w.gpu, &beta, y.gpu, stream);
        call.prepared = weight; /* or NULL. Beside w.gpu, which the kernel for another M may read */
        gemmtune_check(gt_gemm(handle, &problem, &call));
        cuda_check(cudaStreamSynchronize(stream));
        to_host(&y);
        wrong += count_wrong(x.host, w.host, y.host, m, N, K);
    }
    printf("%d elements wrong\n", wrong);

    gt_prepared_free(weight);
    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    struct numbers *const all[] = {&x, &w, &y};
    for (int i = 0; i < 3; i++) numbers_free(all[i]);
    return wrong != 0;
}
