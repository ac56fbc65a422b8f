/* SPDX-License-Identifier: MIT */
/* f16x3_scale.cuh — by which powers of two A and B are multiplied before they are split. Part of f16x3.cu.
 *
 * FP16 has few exponents. So with s(k), r(m), c(n) below
 *
 *     A'[m,k] = A[m,k] 2^(s(k) - r(m) + 14)        B'[k,n] = B[k,n] 2^(-s(k) - c(n) + 14)
 *
 * are split and multiplied, and C = A' B' 2^(r(m) + c(n) - 28). From the exponents of the largest elements of
 * A's row m, a(m), and column k, a'(k), of B's row k, b'(k), and column n, b(n):
 *
 *     s(k) = (b'(k) - a'(k)) / 2                   column k of A and row k of B get equal maxima
 *     r(m) = max over k of min(a(m), a'(k)) + s(k) no element of A's row m is larger than 2^(r(m) + 1) then
 *     c(n) = max over k of min(b(n), b'(k)) - s(k)
 *
 * A k whose column of A or row of B has no finite number but 0 does not count, and the other one is taken
 * times 0: the product is 0 or not finite either way. Infinities and NaN count for no maximum, so that
 * others' elements keep their bits; their pieces are not finite.
 *
 * r(m) depends on a(m) alone, which has few values: a block tabulates it. It is a bound, not the maximum:
 * where rows and k are graded, both, and by much, small rows keep fewer bits, but never fewer than against
 * the largest row.
 *
 *     counters:  item 0: maxima of A's rows, of A's columns, of B's rows, of B's columns; item 1 ...
 *                (the bits of |x|; 0 before the first launch, and gemm leaves 0), then arrivals of parts
 */
#ifndef GT_F16X3_SCALE_CUH
#define GT_F16X3_SCALE_CUH

/* The item's maxima, by what they belong to. */
struct maxima {
    float *a_rows, *a_columns, *b_rows, *b_columns;
};

static __device__ __forceinline__ struct maxima maxima_of(const struct gemm_args &args)
{
    float *const first = args.workspace + blockIdx.z * maxima_words(args);
    float *const of_b = first + args.m + args.k;
    return {first, first + args.m, of_b, of_b + args.k};
}

/* Raises the maxima of the lines and of the places of a tile of an operand as it lies: `lines` lines of
 * `length` elements. */
static __device__ __forceinline__ void find_maxima(const float *from, long long ld, int lines, int length,
                                                   float *of_lines, float *of_places, int tile)
{
    constexpr int WARPS = MAXIMA_THREADS / 32, OWN = MAXIMA_LINES / WARPS, WIDE = MAXIMA_LENGTH / 32;
    constexpr int AT_ONCE = OWN < 4 ? OWN : 4; /* lines whose loads are on the way */
    const int across = (length + MAXIMA_LENGTH - 1) / MAXIMA_LENGTH, warp = threadIdx.x / 32,
              lane = threadIdx.x % 32;
    const int first = tile / across * MAXIMA_LINES + warp * OWN, place = tile % across * MAXIMA_LENGTH + lane;
    unsigned of_place[WIDE] = {}, of_line = 0; /* the line of the lane's number */
#pragma unroll
    for (int i = 0; i < OWN; i += AT_ONCE) {
        float value[AT_ONCE][WIDE];
#pragma unroll
        for (int l = 0; l < AT_ONCE; l++)
#pragma unroll
            for (int w = 0; w < WIDE; w++) {
                value[l][w] = 0.0f;
                load_stream<1>(&value[l][w], from + (first + i + l) * ld + place + w * 32,
                               first + i + l < lines && place + w * 32 < length);
            }
#pragma unroll
        for (int l = 0; l < AT_ONCE; l++) {
            unsigned largest = 0;
#pragma unroll
            for (int w = 0; w < WIDE; w++) {
                const unsigned own = magnitude(value[l][w]);
                of_place[w] = max(of_place[w], own);
                largest = max(largest, own);
            }
            largest = warp_maximum(largest);
            if (lane == i + l) of_line = largest;
        }
    }
    unsigned *const shared = reinterpret_cast<unsigned *>(gt_shared_memory());
    if (of_line > 0) raise(reinterpret_cast<unsigned *>(of_lines) + first + lane, of_line);
#pragma unroll
    for (int w = 0; w < WIDE; w++) shared[warp * MAXIMA_LENGTH + w * 32 + lane] = of_place[w];
    __syncthreads();
    const int own = threadIdx.x;
    if (own >= MAXIMA_LENGTH) return;
    unsigned largest = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) largest = max(largest, shared[w * MAXIMA_LENGTH + own]);
    if (largest > 0)
        raise(reinterpret_cast<unsigned *>(of_places) + tile % across * MAXIMA_LENGTH + own, largest);
}

static __device__ __forceinline__ int maxima_tiles(int lines, int length)
{
    return (lines + MAXIMA_LINES - 1) / MAXIMA_LINES * ((length + MAXIMA_LENGTH - 1) / MAXIMA_LENGTH);
}

