/* SPDX-License-Identifier: MIT */
/* skinny_sum.cuh — adds the sums of the lanes of a warp, the warps of a block and the blocks of a tile, and
 * stores C. The order of the additions is fixed; it does not depend on which thread or block is first. */
#ifndef GT_SKINNY_SUM_CUH
#define GT_SKINNY_SUM_CUH

/* Rows of the tile that a lane holds after the sums of the lanes have been added. */
struct held {
    int row, count;
};

/* Lanes `MASK` apart add their sums of N rows: each keeps one half of the rows and sends the other half. */
template <int N, int MASK>
static __device__ __forceinline__ void add_neighbours(float (&sum)[ROWS_W][TX], int lane, struct held *held)
{
    constexpr int KEEP = (N + 1) / 2;
    const bool upper = lane & MASK;
#pragma unroll
    for (int i = 0; i < KEEP; i++)
#pragma unroll
        for (int x = 0; x < TX; x++) {
            if constexpr (N == 1) {
                sum[0][x] += __shfl_xor_sync(0xffffffffu, sum[0][x], MASK);
            } else {
                const float low = sum[i][x], high = KEEP + i < N ? sum[KEEP + i < N ? KEEP + i : 0][x] : 0.0f;
                sum[i][x] = (upper ? high : low) + __shfl_xor_sync(0xffffffffu, upper ? low : high, MASK);
            }
        }
    if (N == 1) {
        if (upper) held->count = 0; /* both hold the same */
    } else if (upper) {
        held->row += KEEP;
        held->count -= KEEP;
    } else if (held->count > KEEP) {
        held->count = KEEP;
    }
}

/* The same from lanes MASK apart down to lanes LOWEST apart. */
template <int N, int MASK, int LOWEST>
static __device__ __forceinline__ void add_lanes(float (&sum)[ROWS_W][TX], int lane, struct held *held)
{
    if constexpr (MASK >= LOWEST) {
        add_neighbours<N, MASK>(sum, lane, held);
        add_lanes<(N + 1) / 2, MASK / 2, LOWEST>(sum, lane, held);
    }
}

/* Stores the lane's rows of this pass, times alpha, where the block adds its warps. */
static __device__ __forceinline__ void store_rows(float *shared, const float (&sum)[ROWS_W][TX],
                                                  const struct place &place, const struct held &held,
                                                  int pass, float alpha)
{
    constexpr int WIDTH = STREAM_ALONG_K ? (TX % 4 == 0 ? 4 : TX % 2 == 0 ? 2 : 1) : VX;
    constexpr int MOST = (ROWS_W + LANES_K - 1) / LANES_K;
#pragma unroll
    for (int i = 0; i < MOST; i++) {
        const int row = held.row + i - pass * PASS_ROWS;
        if (i < held.count && row >= 0 && row < PASS_ROWS) {
            float *line = shared + (place.warp_k * PASS_ROWS + row) * STRIDE_SUM;
#pragma unroll
            for (int x = 0; x < TX; x += WIDTH) {
                float out[WIDTH];
#pragma unroll
                for (int e = 0; e < WIDTH; e++) out[e] = alpha * sum[i][x + e];
                store_shared<WIDTH>(line + column_of(place, x / VX) + (STREAM_ALONG_K ? x : 0), out);
            }
        }
    }
}

/* Vector v of a pass over the tile: VC neighbouring elements of C, along the columns with SIDE 0 and along
 * the rows with SIDE 1. */
struct spot {
    int row, x; /* within the pass */
};

#define PASS_VECTORS (PASS_ROWS * TILE_X / VC)

static __device__ __forceinline__ struct spot spot_of(int v)
{
    const int e = v * VC;
    return SIDE == 0 ? spot{e / TILE_X, e % TILE_X} : spot{e % PASS_ROWS, e / PASS_ROWS};
}

static __device__ __forceinline__ bool is_inside(const struct view &view, const struct spot &spot, int pass)
{
    return pass * PASS_ROWS + spot.row < view.rows && view.first_column + spot.x < view.columns;
}

static __device__ __forceinline__ void store_spot(const struct gemm_args &args, const struct view &view,
                                                  const struct spot &spot, int pass, const float *sum,
                                                  blending blend)
{
    const int row = pass * PASS_ROWS + spot.row, column = view.first_column + spot.x;
    float *c = ITEM_OF_BATCH(args, c);
    c += SIDE == 0 ? row * args.ldc + column : column * args.ldc + row;
    const biases<VC> bias = biases_at<VC>(blend, SIDE == 0 ? row : column, SIDE == 0 ? column : row);
    if (blend == 0.0f) store_scaled<VC, false>(c, sum, 1.0f, blend, bias);
    else store_scaled<VC, true>(c, sum, 1.0f, blend, bias);
}

/* The part of the tile for one split in the workspace, after the counters. */
static __device__ __forceinline__ float *part_of(const struct gemm_args &args, int split)
{
    const long long tile = (long long)blockIdx.z * gridDim.x + blockIdx.x;
    return args.workspace + args.counters + (tile * args.splits + split) * PART_FLOATS;
}

