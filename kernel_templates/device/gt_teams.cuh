/* SPDX-License-Identifier: MIT */
/* gt_teams.cuh — a block's sums pass through shared memory: those of teams that divide its k are added, and
 * the stores to C are contiguous.
 *
 *     team 0       team 1                       each puts its sums of the whole tile in shared memory, rows
 *     +------+     +------+     +------+        STRIDE floats apart, tiles TILE_M * STRIDE;
 *     |      |  +  |      |  -> |012345|  -> C  every thread adds vectors of all tiles, in ascending order
 *     +------+     +------+     +------+
 */
#ifndef GT_TEAMS_CUH
#define GT_TEAMS_CUH

#include "gt_load.cuh"
#include "gt_memory.cuh"
#include "gt_store.cuh"

#if EPILOGUE
/* What is added to a thread's vectors of V columns: PASSES_M x PASSES_N of them, ROWS rows and COLUMNS
 * vectors apart, the first at (row, column). All biases are loaded at once: a vector that loaded its own
 * would wait for it after the vector before was stored. */
template <int V, int ROWS, int COLUMNS, int PASSES_M, int PASSES_N> struct biases_of_passes {
    biases<V> of_columns[PASSES_N];
    biases<1> of_rows[PASSES_M];

    __device__ __forceinline__ void load(blending blend, int row, int column, int m, int n)
    {
#pragma unroll
        for (int j = 0; j < PASSES_N; j++)
            of_columns[j].template load_columns<V, 1>(blend, column + j * (COLUMNS * V), n);
#pragma unroll
        for (int i = 0; i < PASSES_M; i++)
            if (row + i * ROWS < m) of_rows[i].load_row(blend, row + i * ROWS);
    }

    __device__ __forceinline__ biases<V> of(int pass) const
    {
        biases<V> bias = of_columns[pass % PASSES_N];
        if (BIAS == 2)
#pragma unroll
            for (int e = 0; e < V; e++) bias.of[e] = of_rows[pass / PASSES_N].of[0];
        return bias;
    }
};

/* Destination of a tile's vectors: m x n elements of C from c on, where blend begins, too. */
template <int V, bool BLEND, class BIASES> struct place_in_c {
    float *c;
    long long ldc;
    int m, n;
    blending blend;
    BIASES biases;

    __device__ __forceinline__ void store(int pass, int row, int column, const float *sum) const
    {
        if (column < n && row < m)
            store_scaled<V, BLEND>(c + row * ldc + column, sum, 1.0f, blend, biases.of(pass));
    }
};

/* Passes a vector of a pass on to its destination. */
template <class OUT>
static __device__ __forceinline__ void pass_on(const OUT &out, int, int row, int column, const float *sum)
{
    out(row, column, sum);
}
template <int V, bool BLEND, class BIASES>
static __device__ __forceinline__ void pass_on(const place_in_c<V, BLEND, BIASES> &out, int pass, int row,
                                               int column, const float *sum)
{
    out.store(pass, row, column, sum);
}
#else
/* The same without an epilogue, in the words under which its kernels were measured (kernel_hash.h). */
template <int V, bool BLEND> struct place_in_c {
    float *c;
    long long ldc;
    int m, n;
    blending blend;

    __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
    {
        if (row < m && column < n) {
            const biases<V> bias = biases_at<V>(blend, row, column);
            store_scaled<V, BLEND>(c + row * ldc + column, sum, 1.0f, blend, bias);
        }
    }
};
#endif

/* Destination in shared memory. */
template <int V, int STRIDE> struct place_in_tile {
    float *tile;

    __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
    {
        store_shared<V>(tile + row * STRIDE + column, sum);
    }
};

/* Passes a thread's sums, times alpha, to out(row, column, CN of them), in pieces as in store_tile, from
 * (row, column) of the tile on. The product with alpha decouples the registers of the sums from the
 * consecutive ones that vector stores need.
 */
template <int TM_, int TN_, int CM, int CN, int GRID_M, int GRID_N, class OUT>
static __device__ __forceinline__ void hand_out(int row, int column, const float (&sum)[TM_][TN_],
                                                float alpha, const OUT &out)
{
#pragma unroll
    for (int i = 0; i < TM_; i++)
#pragma unroll
        for (int j = 0; j < TN_; j += CN) {
            float piece[CN];
#pragma unroll
            for (int e = 0; e < CN; e++) piece[e] = alpha * sum[i][j + e];
            out(row + i / CM * (GRID_M * CM) + i % CM, column + j / CN * (GRID_N * CN), piece);
        }
}

