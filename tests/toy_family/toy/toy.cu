/* SPDX-License-Identifier: MIT */
/* toy.cu — C[m,n] = alpha * op(A) * op(B) + beta * C, straight from the definition: the smallest complete
 * kernel family.
 *
 *          n →   BN
 *         ┌──────────────┐
 *    BM m │ t t t t      │   thread t computes TN columns of a row of C, BN / TN apart,
 *       ↓ │              │   so that a warp reads B and writes C side by side
 *         └──────────────┘
 *
 * Parameters and their trade-offs: toy_params.def.
 */
#include "gemm_args.h"

#define RULE(last, holds, why) static_assert(holds, why);
#include "toy_rules.h"

static __device__ __forceinline__ float element(const float *x, long long ld, int row, int column,
                                                bool across)
{
    return across ? x[column * ld + row] : x[row * ld + column];
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const struct gemm_args args)
{
    const float alpha = args.alpha_device ? *args.alpha_device : args.alpha;
    const float beta = args.beta_device ? *args.beta_device : args.beta;
    const float *const a = args.a + blockIdx.z * args.stride_a, *const b =
                                                                    args.b + blockIdx.z * args.stride_b;
    float *const c = args.c + blockIdx.z * args.stride_c;
    const int tiles_n = (args.n + BN - 1) / BN;
    const int m = (int)blockIdx.x / tiles_n * BM + (int)threadIdx.x / LANES_N;
    const int first_n = (int)blockIdx.x % tiles_n * BN + (int)threadIdx.x % LANES_N;
    const int k_end = alpha == 0.0f ? 0 : args.k; /* A and B may then hold anything */
    if (m >= args.m) return;

    float sum[TN] = {0.0f};
    for (int k = 0; k < k_end; k++) {
        const float from_a = element(a, args.lda, m, k, TRANS_A);
        for (int i = 0; i < TN; i++) {
            const int n = first_n + i * LANES_N;
            if (n < args.n) sum[i] += from_a * element(b, args.ldb, k, n, TRANS_B);
        }
    }
    for (int i = 0; i < TN; i++) {
        const int n = first_n + i * LANES_N;
        if (n >= args.n) continue;
        float *const at = c + m * args.ldc + n;
        const float product = k_end > 0 ? alpha * sum[i] : 0.0f;
        *at = beta == 0.0f ? product : product + beta * *at; /* beta 0: C may hold anything, too */
    }
}
