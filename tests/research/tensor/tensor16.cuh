/* SPDX-License-Identifier: MIT */
/* tensor16.cuh — what the 16-bit tensor-core kernels of this folder share: PTX, conversions, the sum over the
 * blocks that divide k, and the store of C.
 *
 * Macros of a compilation: BF16 (0: FP16), C_F32 (0: C has the operands' type), ALIGN_C (bytes), SWAP,
 * SPLIT_K, REDUCE and WARPS_K (below), BM, BN, GROUP, PDL. The fragment of an accumulator is a quad: the two
 * neighbours (row g, columns 2t and 2t + 1) and the two of row g + 8, with g = lane / 4 and t = lane % 4. The
 * instruction's left operand has the rows; with SWAP these are columns of C.
 */
#ifndef TENSOR16_CUH
#define TENSOR16_CUH

#define DEVICE static __device__ __forceinline__

/* FP32 sums in shared memory, where the ring of tiles was. */
#define SUMS_BYTES (SPLIT_K > 1 || WARPS_K > 1 ? WARPS_K * BM * BN * 4 : 0)

struct tensor_args {
    const void *a, *b;
    void *c;
    float4 *workspace;  /* REDUCE 1, 2: tiles x SPLIT_K x BM x BN floats */
    unsigned *arrivals; /* REDUCE 1, 2: two a tile, zero before and after */
    long long lda, ldb, ldc;
    int m, n, k;
    float alpha, beta;
};

constexpr int max_of(int a, int b)
{
    return a > b ? a : b;
}

extern __shared__ __align__(1024) unsigned char shared_memory[];

DEVICE unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

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

/* Bulk copies see what this thread wrote to shared memory before. */
DEVICE void writes_visible_to_copies()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
DEVICE void barrier_init(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

DEVICE void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
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
        asm volatile(
            "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
        if (done) return;
    }
    asm volatile("trap;");
}

DEVICE void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEVICE void cluster_wait()
{
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
DEVICE void barriers_visible()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE unsigned in_block(unsigned address, unsigned rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

/* Copies bytes of shared memory to another block of the cluster, where they count for `barrier`. */
DEVICE void send(unsigned to, unsigned from, unsigned bytes, unsigned barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            to),
        "r"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

/* The same for 16 bytes from registers. */
DEVICE void send(unsigned to, float4 v, unsigned barrier)
{
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
            to),
        "r"(barrier), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
        : "memory");
}

#endif

/* Where the block works. Blocks that divide the k of a tile follow each other; tiles go down GROUP rows of
 * tiles, then to the next column. */
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

/* A tile of FP32 sums in shared memory, row by row. Groups of eight columns are exchanged within a row, so
 * that the quads of a warp go to different banks; a group stays together. */
constexpr int GROUPS = BN / 8, EXCHANGED = GROUPS % 8 == 0   ? 8
                                           : GROUPS % 4 == 0 ? 4
                                           : GROUPS % 2 == 0 ? 2
                                                             : 1;

DEVICE int sum_at(int row, int column)
{
    return row * BN + (column ^ row % EXCHANGED * 8);
}

/* The quad whose first element is `row`, `column` of the instruction's tile. */
DEVICE void put_quad(float *tile, int row, int column, const float (&v)[4])
{
    if (SWAP) {
        tile[sum_at(column, row)] = v[0];
        tile[sum_at(column + 1, row)] = v[1];
        tile[sum_at(column, row + 8)] = v[2];
        tile[sum_at(column + 1, row + 8)] = v[3];
    } else {
        *(float2 *)(tile + sum_at(row, column)) = make_float2(v[0], v[1]);
        *(float2 *)(tile + sum_at(row + 8, column)) = make_float2(v[2], v[3]);
    }
}

/* C for the four neighbours at place `at` of such a tile. */
DEVICE void store_four(const tensor_args &args, work w, int at, float4 v)
{
    const int row = at / BN, column = w.n + (at % BN ^ row % EXCHANGED * 8), r = w.m + row;
    const float x[4] = {v.x, v.y, v.z, v.w};
    if (r >= args.m || column >= args.n) return;
    const long long to = r * args.ldc + column;
    if (ALIGN_C < (C_F32 ? 16 : 8) || args.beta != 0 || column + 4 > args.n) {
#pragma unroll
        for (int e = 0; e < 4; e++) store_one(args, r, column + e, x[e]);
    } else if (C_F32) {
        *(float4 *)((float *)args.c + to) =
            make_float4(args.alpha * x[0], args.alpha * x[1], args.alpha * x[2], args.alpha * x[3]);
    } else {
        *(uint2 *)((unsigned short *)args.c + to) = make_uint2(pack(args.alpha * x[0], args.alpha * x[1]),
                                                               pack(args.alpha * x[2], args.alpha * x[3]));
    }
}