/* Vectors of a pass for each of `threads` threads. */
static constexpr __device__ int turns_of(int threads)
{
    return (PASS_VECTORS + threads - 1) / threads;
}

static __device__ __forceinline__ struct mbarrier *inbox_full()
{
    return reinterpret_cast<struct mbarrier *>(gt_shared_memory() + INBOX_FULL_AT);
}

/* Called early, so that the cluster's barrier is complete by the time the sums are ready. */
static __device__ __forceinline__ void join_cluster()
{
    const int left = PART_FLOATS / VC - (int)blockIdx.y * SHARE;
    const int vectors = left < 0 ? 0 : left < SHARE ? left : SHARE;
    if (threadIdx.x == 0) {
        mbarrier_init(inbox_full(), 1);
        mbarrier_ready_for_send();
        mbarrier_arrive_expect(inbox_full(), REDUCE * vectors * VC * 4, true);
    }
    cluster_arrive();
}

/* Sends a vector of the block's part of the tile to the block of the cluster that adds it. A template, so
 * that it is not compiled for architectures without clusters. */
template <int BLOCKS> static __device__ __forceinline__ void send_vector(int vector, const float *sum)
{
    if constexpr (BLOCKS > 1) {
        const int owner = vector / SHARE;
        float *const inbox = gt_shared_memory() + INBOX_AT;
        send<VC>(inbox + ((int)blockIdx.y * SHARE + vector - owner * SHARE) * VC, sum, inbox_full(), owner);
    }
}

/* Adds the parts of all blocks in the inbox, in ascending order, and stores the block's share of C. */
static __device__ __forceinline__ void add_cluster(const struct gemm_args &args, const struct view &view,
                                                   blending blend)
{
    const int thread = thread_index();
    const float *const inbox = gt_shared_memory() + INBOX_AT;
    mbarrier_wait(inbox_full(), 0);
#pragma unroll
    for (int turn = 0; turn < (SHARE + THREADS - 1) / THREADS; turn++) {
        const int mine = thread + turn * THREADS, vector = blockIdx.y * SHARE + mine;
        const int pass = vector / PASS_VECTORS;
        const struct spot spot = spot_of(vector - pass * PASS_VECTORS);
        if (mine >= SHARE || pass >= PASSES || !is_inside(view, spot, pass)) continue;
        float total[VC];
        load_shared<VC>(total, inbox + mine * VC);
#pragma unroll
        for (int b = 1; b < REDUCE; b++) {
            float value[VC];
            load_shared<VC>(value, inbox + (b * SHARE + mine) * VC);
#pragma unroll
            for (int e = 0; e < VC; e++) total[e] += value[e];
        }
        store_spot(args, view, spot, pass, total, blend);
    }
}

/* Adds the block's sums over its lanes and warps. The result goes to C or, if blocks share the tile, to the
 * cluster or to the workspace; in the workspace the whole tile is stored, also beyond the edges of C. */
static __device__ __forceinline__ void add_lanes_and_warps(const struct gemm_args &args,
                                                           const struct view &view, float (&sum)[ROWS_W][TX],
                                                           float alpha, blending blend)
{
    const int thread = thread_index(); /* not kept in registers until here, as threadIdx would be */
    const struct place place = place_of(thread);
    struct held held = {place.warp_r * ROWS_W, ROWS_W};
    add_lanes<ROWS_W, STREAM_ALONG_K ? LANES_K / 2 : 16, STREAM_ALONG_K ? 1 : LANES_X>(sum, thread, &held);

    float *const shared = gt_shared_memory();
    float *const part = part_of(args, blockIdx.y);
    if constexpr (CLUSTER) cluster_wait();
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        __syncthreads(); /* the chunks, or the last pass, have been read */
        store_rows(shared, sum, place, held, pass, alpha);
        __syncthreads();
#pragma unroll
        for (int turn = 0; turn < turns_of(THREADS); turn++) {
            const int v = thread + turn * THREADS;
            if (PASS_VECTORS % THREADS != 0 && v >= PASS_VECTORS) break;
            const struct spot spot = spot_of(v);
            float total[VC];
#pragma unroll
            for (int e = 0; e < VC; e++) total[e] = 0.0f;
#pragma unroll
            for (int w = 0; w < WARPS_K; w++) {
                const float *at = shared + (w * PASS_ROWS + spot.row) * STRIDE_SUM + spot.x;
                float value[VC];
                if (SIDE == 0) load_shared<VC>(value, at);
                else
#pragma unroll
                    for (int e = 0; e < VC; e++) load_shared<1>(value + e, at + e * STRIDE_SUM);
#pragma unroll
                for (int e = 0; e < VC; e++) total[e] += value[e];
            }
            if constexpr (CLUSTER) send_vector<CLUSTER>(pass * PASS_VECTORS + v, total);
            else if (args.splits > 1) store_global<VC>(part + pass * PASS_ROWS * TILE_X + v * VC, total);
            else if (is_inside(view, spot, pass)) store_spot(args, view, spot, pass, total, blend);
        }
    }
}

