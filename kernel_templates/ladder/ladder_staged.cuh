/* SPDX-License-Identifier: MIT */
/* ladder_staged.cuh — copies the next tile through registers, as vectorized.cu loads and stores it, in two
 * halves: the loads, and the stores to the buffer that is not being read. For double_buffered.cu and
 * warptiled.cu; included after the rules. */
#ifndef LADDER_STAGED_CUH
#define LADDER_STAGED_CUH

#define LOADS_A (BM * BK / 4 / THREADS) /* vectors a thread and step */
#define LOADS_B (BK * BN / 4 / THREADS)

/* The part of the next tile that this thread copies. */
struct staged {
    float4 a[LOADS_A], b[LOADS_B];
};

__device__ __forceinline__ void fetch(struct staged &next, const struct gemm_args &args,
                                      struct tile_place tile, int k0, int depth, bool vectors_a,
                                      bool vectors_b)
{
#pragma unroll
    for (int l = 0; l < LOADS_A; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        next.a[l] =
            load4(args.a, args.lda, tile.m + i / (BK / 4), k0 + i % (BK / 4) * 4, args.m, depth, vectors_a);
    }
#pragma unroll
    for (int l = 0; l < LOADS_B; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        next.b[l] =
            load4(args.b, args.ldb, k0 + i / (BN / 4), tile.n + i % (BN / 4) * 4, depth, args.n, vectors_b);
    }
}

__device__ __forceinline__ void stage(const struct staged &next, float (*As)[A_ROW], float (*Bs)[BN])
{
#pragma unroll
    for (int l = 0; l < LOADS_A; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        const int m = i / (BK / 4), k = i % (BK / 4) * 4;
        As[k][m] = next.a[l].x;
        As[k + 1][m] = next.a[l].y;
        As[k + 2][m] = next.a[l].z;
        As[k + 3][m] = next.a[l].w;
    }
#pragma unroll
    for (int l = 0; l < LOADS_B; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        *reinterpret_cast<float4 *>(&Bs[i / (BN / 4)][i % (BN / 4) * 4]) = next.b[l];
    }
}

/* Count floats into registers: vectors of four, Step floats from one to the next. */
template <int Count, int Step = 4>
__device__ __forceinline__ void read_fragment(float *fragment, const float *x)
{
#pragma unroll
    for (int i = 0; i < Count; i += 4)
        *reinterpret_cast<float4 *>(&fragment[i]) = *reinterpret_cast<const float4 *>(&x[i / 4 * Step]);
}

#endif
