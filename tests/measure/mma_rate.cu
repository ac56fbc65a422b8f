/* SPDX-License-Identifier: MIT */
/* mma_rate.cu — the peak rate of mma.sync m16n8k8 of TF32: operands and sums stay in registers, nothing is
 * loaded. It gives a bound for the family mma, and the cost of other instructions beside it. On a machine
 * with a GPU:
 *
 *     nvcc -O2 -std=c++17 -arch=sm_90a -o mma_rate tests/measure/mma_rate.cu && ./mma_rate
 *
 * One line for each variant: warps per block (one block per SM), FFMAs after each mma, operands, TFLOPS of
 * the best and of the last of 12 launches (a power limit shows as a difference), multiply-adds per clock and
 * SM, and the clock. Exits with 1 on any CUDA error.
 */
#include <cstdio>
#include <cstdlib>

namespace
{

const int STEPS = 3000, LAUNCHES = 12;

void must(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "mma_rate: %s\n", cudaGetErrorString(error));
    exit(1);
}

template <int WARPS, int TILES, int BESIDE>
__global__ void __launch_bounds__(32 * WARPS, 1)
    multiply(float *out, int steps, float scale, long long *clocks)
{
    unsigned a[4][4], b[8][2], state = threadIdx.x * 747796405u + blockIdx.x * 2891336453u + 1;
    float d[TILES][4] = {}, other[8];
    auto operand = [&] { /* uniform within +-scale, rounded to TF32 */
                         state = state * 1664525u + 1013904223u;
                         const float x = static_cast<float>(static_cast<int>(state >> 8) - (1 << 23)) *
                                         (1.0f / (1 << 23)) * scale;
                         return __float_as_uint(x) & 0xffffe000u;
    };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) a[i][j] = operand();
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 2; j++) b[i][j] = operand();
    for (int i = 0; i < 8; i++) other[i] = static_cast<float>(i) + scale;
    const long long begin = clock64();
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            const unsigned(&x)[4] = a[t / 8 % 4], (&y)[2] = b[t % 8];
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[t][0]), "+f"(d[t][1]), "+f"(d[t][2]), "+f"(d[t][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#pragma unroll
            for (int e = 0; e < BESIDE; e++)
                asm volatile("fma.rn.f32 %0, %0, %1, %2;"
                             : "+f"(other[(t * BESIDE + e) % 8])
                             : "f"(scale), "f"(other[(t + 3) % 8]));
        }
    }
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
    float sum = 0;
    for (int t = 0; t < TILES; t++)
        for (int j = 0; j < 4; j++) sum += d[t][j];
    for (int i = 0; i < 8; i++) sum += other[i];
    if (sum == 12345.678f) out[threadIdx.x] = sum; /* so that nothing is optimised away */
}

template <int WARPS, int TILES, int BESIDE> void measure(int sms, float *out, long long *clocks, float scale)
{
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    float best_ms = 0, ms = 0;
    long long best_clocks = 0, now = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        must(cudaEventRecord(begin));
        multiply<WARPS, TILES, BESIDE><<<sms, 32 * WARPS>>>(out, STEPS, scale, clocks);
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        must(cudaEventElapsedTime(&ms, begin, end));
        must(cudaMemcpy(&now, clocks, sizeof now, cudaMemcpyDeviceToHost));
        if (i > 0 && ms >= best_ms) continue;
        best_ms = ms;
        best_clocks = now;
    }
    const double fmas = 1.0 * WARPS * TILES * STEPS * 16 * 8 * 8; /* per SM */
    printf(
        "%2d warps, %d FFMA beside, %-6s operands: %.1f TFLOPS (last %.1f), %.0f a clock and SM, %.0f MHz\n",
        WARPS, BESIDE, scale == 0 ? "zero" : "random", 2e-9 * fmas * sms / best_ms, 2e-9 * fmas * sms / ms,
        fmas / static_cast<double>(best_clocks), static_cast<double>(best_clocks) / best_ms * 1e-3);
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
}

} // namespace

int main()
{
    int sms;
    must(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    float *out;
    long long *clocks;
    must(cudaMalloc(&out, 4096));
    must(cudaMalloc(&clocks, sizeof *clocks * static_cast<size_t>(sms)));
    for (const float scale : {1.0f, 0.0f}) {
        measure<8, 32, 0>(sms, out, clocks, scale);
        measure<16, 16, 0>(sms, out, clocks, scale);
        measure<8, 32, 1>(sms, out, clocks, scale);
        measure<8, 32, 2>(sms, out, clocks, scale);
    }
    must(cudaFree(out));
    must(cudaFree(clocks));
}
