/* SPDX-License-Identifier: MIT */
/* f16x3_store.cuh — sums from the accumulators to C, and the powers of two, and what is done where they are
 * not finite. Part of f16x3.cu.
 *
 * A thread holds quads: the neighbours (row lane / 4, columns 2 (lane % 4) and one more) of 8 columns, and
 * the same 8 rows below.
 */
#ifndef GT_F16X3_STORE_CUH
#define GT_F16X3_STORE_CUH

constexpr int QUADS = BN / 8;
static_assert(QUADS <= 32, "a bit for each quad");

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
    template <bool BLEND>
    __device__ __forceinline__ void put(int row, int column, const float (&quad)[4]) const
    {
        put_two<BLEND>(row, column, quad);
        put_two<BLEND>(row + 8, column, quad + 2);
    }
};

/* Stores the block's sums as its part of the tile. Returns true in the last block to do so; its sums are then
 * those of all k. Only threads with sums take part. */
static __device__ __forceinline__ bool add_parts(const struct gemm_args &args, unsigned tile, unsigned tiles,
                                                 int split, float *flag, float (&sum)[QUADS][4])
{
    using part = tile_part<QUADS, 4, CONSUMER_THREADS, 1>;
    const long long before = /* words of an item */
        PIECES * pieces_apart(args) / 2 + EXPONENT_WORDS((long long)args.m, args.n);
    float *const parts = args.workspace + args.counters + gridDim.z * before +
                         (blockIdx.z * (long long)tiles + tile) * args.splits * part::FLOATS;
    unsigned *const arrivals = reinterpret_cast<unsigned *>(args.workspace) + gridDim.z * maxima_words(args) +
                               blockIdx.z * (long long)tiles + tile;
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
        const int r = row + 8 * i < args.m ? row + 8 * i : args.m - 1;
        const int c = column + i < args.n ? column + i : args.n - 1;
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
        for (int e = 0; e < 4; e++) quad[e] = fmaf(x[e / 2], y[e % 2], quad[e]);
    }
}

/* Takes A' B' to A B. What is beyond C is not looked at. */
static __device__ __forceinline__ void scale_sums(const struct gemm_args &args, int row, int column,
                                                  float (&sum)[QUADS][4])
{
    const int *const of_rows = exponents_of(args), *const of_columns = of_rows + args.m;
    int r[2];
#pragma unroll
    for (int i = 0; i < 2; i++) r[i] = (row + 8 * i < args.m ? of_rows[row + 8 * i] : 0) - 2 * TOP_EXPONENT;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int own = column + q * 8 + i, c = own < args.n ? of_columns[own] : 0;
            sum[q][i] = scaled(sum[q][i], r[0] + c);
            sum[q][2 + i] = scaled(sum[q][2 + i], r[1] + c);
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

/* multiplied: false if A and B are not read. */
static __device__ __forceinline__ void store_sums(const struct gemm_args &args, struct tile_origin origin,
                                                  bool multiplied, float (&sum)[QUADS][4])
{
    struct target to;
    to.c = ITEM_OF_BATCH(args, c);
    to.ldc = args.ldc;
    to.m = args.m;
    to.n = args.n;
    to.alpha = multiplied ? scalar_of(args.alpha_device, args.alpha) : 0.0f;
    to.blend = blend_of(args);
    const int row = origin.m + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const int column = origin.n + threadIdx.x % 4 * 2;
    if (multiplied) scale_sums(args, row, column, sum);
    if (to.blend != 0.0f) store_quads<true>(args, to, row, column, sum);
    else store_quads<false>(args, to, row, column, sum);
}

#endif
