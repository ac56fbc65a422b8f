/* SPDX-License-Identifier: MIT */
/* gt_load.cuh — a tile of an operand on its way from global to shared memory.
 *
 * In shared memory a tile is TILE_K rows of TILE_X floats, where x is m for A and n for B, and a row is
 * STRIDE floats apart from the next. In global memory either x is contiguous (rows are copied as they are) or
 * k is (they are transposed on the way). A loader belongs to one thread, knows its share of the tile, and
 * advances tile by tile:
 *
 *   start(...)              the first tile, at x0 and k0 of a matrix with leading dimension ld
 *   fetch<GUARD>(...)       into registers, and move on
 *   put(stage)              from registers into a stage of shared memory
 *   copy<GUARD>(stage, ...) cp.async into a stage, and move on; by single floats where k is contiguous
 *
 * With `valid` false the whole tile is skipped. GUARD is for a tile of only `count` k: the rest is zero. A
 * vector of V floats never straddles an edge; the problem's alignment guarantees that. An x beyond the edge
 * of the matrix is replaced by the last one inside: what is computed from it is never stored.
 */
#ifndef GT_LOAD_CUH
#define GT_LOAD_CUH

#include "gt_async_copy.cuh"
#include "gt_memory.cuh"

template <int TILE_X, int TILE_K, int STRIDE, int V, int THREAD_COUNT, bool TRANSPOSE> struct tile_loader;

static __device__ __forceinline__ const float *moved(const float *p, long long bytes)
{
    return reinterpret_cast<const float *>(reinterpret_cast<const char *>(p) + bytes);
}

/* The number of threads that lie along a row of `vectors` vectors. For even shares: the largest number that
 * divides both the row and the block, leaves whole passes over the rows, and covers at least a sector of
 * memory. If there is none: the whole row. */
static constexpr __device__ int threads_along(int vectors, int v, int rows, int threads)
{
    for (int c = vectors; c * v >= 8; c--)
        if (vectors % c == 0 && threads % c == 0 && rows % (threads / c) == 0) return c;
    return vectors < threads ? vectors : threads;
}

/* x contiguous. Threads are laid out as COLUMNS vectors by ROWS of k. In each pass a thread is ROWS further
 * down (and COLUMNS further right, when a row has more vectors).
 *
 *            x ->   COLUMNS vectors
 *        k   0 1 2 3 4 5 6 7    ROWS of them: one pass
 *        |   8 9 ...
 *        v   ------------------ second pass, ROWS * ld further on
 *
 * The passes add up to the step to the next tile, so each pointer always moves by one pass. */
template <int TILE_X, int TILE_K, int STRIDE, int V, int THREAD_COUNT>
struct tile_loader<TILE_X, TILE_K, STRIDE, V, THREAD_COUNT, false> {
    static constexpr int VECTORS = TILE_X / V;
    static constexpr int COLUMNS = threads_along(VECTORS, V, TILE_K, THREAD_COUNT);
    static constexpr int ROWS = THREAD_COUNT / COLUMNS;
    static constexpr int PASSES_X = (VECTORS + COLUMNS - 1) / COLUMNS;
    static constexpr int PASSES_K = (TILE_K + ROWS - 1) / ROWS;
    static constexpr int OVERSHOOT = PASSES_K * ROWS - TILE_K; /* rows of the last pass beyond the tile */

    const float *from[PASSES_X];
    long long pass_bytes, ld;
    int column, row;
    float value[PASSES_X][PASSES_K][V];

