/* SPDX-License-Identifier: MIT */
/* mma16_store.cuh — sums from the accumulators to C, by way of shared memory: a lane holds pairs of
 * neighbours, and lines of C are stored whole. Part of mma16.cu.
 *
 * An accumulator is a quad: the neighbours (row g, columns 2 t, 2 t + 1) of the instruction's product and the
 * same of row g + 8 (gt_mma16.cuh). With SWAP its rows are columns of C.
 *
 *     quads of a warp  -->  strip of 16 rows of C (SWAP: 8)  -->  lines of C         one team, no cluster
 *     quads of a block -->  a tile for each team  -->  their sum  -->  lines of C    teams
 *                                                 -->  inboxes of a cluster's blocks, which add them,  -->
 *                                                      lines of C                    (gt_cluster.cuh)
 */
#ifndef GT_MMA16_STORE_CUH
#define GT_MMA16_STORE_CUH

/* Memory that holds elements of the type: floats or bits. */
template <class T> struct stored_as {
    using type = unsigned short;
};
template <> struct stored_as<float> {
    using type = float;
};
using c_element = stored_as<TYPE_C>::type;

template <int V> static __device__ __forceinline__ void load_c(float (&v)[V], const float *c)
{
    load_own<V>(v, c);
}
template <int V> static __device__ __forceinline__ void load_c(float (&v)[V], const unsigned short *c)
{
    unsigned short bits[V];
    load_elements<V>(bits, c);
#pragma unroll
    for (int e = 0; e < V; e++) v[e] = unpacked<BF16>(bits[e]);
}
template <int V> static __device__ __forceinline__ void store_c(float *c, const float (&v)[V])
{
    store_global<V>(c, v);
}
template <int V> static __device__ __forceinline__ void store_c(unsigned short *c, const float (&v)[V])
{
    unsigned short bits[V];
#pragma unroll
    for (int e = 0; e < V; e += 2) {
        const unsigned two = packed<BF16>(v[e], e + 1 < V ? v[e + 1] : 0.0f);
        bits[e] = (unsigned short)two;
        if (e + 1 < V) bits[e + 1] = (unsigned short)(two >> 16);
    }
    store_elements<V>(c, bits);
}

static __device__ __forceinline__ float element_of_c(const c_element *c)
{
    float value[1];
    load_c<1>(value, c);
    return value[0];
}

/* Where the block's sums go: m x n elements of C are left from c on. */
struct destination {
    c_element *c;
    long long ldc;
    int m, n;
    float alpha, beta;
#if EPILOGUE
    const c_element *source, *bias; /* of the first element */
#endif

    /* V sums of neighbours. A vector at the edge of C, whose lines may be aligned and yet end within a
     * vector, is read and stored element by element. */
    template <int V> __device__ __forceinline__ void put(int row, int column, const float *sum) const
    {
        if (row >= m || column >= n) return;
        const bool whole = V == 1 || column + V <= n;
        const long long offset = row * ldc + column;
        float out[V];
#pragma unroll
        for (int e = 0; e < V; e++) out[e] = alpha * sum[e];
        if (beta != 0.0f) {
#if EPILOGUE
            const c_element *const from = source + offset;
#else
            const c_element *const from = c + offset;
#endif
            float old[V];
            if (whole) {
                load_c<V>(old, from);
            } else {
#pragma unroll
                for (int e = 0; e < V; e++) old[e] = column + e < n ? element_of_c(from + e) : 0.0f;
            }
#pragma unroll
            for (int e = 0; e < V; e++) out[e] = fmaf(beta, old[e], out[e]);
        }
#if EPILOGUE
#pragma unroll
        for (int e = 0; e < V; e++) {
            if (BIAS == 1) out[e] += column + e < n ? element_of_c(bias + column + e) : 0.0f;
            if (BIAS == 2) out[e] += element_of_c(bias + row);
            out[e] = activated(out[e], ACTIVATION == 1 ? 0.0f : infinite());
        }
#endif
        if (whole) {
            store_c<V>(c + offset, out);
        } else {
#pragma unroll
            for (int e = 0; e < V; e++) {
                const float one[1] = {out[e]};
                if (column + e < n) store_c<1>(c + offset + e, one);
            }
        }
    }
};

static __device__ __forceinline__ struct destination destination_of(const struct gemm_args &args,
                                                                    struct tile_origin origin)
{
    struct destination to;
    to.ldc = args.ldc;
    to.m = args.m - origin.m;
    to.n = args.n - origin.n;
    to.alpha = args.k == 0 ? 0.0f : scalar_of(args.alpha_device, args.alpha);
    to.beta = scalar_of(args.beta_device, args.beta);
    const long long first = origin.m * args.ldc + origin.n;
    to.c = item_of_batch<c_element>(args.c, args.stride_c) + first;
#if EPILOGUE
    to.source = reinterpret_cast<const c_element *>(args.source) + blockIdx.z * args.stride_c + first;
    to.bias = reinterpret_cast<const c_element *>(args.bias);
    if (BIAS) to.bias += blockIdx.z * args.stride_bias + (BIAS == 1 ? origin.n : origin.m);
#endif
    return to;
}

