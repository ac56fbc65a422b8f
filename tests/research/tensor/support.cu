/* SPDX-License-Identifier: MIT */
/* support.cu — kernels that the measuring program needs beside the products: widening of operands for the reference,
 * comparison, and repacking of operands that 16-byte copies cannot read. Macros: BF16, C_F32.
 */
#define SWAP     0
#define SPLIT_K  1
#define REDUCE   0
#define BM       8
#define BN       8
#define GROUP    1
#define PDL      0
#define ALIGN_C  2
#define SYNC_SUMS() __syncthreads()
#include "tensor16.cuh"

extern "C" __global__ void widen(float *to, const unsigned short *from, long long count)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) to[i] = unpack(from[i]);
}

struct comparison {
    float worst;            /* the largest error over its bound */
    unsigned untouched;     /* changed elements between the lines of C */
    unsigned long long sum; /* of the bits of C: equal bits, equal sum */
};

/* C (ldc elements a line, poisoned with `poison` before) against a dense FP32 reference. Bound: rounding of the result,
 * and for sums of k products of numbers in [-1, 1) what truncation in the tensor cores may lose. */
extern "C" __global__ void compare(comparison *out, const void *c, const float *reference, int m, int n, long long ldc,
                                   int k, float scale, unsigned poison)
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
        const float x = C_F32 ? __uint_as_float(bits) : unpack((unsigned short)bits), right = reference[row * n + column];
        float error = fabsf(x - right) / (fabsf(right) * unit + lost);
        if (!(error < 1e30f)) error = 1e30f;
        worst = fmaxf(worst, error);
        sum += (bits + 1ull) * (2ull * i + 1);
    }
    atomicMax((unsigned *)&out->worst, __float_as_uint(worst));
    atomicAdd(&out->sum, sum);
}

/* Lines of `width` elements, `pitch` apart in `from`, `padded` apart in `to`, whose lines are multiples of 16 bytes.
 * Source addresses are multiples of 2: aligned words are read and shifted. */
struct repack_args {
    const unsigned short *from;
    uint4 *to;
    long long pitch, padded;
    int lines, width;
};

DEVICE void repack_one(const repack_args &args, long long first, long long step)
{
    const int chunks = (int)(args.padded / 8);
    const unsigned short *const end = args.from + (args.lines - 1) * args.pitch + args.width;
    for (long long i = first; i < (long long)args.lines * chunks; i += step) {
        const int line = (int)(i / chunks), at = (int)(i % chunks) * 8, count = min(args.width - at, 8);
        const unsigned short *const from = args.from + line * args.pitch + at;
        const unsigned odd = (unsigned)((unsigned long long)from / 2 % 2);
        const unsigned *const words = (const unsigned *)(from - odd);
        unsigned in[5], out[4];
#pragma unroll
        for (int j = 0; j < 5; j++) {
            in[j] = 0;
            if (2 * j - (int)odd >= count) continue;
            if ((const unsigned short *)(words + j) + 2 <= end) in[j] = words[j];
            else in[j] = *(const unsigned short *)(words + j);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            out[j] = odd ? __funnelshift_r(in[j], in[j + 1], 16) : in[j];
            if (2 * j + 1 >= count) out[j] &= 0xffff;
            if (2 * j >= count) out[j] = 0;
        }
        args.to[i] = make_uint4(out[0], out[1], out[2], out[3]);
    }
}

/* Two operands in one launch: even blocks take the first one. */
extern "C" __global__ void __launch_bounds__(256) repack(const repack_args a, const repack_args b)
{
    const long long first = (long long)(blockIdx.x / 2) * 256 + threadIdx.x, step = (long long)gridDim.x / 2 * 256;
    repack_one(blockIdx.x % 2 ? b : a, first, step);
}

extern "C" __global__ void nothing(int unused) {}