    __device__ __forceinline__ void start(const float *matrix, long long leading, int x0, int x_end, int k0,
                                          int thread)
    {
        column = thread % COLUMNS;
        row = thread / COLUMNS;
        ld = leading;
        pass_bytes = opaque(ROWS * leading * 4); /* else a shift computes two passes, which costs more */
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
            const int x = x0 + (column + i * COLUMNS) * V;
            from[i] = matrix + (x < x_end ? x : x_end - V) + (k0 + (long long)row) * leading;
        }
    }

    /* Whether this thread copies a vector in pass (i, j). Constant where the shares are even. */
    __device__ __forceinline__ bool has(int i, int j) const
    {
        bool yes = true;
        if (ROWS * COLUMNS < THREAD_COUNT) yes = yes && row < ROWS;
        if ((i + 1) * COLUMNS > VECTORS) yes = yes && column + i * COLUMNS < VECTORS;
        if ((j + 1) * ROWS > TILE_K) yes = yes && row + j * ROWS < TILE_K;
        return yes;
    }

    template <bool GUARD> __device__ __forceinline__ void move_on(int count)
    {
        if (GUARD || OVERSHOOT) {
            const long long back = (GUARD ? PASSES_K * ROWS - count : OVERSHOOT) * ld;
#pragma unroll
            for (int i = 0; i < PASSES_X; i++) from[i] -= back;
        }
    }

    template <bool GUARD> __device__ __forceinline__ void fetch(bool valid, int count)
    {
#pragma unroll
        for (int j = 0; j < PASSES_K; j++)
#pragma unroll
            for (int i = 0; i < PASSES_X; i++) {
                if (GUARD)
#pragma unroll
                    for (int e = 0; e < V; e++) value[i][j][e] = 0.0f;
                load_global<V>(value[i][j], from[i],
                               valid && has(i, j) && (!GUARD || row + j * ROWS < count));
                from[i] = moved(from[i], pass_bytes);
            }
        move_on<GUARD>(count);
    }

    __device__ __forceinline__ float *place(float *stage, int i, int j) const
    {
        return stage + row * STRIDE + column * V + j * ROWS * STRIDE + i * COLUMNS * V;
    }

    __device__ __forceinline__ void put(float *stage) const
    {
#pragma unroll
        for (int j = 0; j < PASSES_K; j++)
#pragma unroll
            for (int i = 0; i < PASSES_X; i++)
                if (has(i, j)) store_shared<V>(place(stage, i, j), value[i][j]);
    }

    template <bool GUARD> __device__ __forceinline__ void copy(float *stage, bool valid, int count)
    {
        const shared_place to = place_in_shared(place(stage, 0, 0));
#pragma unroll
        for (int j = 0; j < PASSES_K; j++)
#pragma unroll
            for (int i = 0; i < PASSES_X; i++) {
                if (has(i, j))
                    cp_async<V>(to + (j * ROWS * STRIDE + i * COLUMNS * V), from[i],
                                valid && (!GUARD || row + j * ROWS < count));
                from[i] = moved(from[i], pass_bytes);
            }
        move_on<GUARD>(count);
    }
};

/* k contiguous. Neighbouring lanes take the vectors of one 32-byte sector of a row, then those of the next
 * row of the matrix: whole sectors are used, and the transposed stores of a warp go to 32 different banks
 * (STRIDE is 4 times an odd number).
 *
 *            k ->  lanes           stored as        m ->
 *        m   0 1 | 32 33                        k   0 2 4 6 ... 30
 *        |   2 3 | 34 35                        |   0 2 4 6 ... 30     V = 4: four rows of k for each vector
 *        v   4 5 | ...                          v   ...
 *
 * A thread keeps its k in all passes over the rows, and its row in all passes over k, so it needs few
 * pointers. */
template <int TILE_X, int TILE_K, int STRIDE, int V, int THREAD_COUNT>
struct tile_loader<TILE_X, TILE_K, STRIDE, V, THREAD_COUNT, true> {
    static constexpr int VECTORS = TILE_K / V; /* of a row */

    /* Vectors of a row that are copied side by side: as few as fill whole sectors and give every thread the
     * same share. */
    static constexpr int columns()
    {
        constexpr int sector = 8 / V;
        if (VECTORS % sector == 0)
            for (int c = sector; c <= VECTORS && c <= THREAD_COUNT; c *= 2)
                if (VECTORS % c == 0 && THREAD_COUNT % c == 0 && TILE_X % (THREAD_COUNT / c) == 0) return c;
        return VECTORS < THREAD_COUNT ? VECTORS : THREAD_COUNT;
    }
    static constexpr int COLUMNS = columns();
    static constexpr int ROWS = THREAD_COUNT / COLUMNS;
    static constexpr int PASSES_X = (TILE_X + ROWS - 1) / ROWS;
    static constexpr int PASSES_K = (VECTORS + COLUMNS - 1) / COLUMNS;

