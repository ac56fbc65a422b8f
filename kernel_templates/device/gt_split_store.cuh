/* SPDX-License-Identifier: MIT */
/* gt_split_store.cuh — sums from the accumulators to C, and what is done where they are not finite, in
 * kernels that multiply operands as pieces (gt_split_ring.cuh).
 *
 * A thread holds quads: the neighbours (row lane / 4, columns 2 (lane % 4) and one more) of 8 columns, and
 * the same 8 rows below. Rows are those of the left operand: with SWAP columns of C.
 *
 *     workspace:  counters: MAXIMA_WORDS of each item, then arrivals of parts
 *                 pieces of item 0: PIECES times m lines of A's rows, n lines of B's columns, or the right
 *                                   operand's lines alone; of item 1 ...
 *                 EXPONENT_WORDS of item 0 ...
 *                 parts of sums, if blocks share tiles
 */
#ifndef GT_SPLIT_STORE_CUH
#define GT_SPLIT_STORE_CUH

constexpr int QUADS = RIGHT / 8;
static_assert(QUADS <= 32, "a bit for each quad");

/* Elements of a line of pieces, and from a piece of an item to the next. */
static __device__ __forceinline__ long long piece_line(const struct gemm_args &args)
{
    return (args.k + 63ll) / 64 * 64;
}
static __device__ __forceinline__ long long pieces_apart(const struct gemm_args &args)
{
    const long long lines = LEFT_RAW ? (SWAP ? args.m : args.n) : (long long)args.m + args.n;
    return lines * piece_line(args);
}

/* Where a thread's sums go. */
struct target {
    float *c; /* of the block's batch item */
    long long ldc;
    int m, n;
    float alpha;
    blending blend;

    template <bool BLEND> __device__ __forceinline__ void put_two(int row, int column, const float *sum) const
    {
        if (row >= m || column >= n) return;
        float *const to = c + row * ldc + column;
        if (VC == 2 && column + 1 < n) {
            store_scaled<VC, BLEND>(to, sum, alpha, blend, biases_at<VC>(blend, row, column));
        } else {
            store_scaled<1, BLEND>(to, sum, alpha, blend, biases_at<1>(blend, row, column));
            if (column + 1 < n)
                store_scaled<1, BLEND>(to + 1, sum + 1, alpha, blend, biases_at<1>(blend, row, column + 1));
        }
    }
    template <bool BLEND> __device__ __forceinline__ void put_one(int row, int column, const float *sum) const
    {
        if (row < m && column < n)
            store_scaled<1, BLEND>(c + row * ldc + column, sum, alpha, blend,
                                   biases_at<1>(blend, row, column));
    }
    /* From row `left` of the left operand and column `right` of the right one on. */
    template <bool BLEND>
    __device__ __forceinline__ void put(int left, int right, const float (&quad)[4]) const
    {
        if (SWAP) {
#pragma unroll
            for (int e = 0; e < 4; e++) put_one<BLEND>(right + e % 2, left + 8 * (e / 2), quad + e);
        } else {
            put_two<BLEND>(left, right, quad);
            put_two<BLEND>(left + 8, right, quad + 2);
        }
    }
};

/* Stores the block's sums as its part of the tile. Returns true in the last block to do so; its sums are then
 * those of all k. Only threads with sums take part. */
static __device__ __forceinline__ bool add_parts(const struct gemm_args &args, unsigned tile, unsigned tiles,
                                                 int split, float *flag, float (&sum)[QUADS][4])
{
    using part = tile_part<QUADS, 4, CONSUMER_THREADS, 1>;
    const long long before = WORDS_BEFORE_PARTS(args); /* of an item */
    float *const parts = args.workspace + args.counters + gridDim.z * before +
                         (blockIdx.z * (long long)tiles + tile) * args.splits * part::FLOATS;
    unsigned *const arrivals = ARRIVALS(args) + blockIdx.z * (long long)tiles + tile;
    part::store(parts + (long long)split * part::FLOATS, sum, 1.0f);
    group_sync(1, CONSUMER_THREADS);
    if (threadIdx.x == 0) {
        const bool last = count_in(arrivals) == args.splits - 1u;
        if (last) *arrivals = 0; /* for the next launch */
        const float answer = last ? 1.0f : 0.0f;
        store_shared<1>(flag, &answer);
    }
    group_sync(1, CONSUMER_THREADS);
    float answer;
    load_shared<1>(&answer, flag);
    if (answer == 0.0f) return false;
    part::add(parts, args.splits, sum);
    return true;
}

static __device__ __forceinline__ bool all_finite(const float (&quad)[4])
{
    float zero = 0.0f;
#pragma unroll
    for (int e = 0; e < 4; e++) zero = fmaf(quad[e], 0.0f, zero);
    return zero == 0.0f;
}

/* The quad's sums of the elements of A and B themselves, in the order of k. Rows and columns beyond C are
 * taken for the last ones. */
static __device__ __forceinline__ void sum_strictly(const struct gemm_args &args, int row, int column,
                                                    float (&quad)[4])
{
    const float *const a = ITEM_OF_BATCH(args, a), *const b = ITEM_OF_BATCH(args, b);
    const long long step_a = TRANS_A ? args.lda : 1, step_b = TRANS_B ? 1 : args.ldb;
    const float *at_a[2], *at_b[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int own_row = SWAP ? column + i : row + 8 * i, own_column = SWAP ? row + 8 * i : column + i;
        const int r = own_row < args.m ? own_row : args.m - 1;
        const int c = own_column < args.n ? own_column : args.n - 1;
        at_a[i] = a + (TRANS_A ? r : r * args.lda);
        at_b[i] = b + (TRANS_B ? c * args.ldb : c);
    }
#pragma unroll
    for (int e = 0; e < 4; e++) quad[e] = 0.0f;
#pragma unroll 4
    for (int k = 0; k < args.k; k++) {
        const float x[2] = {__ldg(at_a[0] + k * step_a), __ldg(at_a[1] + k * step_a)};
        const float y[2] = {__ldg(at_b[0] + k * step_b), __ldg(at_b[1] + k * step_b)};
#pragma unroll
        for (int e = 0; e < 4; e++) quad[e] = fmaf(x[SWAP ? e % 2 : e / 2], y[SWAP ? e / 2 : e % 2], quad[e]);
    }
}

/* Quads that are not finite are stored later, when no sums are left in registers. */
template <bool BLEND>
static __device__ __forceinline__ void store_quads(const struct gemm_args &args, const struct target &to,
                                                   int row, int column, const float (&sum)[QUADS][4])
{
    unsigned strict = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        if (all_finite(sum[q])) to.put<BLEND>(row, column + q * 8, sum[q]);
        else strict |= 1u << q;
    }
#pragma unroll 1
    for (int q = 0; strict != 0; q++, strict >>= 1) {
        float quad[4];
        if (strict % 2 == 0) continue;
        sums_again();
        sum_strictly(args, row, column + q * 8, quad);
        to.put<BLEND>(row, column + q * 8, quad);
    }
}

#endif
