/* SPDX-License-Identifier: MIT */
/* ladder_device.cuh — code shared by all rungs: scalars, and memory accesses that stop at the edge of a
 * matrix. */
#ifndef LADDER_DEVICE_CUH
#define LADDER_DEVICE_CUH

#include "gemm_args.h"

/* k is 0 when alpha is, and alpha is 0 when k is: in both cases C becomes beta * C, and A and B are not
 * touched. */
struct scalars {
    float alpha, beta;
    int k;
};

__device__ __forceinline__ struct scalars read_scalars(const struct gemm_args &args)
{
    struct scalars s;
    s.alpha = args.alpha_device ? *args.alpha_device : args.alpha;
    s.beta = args.beta_device ? *args.beta_device : args.beta;
    if (args.k == 0) s.alpha = 0.0f;
    s.k = s.alpha == 0.0f ? 0 : args.k;
    return s;
}

/* beta == 0 must not read C: it may hold NaN, or never have been written. */
__device__ __forceinline__ void update(float *c, float sum, const struct scalars &s)
{
    *c = s.beta == 0.0f ? s.alpha * sum : s.alpha * sum + s.beta * *c;
}

/* Element (row, col), or 0 outside the matrix: a zero adds nothing to a sum of products. */
__device__ __forceinline__ float load(const float *x, long long ld, int row, int col, int rows, int cols)
{
    return row < rows && col < cols ? x[row * ld + col] : 0.0f;
}

/* First row and column of the tile of C that this block computes. */
struct tile_place {
    int m, n;
};

template <int Bm, int Bn> __device__ __forceinline__ struct tile_place tile_of_block(int n)
{
    const int tiles_n = (n + Bn - 1) / Bn;
    return {(int)blockIdx.x / tiles_n * Bm, (int)blockIdx.x % tiles_n * Bn};
}

/* Loads the tiles of A and B at k0; called by all threads of the block. */
template <int Threads, int Bm, int Bk, int Bn>
__device__ __forceinline__ void load_tiles(float (&As)[Bm][Bk], float (&Bs)[Bk][Bn],
                                           const struct gemm_args &args, const struct tile_place &tile,
                                           int k0, int depth, int tid)
{
    for (int i = tid; i < Bm * Bk; i += Threads)
        As[i / Bk][i % Bk] = load(args.a, args.lda, tile.m + i / Bk, k0 + i % Bk, args.m, depth);
    for (int i = tid; i < Bk * Bn; i += Threads)
        Bs[i / Bn][i % Bn] = load(args.b, args.ldb, k0 + i / Bn, tile.n + i % Bn, depth, args.n);
}

/* Adds one k to a thread's sums. */
template <int Tm, int Tn>
__device__ __forceinline__ void add_products(float (&sum)[Tm][Tn], const float (&a)[Tm], const float (&b)[Tn])
{
#pragma unroll
    for (int i = 0; i < Tm; i++)
#pragma unroll
        for (int j = 0; j < Tn; j++) sum[i][j] += a[i] * b[j];
}

/* 16-byte accesses at every fourth column are aligned. */
__device__ __forceinline__ bool fits_vectors(const float *x, long long ld)
{
    return ld % 4 == 0 && (size_t)x % 16 == 0;
}

/* Four neighbouring elements of a row: one load where they are aligned and inside the matrix. col is a
 * multiple of 4. */
__device__ __forceinline__ float4 load4(const float *x, long long ld, int row, int col, int rows, int cols,
                                        bool vectors)
{
    if (vectors && row < rows && col + 3 < cols) return *reinterpret_cast<const float4 *>(x + row * ld + col);
    return make_float4(load(x, ld, row, col, rows, cols), load(x, ld, row, col + 1, rows, cols),
                       load(x, ld, row, col + 2, rows, cols), load(x, ld, row, col + 3, rows, cols));
}

__device__ __forceinline__ void update4(float *c, long long ldc, int row, int col, int rows, int cols,
                                        bool vectors, const float *sum, const struct scalars &s)
{
    if (row >= rows) return;
    float *at = c + row * ldc + col;
    if (vectors && col + 3 < cols) {
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (s.beta != 0.0f) v = *reinterpret_cast<const float4 *>(at);
        v.x = s.alpha * sum[0] + s.beta * v.x;
        v.y = s.alpha * sum[1] + s.beta * v.y;
        v.z = s.alpha * sum[2] + s.beta * v.z;
        v.w = s.alpha * sum[3] + s.beta * v.w;
        *reinterpret_cast<float4 *>(at) = v;
        return;
    }
    for (int i = 0; i < 4; i++)
        if (col + i < cols) update(at + i, sum[i], s);
}

/* Stores a thread's sums from (row, col) on, in pieces of 4 x 4 that are StepM rows and StepN columns
 * apart. */
template <int StepM = 4, int StepN = 4, int Tm, int Tn>
__device__ __forceinline__ void update_pieces(const struct gemm_args &args, int row, int col,
                                              const float (&sum)[Tm][Tn], const struct scalars &s)
{
    const bool vectors = fits_vectors(args.c, args.ldc);
#pragma unroll
    for (int i = 0; i < Tm; i++)
#pragma unroll
        for (int j = 0; j < Tn; j += 4)
            update4(args.c, args.ldc, row + i / 4 * StepM + i % 4, col + j / 4 * StepN, args.m, args.n,
                    vectors, &sum[i][j], s);
}

#endif
