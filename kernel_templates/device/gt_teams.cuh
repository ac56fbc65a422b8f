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

/* Destination of a tile's vectors: m x n elements of C from c on, where blend begins, too. */
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
                if (has(row, column, i)) out(row + step_m(i), column + step_n(i), sum);
            }
        }
    }

    /* The same, with c as the destination, of which m x n elements are left, and from which blend counts. */
    static __device__ __forceinline__ void add_to_c(const float *tiles, float *c, long long ldc, int m, int n,
                                                    blending blend)
    {
        if (blend == 0.0f) add(tiles, place_in_c<V, false>{c, ldc, m, n, blend});
        else {
            const float *const source = source_of(blend, c);
            const int column = thread_index() % COLUMNS * V, row = thread_index() / COLUMNS;
#pragma unroll 1
            for (int i = 0; i < PASSES_M * PASSES_N; i++)
                if (has(row, column, i) && row + step_m(i) < m && column + step_n(i) < n)
                    ask_for(source + (row + step_m(i)) * ldc + column +
                            step_n(i)); /* prefetched at once, as in store_tile */
            add(tiles, place_in_c<V, true>{c, ldc, m, n, blend});
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
