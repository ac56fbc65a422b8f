/* SPDX-License-Identifier: MIT */
/* mma_copy.cuh — copies an operand's tiles to shared memory without transposing them, and loads a warp's
 * fragments from there. Part of mma.cu.
 *
 * x is m for A and n for B. Of 32 neighbouring x and 8 neighbouring k a lane's fragment has these floats:
 *
 *     value[4 (x / 32) + i][h] = operand at x / 32 * 32 + 4 place(g) + i and k = t + 4 h,     i in 0 .. 3
 *
 * with g = lane / 4, t = lane % 4. Its four neighbouring x take one load or two where x is contiguous, and
 * those of B become four neighbouring columns of C. place() is chosen so that the lanes t of a store write
 * neighbouring columns if B is the right operand of mma; if it is the left one, the lanes g do:
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

/* 2 where the lanes g begin with the third of their four x: their value of i above is that of x i ^ 2. Else
 * 0. For the left operand if its tile TURNS. */
static __device__ __forceinline__ int turn_of(int g)
{
    return g / 2 % 2 * 2;
}

/* k contiguous: rows of BK floats, with a gap of 16 bytes after every four rows, so that rows 0, 4, 8 .. 28
 * begin at eight different positions in the 128 bytes of all banks. */
template <bool LEFT, int X, int V> struct tile_along_k {
    static constexpr bool TURNS = false;
    static constexpr int VECTORS = BK / V; /* of a row */
    static constexpr int COLUMNS = VECTORS < THREADS ? VECTORS : THREADS;
    static constexpr int ROWS = THREADS / COLUMNS;
    static constexpr int PASSES_X = (X + ROWS - 1) / ROWS;
    static constexpr int PASSES_K = (VECTORS + COLUMNS - 1) / COLUMNS;

    /* A pointer for each row, if they are few: else one that moves from row to row. Rows beyond the edge are
     * copies of the last one, or else zeros: what is computed from them is never stored. */
    static constexpr bool EACH_ROW = PASSES_X <= 8;

    const float *from[EACH_ROW ? PASSES_X : 1];
    shared_place to;             /* in the first stage */
    long long pass_bytes, ahead; /* ahead: bytes from the first tile to the next one */
    int column, row, left;       /* rows of the tile from this thread's first one to the edge */

    static __device__ __forceinline__ int offset(int x) { return x * BK + x / 4 * 4; }

    __device__ __forceinline__ void start(const float *matrix, long long leading, int x0, int x_end, int k0,
                                          float *tile, int thread)
    {
        column = thread % COLUMNS * V;
        row = thread / COLUMNS;
        left = x_end - x0 - row;
        pass_bytes = opaque(ROWS * leading * 4);
        ahead = 0;
        to = place_in_shared(tile + offset(row) + column);
#pragma unroll
        for (int i = 0; i < (EACH_ROW ? PASSES_X : 1); i++) {
            const int x = x0 + row + i * ROWS;
            from[i] = matrix + (x < x_end ? x : x_end - 1) * leading + k0 + column;
        }
    }

    template <bool GUARD> __device__ __forceinline__ void copy(int stage, bool valid, int count)
    {
        const int rows = valid ? left : 0;
        const float *source = moved(from[0], ahead);
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
            if (i > 0) source = EACH_ROW ? moved(from[i], ahead) : moved(source, pass_bytes);
            const int x = row + i * ROWS;
            /* Equal to the other form, but i only adds a constant. */
            const int line = ROWS % 4 == 0 ? i * offset(ROWS) : offset(x) - offset(row);
            if (X % ROWS == 0 || x < X)
#pragma unroll
                for (int j = 0; j < PASSES_K; j++) {
                    const int k = column + j * COLUMNS * V;
                    if ((ROWS * COLUMNS == THREADS || row < ROWS) && (VECTORS % COLUMNS == 0 || k < BK))
                        cp_async<V>(to + stage + (line + j * COLUMNS * V), source + j * COLUMNS * V,
                                    (EACH_ROW ? valid : i * ROWS < rows) && (!GUARD || k < count));
                }
        }
        ahead += (GUARD ? count : BK) * 4;
    }

    static __device__ __forceinline__ float rounded(float x)
    {
        return rounded_to_tf32(x);
    }

    /* Offset of this lane's row of four matrices: two x times two h, in the order of the registers that mma
     * takes (gt_mma.cuh), so that a load brings a left operand, or two right ones, into the right
     * registers. */
    static __device__ __forceinline__ int corner(int x, int lane)
    {
        const int matrix = lane / 8, i = LEFT ? matrix % 2 : matrix / 2, h = LEFT ? matrix / 2 : matrix % 2;
        return offset(x + 4 * place(lane % 8)) + i * BK + 4 * h;
    }

    template <int WIDTH>
    static __device__ __forceinline__ void fragment(float (&value)[WIDTH / 8][2], shared_place at, int, int k)
    {
#pragma unroll
        for (int x = 0; x < WIDTH; x += 32)
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                float v[4];
                load_matrices(v, at + (offset(x) + i * BK + k));
#pragma unroll
                for (int m = 0; m < 4; m++)
                    value[x / 8 + i + (LEFT ? m % 2 : m / 2)][LEFT ? m / 2 : m % 2] = v[m];
            }
    }
};