/* Sum over the warps and the blocks that divide k, in their order, so that every call gives the same bits;
 * then C.
 *
 * The sums go to a tile in shared memory, one for each of WARPS_K groups of warps, which are added first.
 * Then
 *
 *     REDUCE 0, 3  blocks of a cluster each store an equal part of the tile, and receive the others' sums of
 *                  that part: by one bulk copy from each (0), or by stores of 16 bytes (3); one mbarrier
 *                  counts the bytes
 *     REDUCE 1     through a workspace; the last block to arrive stores the tile
 *     REDUCE 2     through a workspace; each block waits for all and stores its part. All blocks of the grid
 *                  must be on the GPU at once: a cooperative launch
 *
 * `place(quad)` is where a thread's quad begins in the instruction's tile. All COUNT threads that hold sums
 * call store(); the others of a cluster's block call stand_by(). */
template <int QUADS, int COUNT> struct reduction {
    static constexpr int TILE = BM * BN, PART = TILE / SPLIT_K;
    static constexpr bool CLUSTER = SPLIT_K > 1 && (REDUCE == 0 || REDUCE == 3);
    static_assert(TILE / 4 % SPLIT_K == 0, "SPLIT_K must divide the quads of a tile");
#if __CUDA_ARCH__ < 900
    static_assert(!CLUSTER, "clusters need sm_90");
#endif

    unsigned parts, barrier; /* CLUSTER: SPLIT_K parts in shared memory; an mbarrier */

    __device__ __forceinline__ void start(unsigned parts_at, unsigned barrier_at)
    {
#if __CUDA_ARCH__ >= 900
        if constexpr (CLUSTER) {
            parts = parts_at;
            barrier = barrier_at;
            if (threadIdx.x == 0) {
                barrier_init(barrier, 1);
                barrier_expect(barrier, (SPLIT_K - 1) * PART * 4);
                barriers_visible();
            }
            cluster_arrive();
        }
#endif
    }

    __device__ __forceinline__ void stand_by()
    {
#if __CUDA_ARCH__ >= 900
        if constexpr (CLUSTER) {
            __syncwarp();
            cluster_wait();
            if (REDUCE == 0) {
                cluster_arrive();
                cluster_wait();
            }
        }
#endif
    }

    template <class Place>
    __device__ __forceinline__ void store(const tensor_args &args, work w, const float (&sum)[QUADS][4],
                                          int thread, float *tile, Place place)
    {
        if constexpr (SPLIT_K == 1 && WARPS_K == 1) {
#pragma unroll
            for (int q = 0; q < QUADS; q++) {
                const int2 at = place(q);
                store_quad(args, (SWAP ? w.n : w.m) + at.x, (SWAP ? w.m : w.n) + at.y, sum[q]);
            }
            return;
        }
        SYNC_SUMS();
        float *const mine = tile + thread / (COUNT / WARPS_K) * TILE;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const int2 at = place(q);
            put_quad(mine, at.x, at.y, sum[q]);
        }
        if (CLUSTER && REDUCE == 0 && WARPS_K == 1) writes_visible_to_copies();
        SYNC_SUMS();
        if constexpr (SPLIT_K == 1) {
#pragma unroll 2
            for (int i = thread * 4; i < TILE; i += COUNT * 4) store_four(args, w, i, of_warps(tile, i));
            return;
        }
        if constexpr (WARPS_K > 1) {
#pragma unroll 1
            for (int i = thread * 4; i < TILE; i += COUNT * 4) *(float4 *)(tile + i) = of_warps(tile, i);
            if (CLUSTER && REDUCE == 0) writes_visible_to_copies();
            SYNC_SUMS();
        }
        if constexpr (CLUSTER) in_cluster(args, w, thread, tile);
        else if constexpr (SPLIT_K > 1) by_workspace(args, w, thread, tile);
    }

    DEVICE float4 of_warps(const float *tile, int i)
    {
        float4 total = *(const float4 *)(tile + i);
#pragma unroll
        for (int g = 1; g < WARPS_K; g++) add(total, *(const float4 *)(tile + g * TILE + i));
        return total;
    }

    DEVICE void add(float4 &total, float4 v)
    {
        total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
    }

    __device__ __forceinline__ void in_cluster(const tensor_args &args, work w, int thread, float *tile)
    {
#if __CUDA_ARCH__ >= 900
        cluster_wait();
        if constexpr (REDUCE == 0) {
            if (thread < SPLIT_K && thread != w.split)
                send(in_block(parts + w.split * PART * 4, thread), shared_address(tile + thread * PART),
                     PART * 4, in_block(barrier, thread));
            __syncwarp();
        } else {
#pragma unroll 4
            for (int i = thread * 4; i < TILE; i += COUNT * 4) {
                const int owner = i / PART;
                if (owner != w.split)
                    send(in_block(parts + (w.split * PART + i % PART) * 4, owner),
                         *(const float4 *)(tile + i), in_block(barrier, owner));
            }
        }
        barrier_wait(barrier, 0);
#pragma unroll 1
        for (int i = thread * 4; i < PART; i += COUNT * 4) {
            float4 total = make_float4(0, 0, 0, 0), v[SPLIT_K];
#pragma unroll
            for (int s = 0; s < SPLIT_K; s++)
                asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(v[s].x), "=f"(v[s].y), "=f"(v[s].z), "=f"(v[s].w)
                             : "r"((s == w.split ? shared_address(tile) : parts) + (s * PART + i) * 4)
                             : "memory");
#pragma unroll
            for (int s = 0; s < SPLIT_K; s++) add(total, v[s]);
            store_four(args, w, w.split * PART + i, total);
        }
        if constexpr (REDUCE == 0) { /* nobody leaves while its tile is being read */
            __syncwarp();
            cluster_arrive();
            cluster_wait();
        }
