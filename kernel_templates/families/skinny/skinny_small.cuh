/* SPDX-License-Identifier: MIT */
/* skinny_small.cuh — copies the small operand to shared memory, a chunk of k at a time.
 *
 * In shared memory a chunk is ROWS rows of CHUNK_K floats, STRIDE_S apart, whatever the operand's layout in
 * global memory. With K_MAJOR it is CHUNK_K times ROWS_S rows. Elements beyond the operand's rows or k are
 * zero. The block's first step of k is the short one, so the places between its end and the second step stay
 * empty:
 *
 *     place in the chunks    0 .. first .. STEP_K ........ 2 STEP_K ..
 *     k - begin              0 .. first  |  first ........ first + STEP_K ..
 */
#ifndef GT_SKINNY_SMALL_CUH
#define GT_SKINNY_SMALL_CUH

/* The k at a place of a chunk; *valid tells whether it is inside the range. */
template <bool FIRST>
static __device__ __forceinline__ int k_of_place(const struct view &view, int chunk, int place, bool *valid)
{
    int k = view.begin + view.first - STEP_K + place;
    if constexpr (FIRST) {
        if (place < STEP_K) k = view.begin + place;
        *valid = k < (place < STEP_K ? view.begin + view.first : view.end);
    } else {
        k += chunk * CHUNK_K;
        *valid = k < view.end;
    }
    return k;
}

/* Loads of a thread in flight at a time, where they pass through registers. */
#define SMALL_AT_ONCE (LOADER > 0 ? 1 : 4)

/* The FIRST chunk is copied without a loop if a thread makes at most this number of copies: the compiler
 * would move the first loads of the stream behind a loop. Later chunks use a loop, because fewer registers
 * are free. */
#define COPIES_AT_FIRST 16

/* The functions below read their thread index anew (thread_index is not kept in registers, as threadIdx would
 * be): values derived from it would occupy registers from one chunk to the next. */

/* Copies one vector of WIDTH: `fetch`, then `put`. An asynchronous copy needs `fetch` only. */
template <int WIDTH> struct small_vector {
    float value[WIDTH];

    /* `to` is the destination. `present`: this thread copies a vector. `valid`: the vector is read; else it
     * is zero. */
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

/* Rows contiguous along k: vectors of VS k. LINE threads lie side by side along k, and DOWN such lines below
 * each other, so that a thread's vectors differ by whole rows. */
template <bool FIRST>
static __device__ __forceinline__ void copy_rows(float *buffer, const struct view &view, int chunk)
{
    const int thread = thread_index();
    constexpr int VECTORS = CHUNK_K / VS, LINE = VECTORS < THREADS ? VECTORS : THREADS, DOWN = THREADS / LINE;
    constexpr int PLACES = (VECTORS + LINE - 1) / LINE, TURNS = (ROWS + DOWN - 1) / DOWN;
    constexpr int UNROLL = FIRST && PLACES * TURNS <= COPIES_AT_FIRST ? TURNS : LOADER == 1 ? 2 : 1;
    const int first_row = thread / LINE;
#pragma unroll
    for (int p = 0; p < PLACES; p++) {
        const int place = (thread % LINE + p * LINE) * VS;
        bool valid;
        const int k = k_of_place<FIRST>(view, chunk, place, &valid);
        const bool present =
            (VECTORS % LINE == 0 || place < CHUNK_K) && (THREADS % LINE == 0 || first_row < DOWN);
        const float *from = view.small + first_row * view.small_ld + k;
        float *const to = buffer + first_row * STRIDE_S + place;
#pragma unroll(UNROLL)
        for (int t = 0; t < TURNS; t += SMALL_AT_ONCE) {
            struct small_vector<VS> vector[SMALL_AT_ONCE];
#pragma unroll
            for (int i = 0; i < SMALL_AT_ONCE && t + i < TURNS; i++) {
                const int row = first_row + (t + i) * DOWN;
                vector[i].fetch(to + (t + i) * DOWN * STRIDE_S, from,
                                present && (ROWS % DOWN == 0 || row < ROWS), valid && row < view.rows);
                from += DOWN * view.small_ld;
            }
            if constexpr (LOADER == 0)
#pragma unroll
                for (int i = 0; i < SMALL_AT_ONCE && t + i < TURNS; i++)
                    if (present && (ROWS % DOWN == 0 || first_row + (t + i) * DOWN < ROWS))
                        store_shared<VS>(to + (t + i) * DOWN * STRIDE_S, vector[i].value);
        }
    }
}

/* Rows side by side in memory: vectors of VS rows, transposed; an asynchronous copy moves single floats. A
 * warp takes 8 rows of a few k, so that it reads whole sectors of 32 bytes and its stores use all banks. LINE
 * warps lie side by side along k, and DOWN such lines below each other. */
template <bool FIRST>
static __device__ __forceinline__ void copy_transposed(float *buffer, const struct view &view, int chunk)
{
    const int thread = thread_index();
    constexpr int WIDTH = LOADER == 1 ? 1 : VS, WARP_K = 4 * WIDTH, ACROSS = CHUNK_K / WARP_K;
    constexpr int WARPS = THREADS / 32, LINE = ACROSS < WARPS ? ACROSS : WARPS, DOWN = WARPS / LINE;
    constexpr int PLACES = (ACROSS + LINE - 1) / LINE, TURNS = ((ROWS + 7) / 8 + DOWN - 1) / DOWN;
    constexpr int UNROLL = FIRST && PLACES * TURNS <= COPIES_AT_FIRST ? PLACES : LOADER == 1 ? 2 : 1;
    const int warp = thread / 32, lane = thread % 32;
    const int lane_row = lane % (8 / WIDTH) * WIDTH, lane_k = lane / (8 / WIDTH);
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
        const int row = (warp / LINE + t * DOWN) * 8 + lane_row;
        if (row >= ROWS || (WARPS % LINE != 0 && warp / LINE >= DOWN)) break;
        const int first_place = warp % LINE * WARP_K + lane_k;
        float *const to = buffer + row * STRIDE_S + first_place;
        bool valid;
        const float *from =
            view.small + k_of_place<FIRST>(view, chunk, first_place, &valid) * view.small_ld + row;
#pragma unroll(UNROLL)
        for (int p = 0; p < PLACES; p += SMALL_AT_ONCE) {
            struct small_vector<WIDTH> vector[SMALL_AT_ONCE];
#pragma unroll
            for (int i = 0; i < SMALL_AT_ONCE && p + i < PLACES; i++) {
                const int on = (p + i) * LINE * WARP_K;
                const int k = k_of_place<FIRST>(view, chunk, first_place + on, &valid);
                if constexpr (FIRST) from = view.small + k * view.small_ld + row;
                vector[i].fetch(to + on, from, ACROSS % LINE == 0 || first_place + on < CHUNK_K,
                                valid && row < view.rows);
                if constexpr (!FIRST) from += LINE * WARP_K * view.small_ld;
            }
            if constexpr (LOADER == 0)
#pragma unroll
                for (int i = 0; i < SMALL_AT_ONCE && p + i < PLACES; i++) {
                    const int on = (p + i) * LINE * WARP_K;
                    const bool inside = ACROSS % LINE == 0 || first_place + on < CHUNK_K;
#pragma unroll
                    for (int e = 0; e < WIDTH; e++)
                        if (inside && row + e < ROWS)
                            store_shared<1>(to + on + e * STRIDE_S, &vector[i].value[e]);
                }
        }
    }
}

