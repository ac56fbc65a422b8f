/* SPDX-License-Identifier: MIT */
/* support.cu — kernels that the measuring program needs beside the products: widening of operands for the
 * reference, comparison, and repacking of operands that 16-byte copies cannot read. Macros: BF16, C_F32.
 */
#define SWAP        0
#define SPLIT_K     1
#define REDUCE      0
#define WARPS_K     1
#define BM          8
#define BN          8
#define GROUP       1
#define PDL         0
#define ALIGN_C     2
#define SYNC_SUMS() __syncthreads()
#include "tensor16.cuh"

extern "C" __global__ void widen(float *to, const unsigned short *from, long long count)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = unpack(from[i]);
}

struct comparison {
    float worst;            /* the largest error over its bound */
    unsigned untouched;     /* changed elements between the lines of C */
    unsigned long long sum; /* of the bits of C: equal bits, equal sum */
};

/* C (ldc elements a line, poisoned with `poison` before) against a dense FP32 reference. Bound: rounding of
 * the result, and for sums of k products of numbers in [-1, 1) what truncation in the tensor cores may lose.
 */
extern "C" __global__ void compare(comparison *out, const void *c, const float *reference, int m, int n,
                                   long long ldc, int k, float scale, unsigned poison)
{
    const float unit = C_F32 ? 0x1p-23f : BF16 ? 0x1.01p-8f : 0x1.01p-11f;
    const float lost = scale * (sqrtf((float)k) * (float)k * 0x1p-26f + 0x1p-20f);
    const long long step = (long long)gridDim.x * blockDim.x;
    float worst = 0;
    unsigned long long sum = 0;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < m * ldc; i += step) {
        const long long row = i / ldc, column = i % ldc;
        const unsigned bits = C_F32 ? ((const unsigned *)c)[i] : ((const unsigned short *)c)[i];
        if (column >= n) {
            if (bits != poison) atomicAdd(&out->untouched, 1);
            continue;
        }
        const float x = C_F32 ? __uint_as_float(bits) : unpack((unsigned short)bits),
                    right = reference[row * n + column];
        float error = fabsf(x - right) / (fabsf(right) * unit + lost);
        if (!(error < 1e30f)) error = 1e30f;
        worst = fmaxf(worst, error);
        sum += (bits + 1ull) * (2ull * i + 1);
    }
    atomicMax((unsigned *)&out->worst, __float_as_uint(worst));
    atomicAdd(&out->sum, sum);
}

/* Lines of `width` elements, `pitch` apart in `from`, `padded` apart in `to`, whose lines are multiples of 16
 * bytes. */
struct repack_args {
    const unsigned short *from;
    unsigned *to;
    long long pitch, padded;
    int lines, width;
};

/* A warp copies WORDS words of 4 bytes a lane. Source addresses are multiples of 2: aligned words are read,
 * and two neighbours shifted together where the line begins in the middle of one. */
DEVICE void repack_one(const repack_args &args, int first, int step)
{
    const int WORDS = 4, lane = threadIdx.x % 32, padded = (int)args.padded / 2;
    const int pieces = (padded + 32 * WORDS - 1) / (32 * WORDS);
    const unsigned short *const end = args.from + (args.lines - 1) * args.pitch + args.width;
    for (int i = first; i < args.lines * pieces; i += step) {
        const int line = i / pieces, word = i % pieces * 32 * WORDS + lane;
        const unsigned short *const from = args.from + line * args.pitch;
        const int odd = (int)((unsigned long long)from / 2 % 2);
        const unsigned *const words = (const unsigned *)(from - odd);
        const auto read = [&](int j) -> unsigned {
            if (2 * j - odd >= args.width) return 0;
            if ((const unsigned short *)(words + j) + 2 <= end) return words[j];
            return *(const unsigned short *)(words + j);
        };
        unsigned in[WORDS + 1];
#pragma unroll
        for (int j = 0; j < WORDS; j++) in[j] = read(word + 32 * j);
        in[WORDS] = odd && lane == 0 ? read(word + 32 * WORDS) : 0;
#pragma unroll
        for (int j = 0; j < WORDS; j++) {
            const unsigned next = __shfl_sync(~0u, lane == 0 ? in[j + 1] : in[j], (lane + 1) % 32),
                           at = word + 32 * j;
            unsigned out = odd ? __funnelshift_r(in[j], next, 16) : in[j];
            if (2 * at + 1 >= args.width) out = 2 * at < args.width ? out & 0xffff : 0;
            if (at < padded) args.to[(long long)line * padded + at] = out;
        }
    }
}

/* Two operands in one launch: even blocks take the first one. */
extern "C" __global__ void __launch_bounds__(256) repack(const repack_args a, const repack_args b)
{
    const int first = blockIdx.x / 2 * 8 + threadIdx.x / 32, step = gridDim.x / 2 * 8;
    if (blockIdx.x % 2) repack_one(b, first, step);
    else repack_one(a, first, step);
}

extern "C" __global__ void nothing(int unused) {}