/* V: width of the loads and stores, a divisor of TILE_N. */
template <int TILE_M, int TILE_N, int STRIDE, int V, int THREAD_COUNT, int TEAMS> struct team_tiles {
    /* Threads lie along a row, then along the next one: each keeps its columns and steps down. */
    static constexpr int VECTORS = TILE_N / V; /* of a row */
    static constexpr int COLUMNS = threads_along(VECTORS, V, THREAD_COUNT, THREAD_COUNT);
    static constexpr int ROWS = THREAD_COUNT / COLUMNS;
    static constexpr int PASSES_N = (VECTORS + COLUMNS - 1) / COLUMNS;
    static constexpr int PASSES_M = (TILE_M + ROWS - 1) / ROWS;
    static constexpr int AT_ONCE = TEAMS * V * 8 <= 64 ? 8 : TEAMS * V <= 64 ? 64 / (TEAMS * V) : 1;

    /* Adds all tiles, one vector at a time: out(row, column, sum). */
    template <class OUT> static __device__ __forceinline__ void add(const float *tiles, const OUT &out)
    {
        const int column = thread_index() % COLUMNS * V, row = thread_index() / COLUMNS;
        tiles += row * STRIDE + column;
#pragma unroll
        for (int first = 0; first < PASSES_M * PASSES_N; first += AT_ONCE) {
            float x[AT_ONCE][TEAMS][V];
#pragma unroll
            for (int i = first; i < first + AT_ONCE && i < PASSES_M * PASSES_N; i++)
                if (has(row, column, i))
#pragma unroll
                    for (int t = 0; t < TEAMS; t++)
                        load_shared<V>(x[i - first][t],
                                       tiles + (t * TILE_M + step_m(i)) * STRIDE + step_n(i));
#pragma unroll
            for (int i = first; i < first + AT_ONCE && i < PASSES_M * PASSES_N; i++) {
                float *const sum = x[i - first][0];
#pragma unroll
                for (int t = 1; t < TEAMS; t++)
#pragma unroll
                    for (int e = 0; e < V; e++) sum[e] += x[i - first][t][e];
#if EPILOGUE
                if (has(row, column, i)) pass_on(out, i, row + step_m(i), column + step_n(i), sum);
#else
                if (has(row, column, i)) out(row + step_m(i), column + step_n(i), sum);
#endif
            }
        }
    }

    /* The same, with c as the destination, of which m x n elements are left, and from which blend counts. */
    static __device__ __forceinline__ void add_to_c(const float *tiles, float *c, long long ldc, int m, int n,
                                                    blending blend)
    {
#if EPILOGUE
        biases_of_passes<V, ROWS, COLUMNS, PASSES_M, PASSES_N> bias;
        bias.load(blend, thread_index() / COLUMNS, thread_index() % COLUMNS * V, m, n);
        if (blend == 0.0f) add(tiles, place_in_c<V, false, decltype(bias)>{c, ldc, m, n, blend, bias});
#else
        if (blend == 0.0f) add(tiles, place_in_c<V, false>{c, ldc, m, n, blend});
#endif
        else {
            const float *const source = source_of(blend, c);
            const int column = thread_index() % COLUMNS * V, row = thread_index() / COLUMNS;
#pragma unroll 1
            for (int i = 0; i < PASSES_M * PASSES_N; i++)
                if (has(row, column, i) && row + step_m(i) < m && column + step_n(i) < n)
                    ask_for(source + (row + step_m(i)) * ldc + column +
                            step_n(i)); /* prefetched at once, as in store_tile */
#if EPILOGUE
            add(tiles, place_in_c<V, true, decltype(bias)>{c, ldc, m, n, blend, bias});
#else
            add(tiles, place_in_c<V, true>{c, ldc, m, n, blend});
#endif
        }
    }

  private:
    static constexpr __device__ int step_m(int pass)
    {
        return pass / PASSES_N * ROWS;
    }
    static constexpr __device__ int step_n(int pass)
    {
        return pass % PASSES_N * COLUMNS * V;
    }

    /* Whether the thread has a vector in a pass. Constant where the shares are even. */
    static __device__ __forceinline__ bool has(int row, int column, int pass)
    {
        bool yes = true;
        if (ROWS * COLUMNS < THREAD_COUNT) yes = yes && row < ROWS;
        if (step_m(pass) + ROWS > TILE_M) yes = yes && row + step_m(pass) < TILE_M;
        if (step_n(pass) + COLUMNS * V > TILE_N) yes = yes && column + step_n(pass) < TILE_N;
        return yes;
    }
};

#endif
