/* roofline.cu — measures the two limits of a machine: FP32 FMAs per second, and bytes per second to and from
 * memory. */

enum { CHAINS = 16 };

/* Independent chains of FMAs: 2 * CHAINS * rounds operations per thread. The sums are stored only if they
 * have a value that never occurs, which the compiler cannot know. */
extern "C" __global__ void __launch_bounds__(256) ffma(float *out, float x, float y, int rounds)
{
    float sum[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) sum[i] = (float)threadIdx.x + (float)i;
    for (int round = 0; round < rounds; round += 4) {
#pragma unroll
        for (int step = 0; step < 4; step++)
#pragma unroll
            for (int i = 0; i < CHAINS; i++) sum[i] = __fmaf_rn(sum[i], x, y);
    }
    float all = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++) all += sum[i];
    if (all == -1.0f) out[threadIdx.x] = all;
}

/* c = a + s * b over float4: three streams. */
extern "C" __global__ void __launch_bounds__(256)
    triad(const float4 *__restrict__ a, const float4 *__restrict__ b, float4 *__restrict__ c, float s,
          long long count)
{
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long long)gridDim.x * blockDim.x) {
        float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
    }
}