#endif
    }

    __device__ __forceinline__ void by_workspace(const tensor_args &args, work w, int thread, float *tile)
    {
        float *const all = (float *)args.workspace + (long long)w.tile * SPLIT_K * TILE;
        unsigned *const arrivals = args.arrivals + w.tile * 2;
        __shared__ unsigned last;
#pragma unroll 4
        for (int i = thread * 4; i < TILE; i += COUNT * 4)
            __stcg((float4 *)(all + w.split * TILE + i), *(const float4 *)(tile + i));
        __threadfence();
        SYNC_SUMS();
        if (thread == 0) {
            last = atomicAdd(arrivals, 1) == SPLIT_K - 1;
            if (REDUCE == 2) wait_for(arrivals);
        }
        SYNC_SUMS();
        if (REDUCE == 1 && !last) return;
        __threadfence();
        const int begin = REDUCE == 1 ? 0 : w.split * PART, end = REDUCE == 1 ? TILE : begin + PART;
#pragma unroll 1
        for (int i = begin + thread * 4; i < end; i += COUNT * 4) {
            float4 total = make_float4(0, 0, 0, 0), v[SPLIT_K];
#pragma unroll
            for (int s = 0; s < SPLIT_K; s++) v[s] = __ldcg((const float4 *)(all + s * TILE + i));
#pragma unroll
            for (int s = 0; s < SPLIT_K; s++) add(total, v[s]);
            store_four(args, w, i, total);
        }
        if (thread == 0 && (REDUCE == 1 || atomicAdd(arrivals + 1, 1) == SPLIT_K - 1))
            arrivals[0] = arrivals[1] = 0;
    }

    /* Bounded, as barrier_wait. */
    DEVICE void wait_for(const unsigned *arrivals)
    {
        for (unsigned tries = 0; tries < 1u << 20; tries++) {
            unsigned now;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrivals) : "memory");
            if (now >= SPLIT_K) return;
        }
        asm volatile("trap;");
    }
};

/* Bytes of a row of C's tile in shared memory: 16 more than the tile's, so that neighbouring rows begin in
 * different banks. */
#define STAGED_LINE (BN * 2 + 16)

/* 16-bit C by way of shared memory: 16 bytes a thread, or a warp stores a line in words of 4 bytes if C is
 * not aligned. */
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
