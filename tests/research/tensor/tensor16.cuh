/* SPDX-License-Identifier: MIT */
/* tensor16.cuh — what the 16-bit tensor-core kernels of this folder share: PTX, conversions, the sum over the blocks
 * that divide k, and the store of C.
 *
 * Macros of a compilation: BF16 (0: FP16), C_F32 (0: C has the operands' type), ALIGN_C (bytes), SWAP, SPLIT_K,
 * REDUCE (0: in a cluster, 1: through a workspace), BM, BN, PDL. The fragment of an accumulator is a quad: the two
 * neighbours (row g, columns 2t and 2t + 1) and the two of row g + 8, with g = lane / 4 and t = lane % 4. The
 * instruction's left operand has the rows; with SWAP these are columns of C.
 */
#ifndef TENSOR16_CUH
#define TENSOR16_CUH

#define DEVICE static __device__ __forceinline__

struct tensor_args {
    const void *a, *b;
    void *c;
    float4 *workspace;  /* REDUCE 1: tiles x SPLIT_K x BM x BN floats */
    unsigned *arrivals; /* REDUCE 1: one a tile, zero before and after */
    long long lda, ldb, ldc;
    int m, n, k;
    float alpha, beta;
};

extern __shared__ __align__(1024) unsigned char shared_memory[];

DEVICE unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* Two floats as 16-bit numbers, the first in the low half; rounded to nearest even. */
DEVICE unsigned pack(float low, float high)
{
    unsigned both;
#if BF16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

DEVICE float unpack(unsigned short bits)
{
#if BF16
    return __uint_as_float((unsigned)bits << 16);
#else
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#endif
}

/* Programmatic dependent launch: the next kernel of the stream may start, and waits here for our results. */
DEVICE void wait_for_previous_kernel()
{
#if PDL && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
DEVICE void barrier_init(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

DEVICE void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

DEVICE void barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Bounded: a lost arrival ends the kernel with an error after some seconds. */
DEVICE void barrier_wait(unsigned barrier, unsigned parity)
{
    for (unsigned tries = 0; tries < 1u << 20; tries++) {
        unsigned done;
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
        if (done) return;
    }
    asm volatile("trap;");
}

DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
DEVICE void barriers_visible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

DEVICE unsigned in_block(unsigned address, unsigned rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

/* One transfer to another block of the cluster: its bytes count for the barrier there. */
DEVICE void send(unsigned to, const float (&v)[4], unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(to),
                 "r"(barrier), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                 : "memory");
}
#endif

/* Where the block works. Blocks that divide the k of a tile follow each other; tiles go down GROUP rows of tiles, then
 * to the next column. */
struct work {
    int tile, split, m, n;
};

DEVICE work work_of_block(int m, int n)
{
    const int tile = blockIdx.x / SPLIT_K, tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int band = tile / (GROUP * tiles_n), first = band * GROUP, rows = min(GROUP, tiles_m - first);
    const int in_band = tile - first * tiles_n;
    return {tile, (int)(blockIdx.x % SPLIT_K), (first + in_band % rows) * BM, in_band / rows * BN};
}

/* C[row, column] for one value. */
DEVICE void store_one(const tensor_args &args, int row, int column, float sum)
{
    if (row >= args.m || column >= args.n) return;
    const long long at = row * args.ldc + column;
    float x = args.alpha * sum;
#if C_F32
    float *const c = (float *)args.c + at;
    if (args.beta != 0) x += args.beta * *c;
    *c = x;
#else
    unsigned short *const c = (unsigned short *)args.c + at;
    if (args.beta != 0) x += args.beta * unpack(*c);
    *c = (unsigned short)pack(x, 0);
#endif
}

/* C for two neighbours of an instruction's row. */
DEVICE void store_pair(const tensor_args &args, int row, int column, float first, float second)
{
#if SWAP
    store_one(args, column, row, first);
    store_one(args, column + 1, row, second);
#else
    const bool whole = row < args.m && column + 1 < args.n;
    if (!whole || ALIGN_C < (C_F32 ? 8 : 4) || args.beta != 0) {
        store_one(args, row, column, first);
        store_one(args, row, column + 1, second);
        return;
    }
    const long long at = row * args.ldc + column;
    if (C_F32) *(float2 *)((float *)args.c + at) = make_float2(args.alpha * first, args.alpha * second);
    else *(unsigned *)((unsigned short *)args.c + at) = pack(args.alpha * first, args.alpha * second);
#endif
}

DEVICE void store_quad(const tensor_args &args, int row, int column, const float (&v)[4])
{
    store_pair(args, row, column, v[0], v[1]);
    store_pair(args, row + 8, column, v[2], v[3]);
}

/* Sum of the blocks' quads in the order of the blocks, so that every call gives the same bits.
 *
 * A block's quads are numbered quad * COUNT + thread and dealt to the SPLIT_K blocks in equal, consecutive parts. In a
 * cluster each block sends the others their part, waits for its own, and stores it. Through a workspace each writes
 * all, and the last to arrive stores the tile. `at(quad, row, column)` tells a quad's place in the tile. */
template <int QUADS, int COUNT> struct reduction {
    static constexpr int ALL = QUADS * COUNT, PART = ALL / SPLIT_K;
    static_assert(ALL % SPLIT_K == 0, "SPLIT_K must divide the quads of a tile");
    static constexpr int BYTES = SPLIT_K > 1 && REDUCE == 0 ? ALL * 16 : 0;

#if SPLIT_K > 1 && REDUCE == 0
    unsigned parts, barrier; /* in shared memory: SPLIT_K x PART quads; an mbarrier */

    __device__ __forceinline__ void start(unsigned parts_at, unsigned barrier_at)
    {
        parts = parts_at;
        barrier = barrier_at;
        if (threadIdx.x == 0) {
            barrier_init(barrier, 1);
            barrier_expect(barrier, (SPLIT_K - 1) * PART * 16);
            barriers_visible();
        }
        cluster_arrive();
    }

    template <class Place>
    __device__ __forceinline__ void store(const tensor_args &args, work w, const float (&sum)[QUADS][4], int thread, Place place)
    {
        cluster_wait();
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const int number = q * COUNT + thread, owner = number / PART;
            if (owner != w.split)
                send(in_block(parts + (w.split * PART + number % PART) * 16, owner), sum[q], in_block(barrier, owner));
        }
        barrier_wait(barrier, 0);
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const int number = q * COUNT + thread;
            if (number / PART != w.split) continue;
            float total[4] = {0, 0, 0, 0};
#pragma unroll
            for (int s = 0; s < SPLIT_K; s++) {
                float4 v = make_float4(sum[q][0], sum[q][1], sum[q][2], sum[q][3]);
                if (s != w.split)
                    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                                 : "r"(parts + (s * PART + number % PART) * 16)
                                 : "memory");
                total[0] += v.x, total[1] += v.y, total[2] += v.z, total[3] += v.w;
            }
            place(q, total);
        }
    }
#elif SPLIT_K > 1
    template <class Place>
    __device__ __forceinline__ void store(const tensor_args &args, work w, const float (&sum)[QUADS][4], int thread, Place place)
    {
        float4 *const tile = args.workspace + (long long)w.tile * SPLIT_K * ALL + thread;
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            __stcg(tile + w.split * ALL + q * COUNT, make_float4(sum[q][0], sum[q][1], sum[q][2], sum[q][3]));
        __shared__ unsigned arrived;
        __threadfence();
        SYNC_SUMS();
        if (thread == 0) arrived = atomicAdd(args.arrivals + w.tile, 1);
        SYNC_SUMS();
        if (arrived != SPLIT_K - 1) return;
        __threadfence();
        if (thread == 0) args.arrivals[w.tile] = 0;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            float total[4] = {0, 0, 0, 0};
#pragma unroll
            for (int s = 0; s < SPLIT_K; s++) {
                const float4 v = __ldcg(tile + s * ALL + q * COUNT);
                total[0] += v.x, total[1] += v.y, total[2] += v.z, total[3] += v.w;
            }
            place(q, total);
        }
    }