    /* Sectors are distributed over warps instead of lanes where there are enough warps. */
    static constexpr int LANES = COLUMNS % (8 / V) == 0 ? 8 / V : COLUMNS;
    static constexpr bool BY_WARP =
        32 % LANES == 0 && THREAD_COUNT / 32 % (COLUMNS / LANES) == 0 && THREAD_COUNT / 32 >= COLUMNS / LANES;

    const float *from[PASSES_X];
    int column, row;
    float value[PASSES_X][PASSES_K][V];

    __device__ __forceinline__ void start(const float *matrix, long long leading, int x0, int x_end, int k0,
                                          int thread)
    {
        if (BY_WARP) {
            const int warp = thread / 32, lane = thread % 32;
            column = warp % (COLUMNS / LANES) * LANES + lane % LANES;
            row = warp / (COLUMNS / LANES) * (32 / LANES) + lane / LANES;
        } else {
            column = thread % COLUMNS;
            row = thread / COLUMNS;
        }
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
            const int x = x0 + row + i * ROWS;
            from[i] = matrix + (long long)(x < x_end ? x : x_end - 1) * leading + k0 + column * V;
        }
    }

    __device__ __forceinline__ bool has(int i, int j) const
    {
        bool yes = true;
        if (ROWS * COLUMNS < THREAD_COUNT) yes = yes && row < ROWS;
        if ((i + 1) * ROWS > TILE_X) yes = yes && row + i * ROWS < TILE_X;
        if ((j + 1) * COLUMNS > VECTORS) yes = yes && column + j * COLUMNS < VECTORS;
        return yes;
    }

    template <bool GUARD> __device__ __forceinline__ void fetch(bool valid, int count)
    {
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
#pragma unroll
            for (int j = 0; j < PASSES_K; j++) {
                if (GUARD)
#pragma unroll
                    for (int e = 0; e < V; e++) value[i][j][e] = 0.0f;
                load_global<V>(value[i][j], from[i] + j * COLUMNS * V,
                               valid && has(i, j) && (!GUARD || (column + j * COLUMNS) * V < count));
            }
            from[i] += GUARD ? count : TILE_K;
        }
    }

    __device__ __forceinline__ void put(float *stage) const
    {
        float *corner = stage + column * V * STRIDE + row;
#pragma unroll
        for (int i = 0; i < PASSES_X; i++)
#pragma unroll
            for (int j = 0; j < PASSES_K; j++)
                if (has(i, j))
#pragma unroll
                    for (int e = 0; e < V; e++)
                        store_shared<1>(corner + (j * COLUMNS * V + e) * STRIDE + i * ROWS, &value[i][j][e]);
    }

    template <bool GUARD> __device__ __forceinline__ void copy(float *stage, bool valid, int count)
    {
        float *corner = stage + column * V * STRIDE + row;
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
#pragma unroll
            for (int j = 0; j < PASSES_K; j++)
                if (has(i, j))
#pragma unroll
                    for (int e = 0; e < V; e++)
                        cp_async<1>(corner + (j * COLUMNS * V + e) * STRIDE + i * ROWS,
                                    from[i] + j * COLUMNS * V + e,
                                    valid && (!GUARD || (column + j * COLUMNS) * V + e < count));
            from[i] += GUARD ? count : TILE_K;
        }
    }
};

/* An operand and the way it is copied: by cp.async straight into a stage, or through registers. The functions
 * of the other way do nothing. */
template <class LOADER_TYPE, bool ASYNC> struct operand : LOADER_TYPE {
    template <bool GUARD> __device__ __forceinline__ void copy_async(float *stage, bool valid, int count)
    {
        if constexpr (ASYNC) this->template copy<GUARD>(stage, valid, count);
    }

    template <bool GUARD> __device__ __forceinline__ void fetch_registers(bool valid, int count)
    {
        if constexpr (!ASYNC) this->template fetch<GUARD>(valid, count);
    }

    __device__ __forceinline__ void put_registers(float *stage) const
    {
        if constexpr (!ASYNC) this->put(stage);
    }
};

#endif
