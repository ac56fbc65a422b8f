/* gt_teams.cuh — a block's sums through shared memory: those of teams that share out its k are added, and
 * what goes to C lies side by side.
 *
 *     team 0       team 1                       each puts its sums of the whole tile in shared memory, rows
 *     +------+     +------+     +------+        STRIDE floats apart, tiles TILE_M * STRIDE;
 *     |      |  +  |      |  -> |012345|  -> C  every thread adds vectors of all tiles, in ascending order
 *     +------+     +------+     +------+
 */
#ifndef GT_TEAMS_CUH
#define GT_TEAMS_CUH

#include "gt_store.cuh"

/* V: width of what is read and written, a divisor of TILE_N. */
template <int TILE_M, int TILE_N, int STRIDE, int V, int THREAD_COUNT, int TEAMS> struct team_tiles {
    static constexpr int VECTORS = TILE_M * TILE_N / V;
    static constexpr int AT_ONCE = TEAMS * V * 8 <= 64 ? 8 : TEAMS * V <= 64 ? 64 / (TEAMS * V) : 1;

    /* A thread's sums, in pieces as in store_tile, from (row, column) of the tile on, times alpha: the
     * product keeps the vectors of the stores from choosing the registers of the sums. */
    template <int TM_, int TN_, int CM, int CN, int GRID_M, int GRID_N>
    static __device__ __forceinline__ void put(float *tile, int row, int column, const float (&sum)[TM_][TN_],
                                               float alpha)
    {
        tile += row * STRIDE + column;
#pragma unroll
        for (int i = 0; i < TM_; i++)
#pragma unroll
            for (int j = 0; j < TN_; j += CN) {
                float out[CN];
#pragma unroll
                for (int e = 0; e < CN; e++) out[e] = alpha * sum[i][j + e];
                store_shared<CN>(tile + (i / CM * (GRID_M * CM) + i % CM) * STRIDE + j / CN * (GRID_N * CN),
                                 out);
            }
    }

    /* out(row, column, sum) for each vector of the tile, by the thread that added it. */
    template <class OUT> static __device__ __forceinline__ void add(const float *tiles, OUT out)
    {
#pragma unroll 1
        for (int first = thread_index(); first < VECTORS; first += AT_ONCE * THREAD_COUNT) {
            float x[AT_ONCE][TEAMS][V];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int v = first + i * THREAD_COUNT < VECTORS ? first + i * THREAD_COUNT : 0;
                const float *const at = tiles + v * V / TILE_N * STRIDE + v * V % TILE_N;
#pragma unroll
                for (int t = 0; t < TEAMS; t++) load_shared<V>(x[i][t], at + t * (TILE_M * STRIDE));
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int v = first + i * THREAD_COUNT;
                if (v >= VECTORS) continue;
#pragma unroll
                for (int t = 1; t < TEAMS; t++)
#pragma unroll
                    for (int e = 0; e < V; e++) x[i][0][e] += x[i][t][e];
                out(v * V / TILE_N, v * V % TILE_N, x[i][0]);
            }
        }
    }
};

#endif
