/* bf16_bias_gelu.c — a linear layer in BF16, Y = GELU(X W + bias), in one kernel. Checks the answer.
 *
 *     cc bf16_bias_gelu.c -o bf16_bias_gelu $(pkg-config --cflags --libs gemmtune) -lcudart -lm
 */
#include "checks.h"

#include <math.h>

enum { M = 32, N = 64, K = 48 };

/* BF16 is the upper half of a float, and these numbers fit in it. */
static uint16_t *as_bf16(const struct numbers *x)
{
    uint16_t *host = malloc(x->bytes / 2), *gpu;
    if (!host) exit(1);
    for (size_t i = 0; i < x->bytes / 4; i++) memcpy(&host[i], (const char *)&x->host[i] + 2, 2);
    cuda_check(cudaMalloc((void **)&gpu, x->bytes / 2));
    cuda_check(cudaMemcpy(gpu, host, x->bytes / 2, cudaMemcpyHostToDevice));
    free(host);
    return gpu;
}

static double from_bf16(uint16_t x)
{
    float value = 0;
    memcpy((char *)&value + 2, &x, 2);
    return (double)value;
}

int main(void)
{
    const float alpha = 0.125F, beta = 0; /* FP32, whatever the matrices are */
    struct numbers in[] = {numbers_make(M * K, 3), numbers_make(K * N, 2), numbers_make(N, 1)};
    uint16_t *x = as_bf16(&in[0]), *w = as_bf16(&in[1]), *bias = as_bf16(&in[2]), *y, got[M * N];
    cudaStream_t stream;
    struct gt_handle *handle;
    cuda_check(cudaMalloc((void **)&y, sizeof got));
    cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gemmtune_check(gt_open(&handle, NULL));

    struct gt_problem problem = gt_problem_make(M, N, K);
    problem.type = GT_BF16; /* or GT_FP16; GT_BF16_TO_F32: Y and bias in FP32 */
    problem.bias = GT_BIAS_COLUMN;
    problem.activation = GT_ACTIVATION_GELU;
    struct gt_call call = gt_call_make(&alpha, x, w, &beta, y, stream);
    call.bias = bias;
    gemmtune_check(gt_gemm(handle, &problem, &call));
    cuda_check(cudaStreamSynchronize(stream));
    cuda_check(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < K; l++) sum += (double)in[0].host[i * K + l] * (double)in[1].host[l * N + j];
            const double v = (double)alpha * sum + (double)in[2].host[j];
            const double gelu = v / 2 * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
            wrong += !(fabs(from_bf16(got[i * N + j]) - gelu) <= fabs(gelu) / 128 + 1e-3); /* 8 bits */
        }
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    uint16_t *const all[] = {x, w, bias, y};
    for (int i = 0; i < 4; i++) cuda_check(cudaFree(all[i]));
    for (int i = 0; i < 3; i++) numbers_free(&in[i]);
    return wrong != 0;
}
