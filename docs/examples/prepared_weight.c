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
    float *x = numbers(MOST * K, 3), *w = numbers(K * N, 2), *y = numbers(MOST * N, 1);
    cudaStream_t stream;
    struct gt_handle *handle;
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_prepared *weight;
    struct gt_problem problem = gt_problem_make(MOST, N, K); /* with the M that comes most often */
    problem.type = GT_SGEMM_ACCURATE;
    const enum gt_status prepared = gt_prepare(handle, &problem, GT_OPERAND_B, w, stream, &weight);
    if (prepared != GT_UNAVAILABLE) gemmtune_check(prepared); /* no error: the kernel for this takes none */
    printf("the weight is %s\n", weight ? "prepared" : "read as it is");

    int wrong = 0;
    for (int m = MOST; m >= MOST / 4; m /= 2) { /* M may be another in each call */
        problem.m = m;
        struct gt_call call = gt_call_make(&alpha, x, w, &beta, y, stream);
        call.prepared = weight; /* or NULL. Beside w, which the kernel for another M may read */
        gemmtune_check(gt_gemm(handle, &problem, &call));
        cuda_check(cudaStreamSynchronize(stream));
        wrong += count_wrong(x, w, y, m, N, K);
    }
    printf("%d elements wrong\n", wrong);

    gt_prepared_free(weight);
    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    float *const all[] = {x, w, y};
    for (int i = 0; i < 3; i++) cuda_check(cudaFree(all[i]));
    return wrong != 0;
}
