/* SPDX-License-Identifier: MIT */
/* mma_copy.cuh — copies an operand's tiles to shared memory without transposing them, and loads a warp's
 * fragments from there. Part of mma.cu.
 *
 * x is m for A and n for B. Of 32 neighbouring x and 8 neighbouring k a lane's fragment has these floats:
 *
 *     value[4 (x / 32) + i][h] = operand at x / 32 * 32 + 4 place(g) + i and k = t + 4 h,     i in 0 .. 3
 *
 * with g = lane / 4, t = lane % 4. Its four neighbouring x take one load where x is contiguous, and become
 * four neighbouring columns of C. place() is chosen so that the lanes t of a store write neighbouring
 * columns:
 *
 *     g          0   1   2   3   4   5   6   7         a lane's columns of C (d[0], d[1]) are those of
 *     place(g)   0   4   1   5   2   6   3   7         g = 2 t, 2 t + 1: places t and t + 4
 */
#ifndef GT_MMA_COPY_CUH
#define GT_MMA_COPY_CUH

static __device__ __forceinline__ int place(int g)
{
    return g / 2 + g % 2 * 4;
}

/* k contiguous: rows of BK floats, with a gap of 16 bytes after every four rows, so that rows 0, 4, 8 .. 28
 * begin at eight different positions in the 128 bytes of all banks. Rows beyond the edge are zeros. */
template <bool IS_A, int X, int V> struct tile_along_k {
    static constexpr int VECTORS = BK / V; /* of a row */
    static constexpr int COLUMNS = VECTORS < THREADS ? VECTORS : THREADS;
    static constexpr int ROWS = THREADS / COLUMNS;
    static constexpr int PASSES_X = (X + ROWS - 1) / ROWS;
    static constexpr int PASSES_K = (VECTORS + COLUMNS - 1) / COLUMNS;

    const float *from;
    long long pass_bytes, rewind_bytes;
    int column, row, left; /* rows of the tile from this thread's first one to the edge */

    static __device__ __forceinline__ int offset(int x) { return x * BK + x / 4 * 4; }

    __device__ __forceinline__ void start(const float *matrix, long long leading, int x0, int x_end, int k0,
                                          int thread)
    {
        column = thread % COLUMNS * V;
        row = thread / COLUMNS;
        left = row < ROWS ? x_end - x0 - row : 0;
        from = matrix + (x0 + row) * leading + k0 + column;
        pass_bytes = opaque(ROWS * leading * 4);
        rewind_bytes = PASSES_X * pass_bytes;
    }

    template <bool GUARD> __device__ __forceinline__ void copy(float *tile, bool valid, int count)
    {
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
            const int x = row + i * ROWS;
            /* Equal to offset(x), but i only adds a constant. */
            const int line = ROWS % 4 == 0 ? offset(row) + i * offset(ROWS) : offset(x);
            const bool inside = valid && i * ROWS < left;
            if (X % ROWS == 0 || x < X)
#pragma unroll
                for (int j = 0; j < PASSES_K; j++) {
                    const int k = column + j * COLUMNS * V;
                    if ((ROWS * COLUMNS == THREADS || row < ROWS) && (VECTORS % COLUMNS == 0 || k < BK))
                        cp_async<V>(place_in_shared(tile + line + k), from + j * COLUMNS * V,
                                    inside && (!GUARD || k < count));
                }
            from = moved(from, pass_bytes);
        }
        from = moved(from, (GUARD ? count : BK) * 4 - rewind_bytes);
    }

    static __device__ __forceinline__ float rounded(float x)
    {
        return rounded_to_tf32(x);
    }

    /* Offset of this lane's row of four matrices: two x times two h, in the order of the registers that mma
     * takes (gt_mma.cuh), so that a load brings an operand of A, or two of B, into the right registers. */
    static __device__ __forceinline__ int corner(int x, int lane)
    {
        const int matrix = lane / 8, i = IS_A ? matrix % 2 : matrix / 2, h = IS_A ? matrix / 2 : matrix % 2;
        return offset(x + 4 * place(lane % 8)) + i * BK + 4 * h;
    }

    template <int WIDTH>
    static __device__ __forceinline__ void fragment(float (&value)[WIDTH / 8][2], shared_place at, int k)
    {
#pragma unroll
        for (int x = 0; x < WIDTH; x += 32)
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                float v[4];
                load_matrices(v, at + (offset(x) + i * BK + k));
#pragma unroll
                for (int m = 0; m < 4; m++)
                    value[x / 8 + i + (IS_A ? m % 2 : m / 2)][IS_A ? m / 2 : m % 2] = v[m];
            }
    }
};

/* x contiguous: rows of X floats with a gap of 16 bytes. Lanes of equal g read t = 0 .. 3 rows further
 * down, hence 4 t banks further on, and places that differ by 4 are 16 banks apart: eight lanes cover all
 * 32 banks. */
template <int X, int V> struct tile_along_x : tile_loader<X, BK, X + 4, V, THREADS, false> {
    static __device__ __forceinline__ float rounded(float x) { return moved_to_tf32(x); }

    static __device__ __forceinline__ int corner(int x, int lane)
    {
        return lane % 4 * (X + 4) + x + 4 * place(lane / 4);
    }

    template <int WIDTH>
    static __device__ __forceinline__ void fragment(float (&value)[WIDTH / 8][2], shared_place at, int k)
    {
#pragma unroll
        for (int x = 0; x < WIDTH; x += 32)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float v[4];
                load_shared<4>(v, at + ((k + 4 * h) * (X + 4) + x));
#pragma unroll
                for (int i = 0; i < 4; i++) value[x / 8 + i][h] = v[i];
            }
    }
};

template <bool IS_A, bool ALONG_K, int X, int V> struct tile_of {
    using type = tile_along_x<X, V>;
};
template <bool IS_A, int X, int V> struct tile_of<IS_A, true, X, V> {
    using type = tile_along_k<IS_A, X, V>;
};

#endif
