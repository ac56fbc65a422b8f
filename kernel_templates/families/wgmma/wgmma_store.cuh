/* SPDX-License-Identifier: MIT */
/* wgmma_store.cuh — sums from the accumulators to C, by way of shared memory (gt_store16.cuh), where the ring
 * was: all that it holds has been multiplied by then. With WALK it already holds the next tile, and sums pass
 * behind it. Part of wgmma.cu.
 *
 *     quads of a warp's instruction  -->  16 rows of C (SWAP: 64 columns, of a warpgroup)  -->  lines of C
 *     quads of a warp's instruction, finished  -->  boxes  -->  C by TMA (STORE; with SWAP straight to C)
 *     quads of a cluster's block  -->  tile  -->  inboxes of the blocks, which add them  -->  lines of C
 */
#ifndef GT_WGMMA_STORE_CUH
#define GT_WGMMA_STORE_CUH

/* Of the threads that hold sums. */
static __device__ __forceinline__ void consumers_sync()
{
    group_sync(1, CONSUMER_THREADS);
}

/* Threads that share a strip, and their barrier. */
constexpr int STRIP_THREADS = SWAP ? WARPGROUP : 32;

static __device__ __forceinline__ void strip_sync()
{
    if constexpr (SWAP) group_sync(2 + threadIdx.x / WARPGROUP, WARPGROUP);
    else __syncwarp();
}

/* Puts a warp's quads of one instruction into its strip, from column `first` of the instruction on. */
static __device__ __forceinline__ void put_strip(const float (&sum)[QUADS][4], float *strip, int tall,
                                                 int first)
{
    const int lane = threadIdx.x % 32, left = (SWAP ? threadIdx.x % WARPGROUP / 32 * 16 : 0) + lane / 4;
#pragma unroll
    for (int i = 0; i < (SWAP ? RIGHT : STRIP_WIDTH) / 8; i++)
        put_quad<SUMS_ROW(STRIP_WIDTH)>(strip, left, i * 8 + lane % 4 * 2,
                                        sum[tall * (RIGHT / 8) + first / 8 + i]);
}

/* Stores a strip whose first element is at (row, column) of the tile. Vectors at the edge of C go element by
 * element, in a loop, so that this is little code: it is repeated for every strip. */
static __device__ __forceinline__ void store_strip(const struct destination &to, const float *strip, int row,
                                                   int column)
{
    constexpr int VECTORS = STRIP_WIDTH / VC;
#pragma unroll(WALK ? 1 : 2)
    for (int at = 0; at < STRIP_ROWS * VECTORS; at += STRIP_THREADS) {
        const int i = at + threadIdx.x % STRIP_THREADS, r = i / VECTORS, c = i % VECTORS * VC;
        if (STRIP_ROWS * VECTORS % STRIP_THREADS != 0 && i >= STRIP_ROWS * VECTORS) break;
        const float *const from = strip + r * SUMS_ROW(STRIP_WIDTH) + c;
        float values[VC];
        if (VC == 1 || column + c + VC <= to.n) {
#pragma unroll
            for (int e = 0; e < VC; e += 4) load_shared<(VC < 4 ? VC : 4)>(values + e, from + e);
            to.put<VC, true>(row + r, column + c, values);
        } else {
#pragma unroll 1
            for (int e = 0; e < VC; e++) {
                load_shared<1>(values, from + e);
                to.put<1>(row + r, column + c + e, values);
            }
        }
    }
}

/* The block's sums, strip by strip. */
static __device__ __forceinline__ void store_strips(const float (&sum)[QUADS][4],
                                                    const struct destination &to, float *strips)
{
    const int group = WALK == 2 ? 0 : threadIdx.x / WARPGROUP, warp = threadIdx.x % WARPGROUP / 32;
    float *const strip = strips + threadIdx.x / STRIP_THREADS * (STRIP_BYTES / 4);
#pragma unroll
    for (int tall = 0; tall < TALL; tall++) {
        const int left = (group * TALL + tall) * WGMMA_M;
#pragma unroll
        for (int first = 0; first < (SWAP ? 1 : RIGHT); first += STRIP_WIDTH) {
            if (WALK || tall > 0) strip_sync();
            put_strip(sum, strip, tall, first);
            strip_sync();
            store_strip(to, strip, SWAP ? 0 : left + warp * 16, SWAP ? left : first);
        }
    }
}

/* The finished elements of a warp in boxes of 16 rows, each on its way to C while the next one is filled. */
struct boxes {
    float *memory; /* the ring */
    int next = 0;

#if BOXES
    static constexpr int COLUMNS = BOX_LINE / (int)sizeof(c_element);

