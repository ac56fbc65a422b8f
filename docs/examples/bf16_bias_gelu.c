/* bf16_bias_gelu.c — a linear layer in BF16, Y = GELU(X W + bias), in one kernel. Checks the answer.
 *
 *     cc bf16_bias_gelu.c -o bf16_bias_gelu $(pkg-config --cflags --libs gemmtune) -lcudart -lm
 */
#include "checks.h"

#include <math.h>

enum { M = 32, N = 64, K = 48 };

/* BF16 is the upper half of a float, and these numbers fit in it. */
static uint16_t *to_bf16(float *numbers, int count)
{
    uint16_t *x = managed((size_t)count * sizeof *x);
    for (int i = 0; i < count; i++) memcpy(&x[i], (const char *)&numbers[i] + 2, 2);
    cuda_check(cudaFree(numbers));
    return x;
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
    uint16_t *x = to_bf16(numbers(M * K, 3), M * K), *w = to_bf16(numbers(K * N, 2), K * N);
    uint16_t *bias = to_bf16(numbers(N, 1), N), *y = managed(M * N * sizeof *y);
    cudaStream_t stream;
    struct gt_handle *handle;
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

    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < K; l++) sum += from_bf16(x[i * K + l]) * from_bf16(w[l * N + j]);
            const double v = (double)alpha * sum + from_bf16(bias[j]);
            const double gelu = v / 2 * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
            wrong += !(fabs(from_bf16(y[i * N + j]) - gelu) <= fabs(gelu) / 128 + 1e-3); /* 8 bits */
        }
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    cuda_check(cudaStreamDestroy(stream));
    uint16_t *const all[] = {x, w, bias, y};
    for (int i = 0; i < 4; i++) cuda_check(cudaFree(all[i]));
    return wrong != 0;
}
