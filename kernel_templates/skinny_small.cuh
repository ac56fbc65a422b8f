/* skinny_small.cuh — the small operand on its way to shared memory, a chunk of k at a time.
 *
 * In shared memory a chunk is ROWS rows of CHUNK_K floats, STRIDE_S apart, whichever way the operand lies in
 * global memory; what lies beyond its rows or its k is zero. The block's first step of k is the short one, so
 * the places between its end and the second step stay empty:
 *
 *     place in the chunks    0 .. first .. STEP_K ........ 2 STEP_K ..
 *     k - begin              0 .. first  |  first ........ first + STEP_K ..
 */
#ifndef GT_SKINNY_SMALL_CUH
#define GT_SKINNY_SMALL_CUH

/* The k that belongs to a place counted from the block's first chunk; beyond the range: none. */
static __device__ __forceinline__ int k_of_place(const struct view &view, int place, bool *valid)
{
    const int k = view.begin + place - (place >= STEP_K ? STEP_K - view.first : 0);
    *valid = place < STEP_K ? place < view.first : k < view.end;
    return k;
}

/* Rows contiguous along k: vectors of VS k. */
static __device__ __forceinline__ void copy_rows(float *buffer, const struct view &view, int chunk)
{
    constexpr int VECTORS = CHUNK_K / VS, COUNT = ROWS * VECTORS;
    constexpr int SHARE = (COUNT + THREADS - 1) / THREADS, AT_ONCE = SHARE < 8 ? SHARE : 8;
#pragma unroll 1
    for (int first = threadIdx.x; first < COUNT; first += AT_ONCE * THREADS) {
        float value[AT_ONCE][VS];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int vector = first + i * THREADS, row = vector / VECTORS, place = vector % VECTORS * VS;
            bool valid;
            const int k = k_of_place(view, chunk * CHUNK_K + place, &valid);
            valid = valid && row < view.rows;
            const float *from = view.small + row * view.small_ld + k;
            if constexpr (LOADER == 1) {
                if (vector < COUNT) cp_async<VS>(buffer + row * STRIDE_S + place, from, valid);
            } else {
#pragma unroll
                for (int e = 0; e < VS; e++) value[i][e] = 0.0f;
                load_global<VS>(value[i], from, valid);
            }
        }
        if constexpr (LOADER == 0)
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int vector = first + i * THREADS;
                if (vector < COUNT)
                    store_shared<VS>(buffer + vector / VECTORS * STRIDE_S + vector % VECTORS * VS, value[i]);
            }
    }
}

/* Rows side by side in memory: vectors of VS rows, transposed. A warp takes 8 rows of 4 VS k, so that it reads
 * whole sectors of 32 bytes and its stores meet all banks. */
static __device__ __forceinline__ void copy_transposed(float *buffer, const struct view &view, int chunk)
{
    constexpr int LANES_ROW = 8 / VS, WARP_K = 4 * VS, ACROSS = CHUNK_K / WARP_K;
    constexpr int COUNT = (ROWS + 7) / 8 * ACROSS, WARPS = THREADS / 32;
    constexpr int SHARE = (COUNT + WARPS - 1) / WARPS, AT_ONCE = SHARE < 8 ? SHARE : 8;
    const int lane = threadIdx.x % 32, lane_row = lane % LANES_ROW * VS, lane_k = lane / LANES_ROW;
#pragma unroll 1
    for (int first = threadIdx.x / 32; first < COUNT; first += AT_ONCE * WARPS) {
        float value[AT_ONCE][VS];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int unit = first + i * WARPS, row = unit / ACROSS * 8 + lane_row;
            bool valid;
            const int k = k_of_place(view, chunk * CHUNK_K + unit % ACROSS * WARP_K + lane_k, &valid);
#pragma unroll
            for (int e = 0; e < VS; e++) value[i][e] = 0.0f;
            load_global<VS>(value[i], view.small + k * view.small_ld + row, valid && row < view.rows);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int unit = first + i * WARPS, row = unit / ACROSS * 8 + lane_row;
            float *to = buffer + row * STRIDE_S + unit % ACROSS * WARP_K + lane_k;
#pragma unroll
            for (int e = 0; e < VS; e++)
                if (row + e < ROWS) store_shared<1>(to + e * STRIDE_S, &value[i][e]);
        }
    }
}

static __device__ __forceinline__ void copy_chunk(float *buffer, const struct view &view, int chunk)
{
    if constexpr (SMALL_ALONG_K) copy_rows(buffer, view, chunk);
    else copy_transposed(buffer, view, chunk);
    if constexpr (LOADER == 1) cp_async_commit();
}

/* The chunk that was copied last is complete for everybody, and the one before it is free. */
static __device__ __forceinline__ void chunk_ready()
{
    if constexpr (LOADER == 1) cp_async_wait<0>();
    __syncthreads();
}

#endif