    /* The box that is free next, when its store of STORE boxes ago has read it. */
    __device__ __forceinline__ shared_place take()
    {
        if (threadIdx.x % 32 == 0) tensor_store_wait<STORE - 1>();
        __syncwarp();
        const int box = threadIdx.x / 32 * STORE + next;
        next = next + 1 == STORE ? 0 : next + 1;
        return moved(place_in_shared(memory), SUMS_AT + box * BOX_BYTES);
    }

    /* (row, column): of C. */
    __device__ __forceinline__ void send(const struct tensor_map &c, shared_place box, int row,
                                         int column) const
    {
        bulk_copy_fence();
        __syncwarp();
        if (threadIdx.x % 32 != 0) return;
        tensor_store(c, column, row, blockIdx.z, box);
        tensor_store_end();
    }

    /* Where a row's 16 bytes of a number are in the swizzle. */
    static __device__ __forceinline__ shared_place place(shared_place box, int row, int sixteen)
    {
        return moved(box, row * BOX_LINE + ((sixteen ^ row * BOX_LINE / 128 % (BOX_LINE / 16)) * 16));
    }

    /* Quads from `first` on, whose columns are those of the box. */
    static __device__ __forceinline__ void fill(shared_place box, const float (&sum)[QUADS][4], int first)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int q = 0; q < COLUMNS / 8; q += sizeof(c_element) == 2 ? 2 : 1) {
            const float(&quad)[4] = sum[first + q];
            if constexpr (sizeof(c_element) == 2) {
                const float(&beside)[4] = sum[first + q + 1];
                const unsigned v[4] = {packed<BF16>(quad[0], quad[1]), packed<BF16>(quad[2], quad[3]),
                                       packed<BF16>(beside[0], beside[1]),
                                       packed<BF16>(beside[2], beside[3])};
                store_matrices(place(box, lane % 16, q + lane / 16), v);
            } else {
                const int sixteen = 2 * q + lane % 4 / 2, row = lane / 4;
                store_two(moved(place(box, row, sixteen), lane % 2 * 8), quad[0], quad[1]);
                store_two(moved(place(box, row + 8, sixteen), lane % 2 * 8), quad[2], quad[3]);
            }
        }
    }

    /* All threads, before the block ends. */
    __device__ __forceinline__ void wait() const
    {
        tensor_store_wait<0>();
    }
#else
    __device__ __forceinline__ void wait() const {}
#endif
};

#if BOXES
/* What is stored, in place of the sums: of the warp's rows from `row` of the tile on. */
static __device__ __forceinline__ void finish_quads(float (&sum)[QUADS][4], const struct destination &to,
                                                    int row)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int tall = 0; tall < TALL; tall++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            to.finish_pairs<RIGHT / 8>(row + tall * WGMMA_M + half * 8 + lane / 4, lane % 4 * 2,
                                       [&](int q) { return &sum[tall * (RIGHT / 8) + q][2 * half]; });
}

static __device__ __forceinline__ void store_boxes(const struct wgmma_args &args, struct tile_origin origin,
                                                   const struct destination &to, struct boxes &boxes,
                                                   float (&sum)[QUADS][4])
{
    constexpr int COLUMNS = boxes::COLUMNS;
    const int group = WALK == 2 ? 0 : threadIdx.x / WARPGROUP;
    const int row = group * TALL * WGMMA_M + threadIdx.x % WARPGROUP / 32 * 16;
    finish_quads(sum, to, row);
#pragma unroll
    for (int tall = 0; tall < TALL; tall++)
#pragma unroll
        for (int column = 0; column < RIGHT; column += COLUMNS) {
            const shared_place box = boxes.take();
            boxes::fill(box, sum, (tall * RIGHT + column) / 8);
            boxes.send(args.c, box, origin.m + row + tall * WGMMA_M, origin.n + column);
        }
}
#endif

#if DIRECT
/* A lane's columns of C, element by element: eight lanes have 32 bytes of a row. */
static __device__ __forceinline__ void store_columns(const float (&sum)[QUADS][4],
                                                     const struct destination &to)
{
    const int group = WALK == 2 ? 0 : threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;
    const int left = group * TALL * WGMMA_M + threadIdx.x % WARPGROUP / 32 * 16 + lane / 4,
              right = lane % 4 * 2;
#if !EPILOGUE
    if (to.beta == 0.0f && to.m >= BM && to.n >= BN) { /* a third of the instructions */
        c_element *const first = to.c + right * to.ldc + left;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            c_element *const c = first + q % (RIGHT / 8) * 8 * to.ldc + q / (RIGHT / 8) * WGMMA_M;
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float one[1] = {to.alpha * sum[q][e]};
                store_c<1>(c + e % 2 * to.ldc + e / 2 * 8, one);
            }
        }
        return;
    }