/* Puts a quad into rows of sums, ROW floats apart, of which `tile` is the first; (left, right) is the quad's
 * first element by rows and columns of the instruction. */
template <int ROW>
static __device__ __forceinline__ void put_quad(float *tile, int left, int right, const float (&quad)[4])
{
    if constexpr (SWAP) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            store_shared<1>(tile + (right + e % 2) * ROW + left + e / 2 * 8, quad + e);
    } else {
        store_shared<2>(tile + left * ROW + right, quad);
        store_shared<2>(tile + (left + 8) * ROW + right, quad + 2);
    }
}

/* The warp's sums: strips of rows, one after the other, through a piece of shared memory of its own. */
static __device__ __forceinline__ void store_strips(const float (&sum)[QUADS][4],
                                                    const struct destination &to, int row, int column)
{
    constexpr int ROW = SUMS_ROW(WN), VECTORS = WN / VC;
    const int lane = thread_index() % 32;
    float *const strip = gt_shared_memory() + thread_index() / 32 * (STRIP_BYTES / 4);
#pragma unroll
    for (int s = 0; s < WM / STRIP; s++) {
        if (s > 0) __syncwarp();
#pragma unroll
        for (int i = 0; i < (SWAP ? LEFTS : RIGHTS); i++)
            put_quad<ROW>(strip, lane / 4 + (SWAP ? i * MMA_M : 0), lane % 4 * 2 + (SWAP ? 0 : i * MMA_N),
                          sum[SWAP ? i * RIGHTS + s : s * RIGHTS + i]);
        __syncwarp();
#pragma unroll 2
        for (int first = 0; first < STRIP * VECTORS; first += 32) {
            const int i = first + lane, r = i / VECTORS, c = i % VECTORS * VC;
            if (STRIP * VECTORS % 32 == 0 || i < STRIP * VECTORS) {
                float four[VC];
#pragma unroll
                for (int e = 0; e < VC; e += 4)
                    load_shared<(VC < 4 ? VC : 4)>(four + e, strip + r * ROW + c + e);
                to.put<VC>(row + s * STRIP + r, column + c, four);
            }
        }
    }
}

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

using cluster = cluster_tile<BM, BN, SUMS_ROW(BN), VECTOR, THREADS, CLUSTER>;
static_assert(!CLUSTER || INBOX_FLOATS == cluster::FLOATS, "the host must know how large the inbox is");

static __device__ __forceinline__ float *inbox()
{
    return gt_shared_memory() + AFTER_BYTES / 4;
}

/* Adds the sums of all teams of the block, and of all blocks of its cluster, and stores them. */
static __device__ __forceinline__ void share_sums(const float (&sum)[QUADS][4], const struct destination &to,
                                                  int row, int column, int team)
{
    constexpr int ROW = SUMS_ROW(BN);
    const int lane = thread_index() % 32;
    const int left = (SWAP ? column : row) + lane / 4, right = (SWAP ? row : column) + lane % 4 * 2;
    float *const tiles = gt_shared_memory();
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        put_quad<ROW>(tiles + team * (TILE_BYTES / 4), left + q / RIGHTS * MMA_M, right + q % RIGHTS * MMA_N,
                      sum[q]);
    __syncthreads();
    if constexpr (CLUSTER) {
        cluster::wait_for_others();
        team_tiles<BM, BN, ROW, 4, THREADS, WARPS_K>::add(tiles, cluster::owner<4>{inbox()});
        mbarrier_wait(cluster::full(inbox()), 0);
        team_tiles<cluster::SHARE, BN, ROW, VECTOR, THREADS, cluster::BLOCKS>::add(
            inbox(), to_c{to, (int)blockIdx.y * cluster::SHARE});
    } else {
        team_tiles<BM, BN, ROW, VECTOR, THREADS, WARPS_K>::add(tiles, to_c{to, 0});
    }
}

/* Stores the block's sums as its part of the tile. Returns true for the last block of the tile; its sums are
 * then those of all of k. */
static __device__ __forceinline__ bool reduce_tile(const struct gemm_args &args, float (&sum)[QUADS][4])
{
    using part = tile_part<QUADS, 4, THREADS, MIN_BLOCKS>;
    const struct workspace_item item = item_of(args);
    float *const parts =
        base_of(args, item) + item.parts + (long long)blockIdx.x * args.splits * part::FLOATS;
    part::store(parts + (long long)blockIdx.y * part::FLOATS, sum, 1.0f);
    unsigned *const counter =
        reinterpret_cast<unsigned *>(args.workspace) + ((long long)blockIdx.z * gridDim.x + blockIdx.x);
    if (!last_to_arrive(counter, args.splits, inbox())) return false;
    part::add(parts, args.splits, sum);
    return true;
}

#endif