/* Returns true in the block that is the last of its tile to store its part. */
static __device__ __forceinline__ bool last_of_tile(const struct gemm_args &args)
{
    unsigned *const counters = reinterpret_cast<unsigned *>(args.workspace);
    return last_to_arrive(counters + ((long long)blockIdx.z * gridDim.x + blockIdx.x), args.splits,
                          gt_shared_memory());
}

/* Threads that share a vector of C when the parts are added: as many as there are, limited by the shared
 * memory for the sums of WARPS_K warps. */
static constexpr __device__ int join_ways()
{
    int ways = 1;
    while (2 * ways <= WARPS_K && PASS_VECTORS * 2 * ways <= THREADS) ways *= 2;
    return ways;
}

/* Loads in flight at a time when the parts are added: up to 4 vectors of a thread, and as many parts of each
 * as its registers hold. Each round trip to L2 costs half a microsecond. */
#define JOIN_WIDTH (THREADS / join_ways())
#define JOIN_TURNS turns_of(JOIN_WIDTH)
#define JOIN_GROUP (JOIN_TURNS < 4 ? JOIN_TURNS : 4)

static constexpr __device__ int join_at_once()
{
    const int limit = 65536 / (THREADS * MIN_BLOCKS);
    const int spare = (limit < 255 ? limit : 255) - JOIN_GROUP * VC - 28;
    const int floats = spare >= 64 ? 64 : spare >= 32 ? 32 : 16;
    return floats / (JOIN_GROUP * VC) > 1 ? floats / (JOIN_GROUP * VC) : 1;
}

/* total[t] = parts begin .. end - 1 of vectors JOIN_WIDTH apart, added in ascending order. */
static __device__ __forceinline__ void add_parts(float (&total)[JOIN_GROUP][VC], const float *part, int begin,
                                                 int end, const bool (&mine)[JOIN_GROUP])
{
    constexpr int AT_ONCE = join_at_once();
#pragma unroll
    for (int t = 0; t < JOIN_GROUP; t++)
#pragma unroll
        for (int e = 0; e < VC; e++) total[t][e] = 0.0f;
    part += begin * (long long)PART_FLOATS;
#pragma unroll 1
    for (int s = begin; s < end; s += AT_ONCE) {
        float x[AT_ONCE][JOIN_GROUP][VC];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int t = 0; t < JOIN_GROUP; t++) {
#pragma unroll
                for (int e = 0; e < VC; e++) x[i][t][e] = 0.0f;
                if (s + i < end && mine[t])
                    load_own<VC>(x[i][t], part + i * (long long)PART_FLOATS + t * JOIN_WIDTH * VC);
            }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int t = 0; t < JOIN_GROUP; t++)
#pragma unroll
                for (int e = 0; e < VC; e++) total[t][e] += x[i][t][e];
        part += AT_ONCE * (long long)PART_FLOATS;
    }
}

/* The first thread of a vector adds to its total the totals of the others, which cover later splits; one
 * vector per thread. */
static __device__ __forceinline__ void add_ways(float (&total)[JOIN_GROUP][VC], int v, int way)
{
    constexpr int WAYS = join_ways();
    float *const shared = gt_shared_memory();
    __syncthreads();
    if (v < PASS_VECTORS) store_shared<VC>(shared + (way * PASS_VECTORS + v) * VC, total[0]);
    __syncthreads();
    if (v < PASS_VECTORS && way == 0)
#pragma unroll
        for (int w = 1; w < WAYS; w++) {
            float value[VC];
            load_shared<VC>(value, shared + (w * PASS_VECTORS + v) * VC);
#pragma unroll
            for (int e = 0; e < VC; e++) total[0][e] += value[e];
        }
}

/* C from the parts of all splits, in ascending order. Threads that a small tile would leave idle share the
 * splits: each adds a run of neighbouring splits, and the first of them adds the runs. */
static __device__ __forceinline__ void add_blocks(const struct gemm_args &args, const struct view &view,
                                                  blending blend)
{
    constexpr int WAYS = join_ways();
    const int way = threadIdx.x / JOIN_WIDTH, run = (args.splits + WAYS - 1) / WAYS, begin = way * run;
    const int end = begin + run < args.splits ? begin + run : args.splits;
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass++)
#pragma unroll 1
        for (int first = threadIdx.x % JOIN_WIDTH; first < JOIN_TURNS * JOIN_WIDTH;
             first += JOIN_GROUP * JOIN_WIDTH) {
            float total[JOIN_GROUP][VC];
            bool mine[JOIN_GROUP];
#pragma unroll
            for (int t = 0; t < JOIN_GROUP; t++) mine[t] = first + t * JOIN_WIDTH < PASS_VECTORS;
            add_parts(total, part_of(args, 0) + pass * PASS_ROWS * TILE_X + first * VC, begin, end, mine);
            if constexpr (WAYS > 1) add_ways(total, first, way);
#pragma unroll
            for (int t = 0; t < JOIN_GROUP; t++) {
                const struct spot spot = spot_of(first + t * JOIN_WIDTH);
                if (way == 0 && mine[t] && is_inside(view, spot, pass))
                    store_spot(args, view, spot, pass, total[t], blend);
            }
        }
}

#endif