#endif
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            to.put<1>(right + q % (RIGHT / 8) * 8 + e % 2, left + q / (RIGHT / 8) * WGMMA_M + e / 2 * 8,
                      &sum[q][e]);
}
#endif

/* As a destination of gt_teams.cuh: vectors of 4, or what C's alignment allows. */
constexpr int VECTOR = VC < 4 ? VC : 4;

struct to_c {
    const struct destination &to;
    int first; /* row of the tile that rows are counted from */

    __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
    {
        if (first + row < BM) to.put<VECTOR>(first + row, column, sum); /* a cluster's last share is short */
    }
};

using cluster = cluster_tile<BM, BN, SUMS_ROW(BN), VECTOR, CONSUMER_THREADS, CLUSTER>;
static_assert(!CLUSTER || INBOX_FLOATS == cluster::FLOATS, "the host must know how large the inbox is");

/* Adds the sums of all blocks of the cluster, and stores them. */
static __device__ __forceinline__ void share_sums(const float (&sum)[QUADS][4], const struct destination &to,
                                                  float *tile, float *inbox)
{
    constexpr int ROW = SUMS_ROW(BN);
    const int left =
        threadIdx.x / WARPGROUP * TALL * WGMMA_M + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        put_quad<ROW>(tile, left + q / (RIGHT / 8) * WGMMA_M, q % (RIGHT / 8) * 8 + threadIdx.x % 4 * 2,
                      sum[q]);
    consumers_sync();
    cluster::wait_for_others();
    team_tiles<BM, BN, ROW, 4, CONSUMER_THREADS, 1>::add(tile, cluster::owner<4>{inbox});
    mbarrier_wait(cluster::full(inbox), 0);
    team_tiles<cluster::SHARE, BN, ROW, VECTOR, CONSUMER_THREADS, cluster::BLOCKS>::add(
        inbox, to_c{to, (int)blockIdx.y * cluster::SHARE});
}

static __device__ __forceinline__ unsigned *arrivals_of_tile(const struct gemm_args &args)
{
    return reinterpret_cast<unsigned *>(args.workspace) + (long long)blockIdx.z * gridDim.x + blockIdx.x;
}

/* Stores the block's sums as its part of the tile. Returns true for the last block of the tile; its sums are
 * then those of all of k. */
static __device__ __forceinline__ bool reduce_tile(const struct gemm_args &args, float (&sum)[QUADS][4],
                                                   float *flag)
{
    using part = tile_part<QUADS, 4, CONSUMER_THREADS, MIN_BLOCKS>;
    const struct workspace_item item = item_of(args);
    float *const parts =
        base_of(args, item) + item.parts + (long long)blockIdx.x * args.splits * part::FLOATS;
    part::store(parts + (long long)blockIdx.y * part::FLOATS, sum, 1.0f);
    if (!last_to_arrive(arrivals_of_tile(args), args.splits, flag)) return false;
    part::add(parts, args.splits, sum);
    return true;
}

/* The threads that hold sums. */
static __device__ __forceinline__ void store_sums(const struct wgmma_args &args, struct tile_origin origin,
                                                  float *memory, float *inbox, struct boxes &boxes,
                                                  float (&sum)[QUADS][4])
{
    if constexpr (LAST_BLOCK && !WALK)
        if (args.gemm.splits > 1 && !reduce_tile(args.gemm, sum, inbox)) return;
    const struct destination to = destination_of(args.gemm, origin);
    if (!WALK) consumers_sync(); /* all groups have read the ring */
#if BOXES
    store_boxes(args, origin, to, boxes, sum);
#elif DIRECT
    store_columns(sum, to);
#else
    if constexpr (CLUSTER) share_sums(sum, to, memory, inbox);
    else store_strips(sum, to, memory + SUMS_AT / 4);
#endif
}

/* The other threads, which take part in the barriers of the whole block. */
static __device__ __forceinline__ void stand_by(const struct gemm_args &args, float *inbox)
{
    if constexpr (CLUSTER) cluster::wait_for_others();
    else if (args.splits > 1) last_to_arrive(arrivals_of_tile(args), args.splits, inbox);
}

#endif