/* Offset of a place's first row. */
static constexpr __device__ __forceinline__ int offset_of(int place)
{
    return K_MAJOR ? place / 4 * GROUP_S + place % 4 * ROWS_S : place;
}

/* Rows side by side in memory, copied without transposing: vectors of VS rows. LINE threads lie side by
 * side along one k, and DOWN such lines below each other. Nothing beyond the range of k is copied, so only
 * the first step contains zeros. Rows beyond the operand's keep old contents, because their sums are not
 * stored. */
template <bool FIRST>
static __device__ __forceinline__ void copy_as_it_lies(float *buffer, const struct view &view, int chunk)
{
    constexpr int LINE = (ROWS + VS - 1) / VS, DOWN = THREADS / LINE;
    const int thread = thread_index(), row = thread % LINE * VS;
    const int left = (view.steps - chunk * STEPS) * STEP_K, end = left < CHUNK_K ? left : CHUNK_K;
    const long long step = DOWN * view.small_ld;
    int place = thread / LINE;
    if (row >= view.rows || (THREADS % LINE != 0 && place >= DOWN)) return;
    const int first_k = FIRST ? view.begin : view.begin + view.first - STEP_K + chunk * CHUNK_K;
    const float *from = view.small + row + (first_k + place) * view.small_ld;
    float *const to = buffer + row;
    if constexpr (FIRST) {
#pragma unroll 4
        for (; place < STEP_K; place += DOWN, from += step)
            cp_async<VS>(to + offset_of(place), from, place < view.first);
        from += (view.first - STEP_K) * view.small_ld;
    }
#pragma unroll 4
    for (; place < end; place += DOWN, from += step) cp_async<VS>(to + offset_of(place), from, true);
}

template <bool FIRST>
static __device__ __forceinline__ void copy_vectors(float *buffer, const struct view &view, int chunk)
{
    if constexpr (K_MAJOR) copy_as_it_lies<FIRST>(buffer, view, chunk);
    else if constexpr (SMALL_ALONG_K) copy_rows<FIRST>(buffer, view, chunk);
    else copy_transposed<FIRST>(buffer, view, chunk);
}

/* Copies a chunk to its buffer. A chunk after the range copies nothing, but still commits a group. */
template <bool FIRST>
static __device__ __forceinline__ void copy_chunk(float *buffers, const struct view &view, int chunk)
{
    float *const buffer = buffers + chunk % BUFFERS * BUFFER_FLOATS;
    if (FIRST || chunk * STEPS < view.steps) copy_vectors<FIRST>(buffer, view, chunk);
    if constexpr (LOADER > 0) cp_async_commit();
}

/* Waits until the next chunk is complete and all threads may read it; the one before it is then free. */
static __device__ __forceinline__ void chunk_ready()
{
    if constexpr (LOADER > 0) cp_async_wait<BUFFERS - 2>();
    __syncthreads();
}

#endif