/* x contiguous: rows of X floats with a gap of 16 bytes. Columns beyond the edge are zeros. Lanes of equal g
 * read t = 0 .. 3 rows further down, hence 4 t banks further on.
 *
 * Left operand: two neighbouring x a load, which fill registers in the order that mma takes. Loads of 8 bytes
 * are served in halves of a warp, g = 0 .. 3 and 4 .. 7: places that differ by 4 are 16 banks apart, and
 * lanes that turn read the other two of their four x, so that 16 lanes cover all 32 banks.
 *
 * Right operand: four neighbouring x a load, which have to be moved to other registers; eight lanes cover all
 * 32 banks. */
template <bool LEFT, int X, int V> struct tile_along_x {
    static constexpr bool TURNS = LEFT;
    static constexpr int VECTORS = X / V; /* of a row */

    /* Vectors of a row that are copied side by side: as few as leave each thread a single row, whose vectors
     * are at constant distances, but at least those that fill all banks. */
    static constexpr int columns()
    {
        for (int c = 32 / V; c <= VECTORS && c <= THREADS; c += 32 / V)
            if (VECTORS % c == 0 && THREADS % c == 0 && THREADS / c <= BK) return c;
        return 32 / V;
    }
    static constexpr int COLUMNS = columns();
    static constexpr int ROWS = THREADS / COLUMNS;
    static constexpr int PASSES_X = VECTORS / COLUMNS;
    static constexpr int PASSES_K = (BK + ROWS - 1) / ROWS;

    const float *from;
    shared_place to; /* in the first stage */
    long long ld_bytes;
    int row, left; /* columns of the tile from this thread's first one to the edge */

    __device__ __forceinline__ void start(const float *matrix, long long leading, int x0, int x_end, int k0,
                                          float *tile, int thread)
    {
        const int column = thread % COLUMNS * V;
        row = thread / COLUMNS;
        left = x_end - x0 - column;
        ld_bytes = leading * 4;
        from = matrix + x0 + column + (k0 + row) * leading;
        to = place_in_shared(tile + row * (X + 4) + column);
    }

    template <bool GUARD> __device__ __forceinline__ void copy(int stage, bool valid, int count)
    {
        const int width = valid ? left : 0;
#pragma unroll
        for (int j = 0; j < PASSES_K; j++) {
            const float *const source = moved(from, j * ROWS * ld_bytes);
            if (BK % ROWS == 0 || row + j * ROWS < BK)
#pragma unroll
                for (int i = 0; i < PASSES_X; i++)
                    cp_async<V>(to + stage + (j * ROWS * (X + 4) + i * COLUMNS * V), source + i * COLUMNS * V,
                                i * COLUMNS * V < width && (!GUARD || row + j * ROWS < count));
        }
        from = moved(from, (GUARD ? count : BK) * ld_bytes);
    }

    static __device__ __forceinline__ float rounded(float x)
    {
        return LEFT ? rounded_to_tf32(x) : moved_to_tf32(x);
    }

    static __device__ __forceinline__ int corner(int x, int lane)
    {
        return lane % 4 * (X + 4) + x + 4 * place(lane / 4) + (LEFT ? turn_of(lane / 4) : 0);
    }

    template <int WIDTH>
    static __device__ __forceinline__ void fragment(float (&value)[WIDTH / 8][2], shared_place at, int other,
                                                    int k)
    {
        constexpr int WIDE = LEFT ? 2 : 4;
        const shared_place at_other = at + other;
#pragma unroll
        for (int x = 0; x < WIDTH; x += 32)
#pragma unroll
            for (int i = 0; i < 4; i += WIDE)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float v[WIDE];
                    load_shared<WIDE>(v, (LEFT && i > 0 ? at_other : at) + ((k + 4 * h) * (X + 4) + x));
#pragma unroll
                    for (int e = 0; e < WIDE; e++) value[x / 8 + i + e][h] = v[e];
                }
    }
};

template <bool LEFT, bool ALONG_K, int X, int V> struct tile_of {
    using type = tile_along_x<LEFT, X, V>;
};
template <bool LEFT, int X, int V> struct tile_of<LEFT, true, X, V> {
    using type = tile_along_k<LEFT, X, V>;
};

#endif
