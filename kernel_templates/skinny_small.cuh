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

/* A thread's loads that are on their way together, where they pass through registers. */
#define SMALL_AT_ONCE (LOADER == 1 ? 1 : 4)

/* One vector of WIDTH on its way: `fetch` and `put`, of which an asynchronous copy needs the first alone. */
template <int WIDTH> struct small_vector {
    float value[WIDTH];

    /* `to` is where it shall lie, `present` whether it is this thread's at all, `valid` whether it is not zero. */
    __device__ __forceinline__ void fetch(float *to, const float *from, bool present, bool valid)
    {
        if constexpr (LOADER == 1) {
            if (present) cp_async<WIDTH>(to, from, valid);
        } else {
#pragma unroll
            for (int e = 0; e < WIDTH; e++) value[e] = 0.0f;
            load_global<WIDTH>(value, from, present && valid);
        }
    }
};

/* Rows contiguous along k: vectors of VS k. */
static __device__ __forceinline__ void copy_rows(float *buffer, const struct view &view, int chunk)
{
    constexpr int VECTORS = CHUNK_K / VS, COUNT = ROWS * VECTORS;
#pragma unroll 1
    for (int first = threadIdx.x; first < COUNT; first += SMALL_AT_ONCE * THREADS) {
        struct small_vector<VS> vector[SMALL_AT_ONCE];
#pragma unroll
        for (int i = 0; i < SMALL_AT_ONCE; i++) {
            const int n = first + i * THREADS, row = n / VECTORS, place = n % VECTORS * VS;
            bool valid;
            const int k = k_of_place(view, chunk * CHUNK_K + place, &valid);
            vector[i].fetch(buffer + row * STRIDE_S + place, view.small + row * view.small_ld + k, n < COUNT,
                            valid && row < view.rows);
        }
        if constexpr (LOADER == 0)
#pragma unroll
            for (int i = 0; i < SMALL_AT_ONCE; i++) {
                const int n = first + i * THREADS;
                if (n < COUNT)
                    store_shared<VS>(buffer + n / VECTORS * STRIDE_S + n % VECTORS * VS, vector[i].value);
            }
    }
}

/* Rows side by side in memory: vectors of VS rows, transposed; an asynchronous copy moves single floats. A warp
 * takes 8 rows of a few k, so that it reads whole sectors of 32 bytes and its stores meet all banks. */
static __device__ __forceinline__ void copy_transposed(float *buffer, const struct view &view, int chunk)
{
    constexpr int WIDTH = LOADER == 1 ? 1 : VS;
    constexpr int LANES_ROW = 8 / WIDTH, WARP_K = 4 * WIDTH, ACROSS = CHUNK_K / WARP_K;
    constexpr int COUNT = (ROWS + 7) / 8 * ACROSS, WARPS = THREADS / 32;
    const int lane = threadIdx.x % 32, lane_row = lane % LANES_ROW * WIDTH, lane_k = lane / LANES_ROW;
#pragma unroll 1
    for (int first = threadIdx.x / 32; first < COUNT; first += SMALL_AT_ONCE * WARPS) {
        struct small_vector<WIDTH> vector[SMALL_AT_ONCE];
#pragma unroll
        for (int i = 0; i < SMALL_AT_ONCE; i++) {
            const int n = first + i * WARPS, row = n / ACROSS * 8 + lane_row;
            const int place = n % ACROSS * WARP_K + lane_k;
            bool valid;
            const int k = k_of_place(view, chunk * CHUNK_K + place, &valid);
            vector[i].fetch(buffer + row * STRIDE_S + place, view.small + k * view.small_ld + row, row < ROWS,
                            valid && row < view.rows);
        }
        if constexpr (LOADER == 0)
#pragma unroll
            for (int i = 0; i < SMALL_AT_ONCE; i++) {
                const int n = first + i * WARPS, row = n / ACROSS * 8 + lane_row;
                float *to = buffer + row * STRIDE_S + n % ACROSS * WARP_K + lane_k;
#pragma unroll
                for (int e = 0; e < WIDTH; e++)
                    if (row + e < ROWS) store_shared<1>(to + e * STRIDE_S, &vector[i].value[e]);
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
