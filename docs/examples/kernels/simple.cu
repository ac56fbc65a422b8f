/* SPDX-License-Identifier: MIT */
/* simple.cu — one thread, one element of C: the least that an own kernel consists of (docs/own-kernels.md). */
// gemmtune: type sgemm, ops nn
// entry naive
// param BX 8 16 32 64 128 ; BY 1 2 4 8 16
// rule BX * BY >= 64 && BX * BY <= 1024
// grid ceil(N, BX), ceil(M, BY) ; block BX, BY
// args M N K alpha A lda B ldb beta C ldc
extern "C" __global__ void naive(int M, int N, int K, float alpha, const float *A, int lda, const float *B, int ldb,
                                 float beta, float *C, int ldc)
{
    const int n = blockIdx.x * BX + threadIdx.x, m = blockIdx.y * BY + threadIdx.y;
    if (m >= M || n >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[(long long)m * lda + k] * B[(long long)k * ldb + n];
    float *const at = &C[(long long)m * ldc + n];
    *at = beta == 0 ? alpha * sum : alpha * sum + beta * *at; /* at beta 0 C is not read: it may hold NaN */
}