#else
    template <class Place>
    __device__ __forceinline__ void store(const tensor_args &args, work w, const float (&sum)[QUADS][4], int thread, Place place)
    {
#pragma unroll
        for (int q = 0; q < QUADS; q++) place(q, sum[q]);
    }
#endif
};

/* Bytes of a tile of C in shared memory: rows are 16 bytes longer than the tile, so that neighbouring rows begin in
 * different banks. */
#define STAGED_LINE  (BN * 2 + 16)
#define STAGED_BYTES (BM * STAGED_LINE)

/* 16-bit C by way of shared memory: 16 bytes a thread, or a warp stores a line in words of 4 bytes if C is not aligned. */
template <int COUNT> DEVICE void store_staged(const tensor_args &args, work w, int thread)
{
    const unsigned char *const staged = shared_memory;
    unsigned short *const c = (unsigned short *)args.c;
    if (ALIGN_C >= 16) {
#pragma unroll 4
        for (int i = thread; i < BM * BN / 8; i += COUNT) {
            const int r = i / (BN / 8), at = i % (BN / 8) * 8, row = w.m + r, column = w.n + at;
            if (row >= args.m || column >= args.n) continue;
            const uint4 v = *(const uint4 *)(staged + r * STAGED_LINE + at * 2);
            unsigned short *const to = c + row * args.ldc + column;
            if (column + 8 <= args.n) {
                *(uint4 *)to = v;
                continue;
            }
            const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int e = 0; e < 8; e++)
                if (column + e < args.n) to[e] = (unsigned short)(words[e / 2] >> e % 2 * 16);
        }
        return;
    }
    const int count = min(BN, args.n - w.n);
#pragma unroll 2
    for (int r = thread / 32; r < min(BM, args.m - w.m); r += COUNT / 32) {
        const unsigned short *const line = (const unsigned short *)(staged + r * STAGED_LINE);
        unsigned short *const to = c + (w.m + r) * args.ldc + w.n;
        const int odd = (int)((unsigned long long)to / 2 % 2);
#pragma unroll
        for (int e = thread % 32 * 2; e < BN + 2; e += 64) {
            const int x = e - odd;
            if (x >= 0 && x + 1 < count) {
                *(unsigned *)(to + x) = line[x] | (unsigned)line[x + 1] << 16;
            } else {
                if (x >= 0 && x < count) to[x] = line[x];
                if (x + 1 == 0 && count > 0) to[0] = line[0];
            }
        }
    }
}

#endif
