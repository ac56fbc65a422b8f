/* SPDX-License-Identifier: MIT */
/* warptile.cu — warp tiling by template arguments: a block's tile of C is cut into tiles of warps, these into
 * WNITER parts of columns, and these into TM x TN elements a thread (docs/own-kernels.md). */
// gemmtune: type sgemm, ops nn, only M % BM == 0 && N % BN == 0 && K % BK == 0
// entry warptile<BM, BN, BK, WM, WN, WNITER, TM, TN, THREADS>
// param BM 64 128 256 ; BN 64 128 256 ; BK 8 16 32 ; WM 32 64 128 ; WN 32 64 128
// param WNITER 1 2 4 ; TM 4 8 ; TN 4 8 ; THREADS 128 256
// rule BM % WM == 0 && BN % WN == 0 && (BM / WM) * (BN / WN) * 32 == THREADS && WN % WNITER == 0 && (WN / WNITER) % TN == 0 && (WM * WN) % (32 * TM * TN * WNITER) == 0 && WM % ((WM * WN) / (32 * TM * TN * WNITER)) == 0 && (WM / ((WM * WN) / (32 * TM * TN * WNITER))) % TM == 0
// rule (4 * THREADS) % BK == 0 && (4 * THREADS) % BN == 0 && BM % (4 * THREADS / BK) == 0 && BK % (4 * THREADS / BN) == 0
// grid N / BN, M / BM ; block THREADS ; registers WM * WN / 32 ; tile BM BN BK
// args M N K alpha A B beta C
template <int BM, int BN, int BK, int WM, int WN, int WNITER, int TM, int TN, int THREADS>
__global__ void __launch_bounds__(THREADS)
    warptile(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    constexpr int WMITER = (WM * WN) / (32 * TM * TN * WNITER), WSUBM = WM / WMITER, WSUBN = WN / WNITER;
    constexpr int STRIDE_A = 4 * THREADS / BK, STRIDE_B = 4 * THREADS / BN;
    __shared__ float As[BK * BM], Bs[BK * BN];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN), column = warp % (BN / WN);
    const int lane_row = lane / (WSUBN / TN), lane_column = lane % (WSUBN / TN);
    const int a_row = threadIdx.x / (BK / 4), a_column = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_column = threadIdx.x % (BN / 4) * 4;

    A += (size_t)blockIdx.y * BM * K;
    B += (size_t)blockIdx.x * BN;
    C += ((size_t)blockIdx.y * BM + row * WM) * N + (size_t)blockIdx.x * BN + column * WN;

    float sum[WMITER * TM * WNITER * TN] = {0}, a[WMITER * TM], b[WNITER * TN];
    for (int k = 0; k < K; k += BK) {
        for (int i = 0; i < BM; i += STRIDE_A) {
            const float4 x = *(const float4 *)&A[(size_t)(a_row + i) * K + a_column];
            As[(a_column + 0) * BM + a_row + i] = x.x;
            As[(a_column + 1) * BM + a_row + i] = x.y;
            As[(a_column + 2) * BM + a_row + i] = x.z;
            As[(a_column + 3) * BM + a_row + i] = x.w;
        }
        for (int i = 0; i < BK; i += STRIDE_B)
            *(float4 *)&Bs[(b_row + i) * BN + b_column] = *(const float4 *)&B[(size_t)(b_row + i) * N + b_column];
        __syncthreads();
        for (int d = 0; d < BK; d++) {
            for (int i = 0; i < WMITER; i++)
                for (int r = 0; r < TM; r++) a[i * TM + r] = As[d * BM + row * WM + i * WSUBM + lane_row * TM + r];
            for (int j = 0; j < WNITER; j++)
                for (int c = 0; c < TN; c++)
                    b[j * TN + c] = Bs[d * BN + column * WN + j * WSUBN + lane_column * TN + c];
            for (int i = 0; i < WMITER * TM; i++)
                for (int j = 0; j < WNITER * TN; j++) sum[i * WNITER * TN + j] += a[i] * b[j];
        }
        A += BK;
        B += (size_t)BK * N;
        __syncthreads();
    }
    for (int i = 0; i < WMITER * TM; i++)
        for (int j = 0; j < WNITER * TN; j += 4) {
            const int m = i / TM * WSUBM + lane_row * TM + i % TM, n = j / TN * WSUBN + lane_column * TN + j % TN;
            float4 *const at = (float4 *)&C[(size_t)m * N + n];
            const float *const s = &sum[i * WNITER * TN + j];
            float4 x = make_float4(alpha * s[0], alpha * s[1], alpha * s[2], alpha * s[3]);
            if (beta != 0) {
                const float4 c = *at;
                x.x += beta * c.x, x.y += beta * c.y, x.z += beta * c.z, x.w += beta * c.w;
            }
            *at = x;
        }
}