extern "C" __global__ void __launch_bounds__(MAXIMA_THREADS) gemm_maxima(const struct gemm_args args)
{
    next_kernel_may_begin(true);
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) return; /* then A and B are not read */
    const struct maxima to = maxima_of(args);
    const int lines_a = TRANS_A ? args.k : args.m, length_a = TRANS_A ? args.m : args.k;
    const int lines_b = TRANS_B ? args.n : args.k, length_b = TRANS_B ? args.k : args.n;
    const int tiles_a = maxima_tiles(lines_a, length_a), tile = blockIdx.x;
    if (tile < tiles_a)
        find_maxima(ITEM_OF_BATCH(args, a), args.lda, lines_a, length_a, TRANS_A ? to.a_columns : to.a_rows,
                    TRANS_A ? to.a_rows : to.a_columns, tile);
    else
        find_maxima(ITEM_OF_BATCH(args, b), args.ldb, lines_b, length_b, TRANS_B ? to.b_columns : to.b_rows,
                    TRANS_B ? to.b_rows : to.b_columns, tile - tiles_a);
}

/* For the next launch: by all threads of the blocks of an item, when nobody reads them any more. */
static __device__ __forceinline__ void clear_maxima(const struct gemm_args &args)
{
    float *const words = args.workspace + blockIdx.z * maxima_words(args);
    const float zero = 0.0f;
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < maxima_words(args);
         i += gridDim.x * (long long)THREADS)
        store_global<1>(words + i, &zero);
}

#define NO_EXPONENT (-10000)

/* The exponents of one operand: of A's rows, or of B's columns. */
template <bool OF_B> struct scale {
    const float *rows, *own, *other; /* maxima: of the rows, and of each k, also of the other operand */
    int *shift, *bound;              /* by the exponent of own: the largest shift; r */
    int *extreme;                    /* largest and smallest exponent (negated) that a k has */

    __device__ __forceinline__ scale(const struct gemm_args &args, int *shared)
    {
        const struct maxima of = maxima_of(args);
        rows = OF_B ? of.b_columns : of.a_rows;
        own = OF_B ? of.b_rows : of.a_columns;
        other = OF_B ? of.a_columns : of.b_rows;
        shift = shared;
        bound = shared + EXPONENTS;
        extreme = bound + EXPONENTS;
    }

    /* s(k), or -s(k) of B, and the exponent of own; false: the k does not count. */
    __device__ __forceinline__ bool of_k(int k, int &s, int &exponent) const
    {
        float x, y;
        load_own<1>(&x, own + k);
        load_own<1>(&y, other + k);
        if (x == 0.0f || y == 0.0f) return false;
        exponent = exponent_of(bits_of(x));
        const int that = exponent_of(bits_of(y)), from = OF_B ? that : exponent, to = OF_B ? exponent : that;
        s = (to - from) >> 1;
        s = s < -126 ? -126 : s > 126 ? 126 : s;
        if (OF_B) s = -s;
        return true;
    }

    /* By what an element of this k is multiplied first. */
    __device__ __forceinline__ float factor(int k) const
    {
        int s, exponent;
        return of_k(k, s, exponent) ? power_of_two(s) : 0.0f;
    }

    /* All threads of the block. */
    __device__ __forceinline__ void tabulate(int k_end) const
    {
        for (int i = threadIdx.x; i < EXPONENTS; i += SPLIT_THREADS) shift[i] = NO_EXPONENT;
        if (threadIdx.x < 2) extreme[threadIdx.x] = NO_EXPONENT;
        __syncthreads();
        int s, exponent, largest = NO_EXPONENT, smallest = NO_EXPONENT;
#pragma unroll 4
        for (int k = threadIdx.x; k < k_end; k += SPLIT_THREADS)
            if (of_k(k, s, exponent)) {
                raise(shift + exponent - EXPONENT_MIN, s);
                largest = max(largest, exponent);
                smallest = max(smallest, -exponent);
            }
        raise(extreme, largest);
        raise(extreme + 1, smallest);
        __syncthreads();
        for (int v = -extreme[1] + (int)threadIdx.x; v <= extreme[0]; v += SPLIT_THREADS) {
            int most = NO_EXPONENT;
            for (int u = -extreme[1]; u <= extreme[0]; u++)
                most = max(most, min(u, v) + shift[u - EXPONENT_MIN]);
            bound[v - EXPONENT_MIN] = most;
        }
        __syncthreads();
    }

    /* r of a row. Rows that are 0 have any. */
    __device__ __forceinline__ int of_row(int row) const
    {
        float x;
        load_own<1>(&x, rows + row);
        const int least = -extreme[1], most = extreme[0];
        if (x == 0.0f || most == NO_EXPONENT) return 0;
        const int exponent = exponent_of(bits_of(x)), within = max(least, min(exponent, most));
        return bound[within - EXPONENT_MIN] + min(exponent - least, 0);
    }
};

#endif
