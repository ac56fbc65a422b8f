/* SPDX-License-Identifier: MIT */
/* tall_copy.cuh — copies both operands of the tall kernel to shared memory: the small one once, as rows of k,
 * float by float; the streamed one row by row, 16 bytes at a time from an aligned address. */
#ifndef GT_TALL_COPY_CUH
#define GT_TALL_COPY_CUH

/* Floats between an address and the multiple of 16 bytes at or before it. */
static __device__ __forceinline__ int shift_of(const float *at)
{
    return (int)(reinterpret_cast<unsigned long long>(at) / 4 & 3);
}

/* Starts copying the small operand; elements beyond its edge are zero. */
static __device__ __forceinline__ void copy_resident(float *to, const struct view &v)
{
    constexpr int LANES_K = RESIDENT_ALONG_K ? 8 : 1, LANES_X = 32 / LANES_K;
    constexpr int GROUPS = (RESIDENT_X + LANES_X - 1) / LANES_X;
    const int lane = threadIdx.x % 32, end = (v.length + LANES_K - 1) / LANES_K * GROUPS;
    for (int i = threadIdx.x / 32; i < end; i += WARPS) {
        const int k = i / GROUPS * LANES_K + lane % LANES_K, x = i % GROUPS * LANES_X + lane / LANES_K;
        if (k < v.length && x < RESIDENT_X)
            cp_async<1>(to + k * STRIDE_RESIDENT + x,
                        v.resident + (RESIDENT_ALONG_K ? x * v.resident_ld + k : k * v.resident_ld + x),
                        x < v.resident_end);
    }
}

/* Copies the streamed operand to the stages: its tiles, and k within each, as one sequence. A thread copies
 * one vector of every COPY_ROWS-th row. */
struct stream {
    static constexpr int PASSES = (STREAM_X + COPY_ROWS - 1) / COPY_ROWS;

    const float *at; /* the first of the thread's rows, where the next stage begins */
    long long pass;  /* floats from one of its rows to the next */
    int row, vector; /* position in a stage */
    int x, tiles;    /* first row of the tile; number of tiles left */
    int k_left;      /* stages left of this tile */

    __device__ __forceinline__ void start(const struct view &v)
    {
        row = thread_index() / ALONG;
        vector = thread_index() % ALONG;
        pass = COPY_ROWS * v.stream_ld;
        x = v.stream_x;
        tiles = v.tiles;
        k_left = v.k.tiles;
    }

    static __device__ __forceinline__ bool in_stage(int i, int row)
    {
        return i + 1 < PASSES || STREAM_X % COPY_ROWS == 0 || row + i * COPY_ROWS < STREAM_X;
    }

    /* All rows exist, and there is memory before and after each of them. */
    __device__ __forceinline__ void copy_inner(float *to, const float *from) const
    {
        const shared_place place = place_in_shared(to);
#pragma unroll
        for (int i = 0; i < PASSES; i++) {
            if (in_stage(i, row)) cp_async<4>(place + i * COPY_ROWS * STRIDE_STREAM, from, true);
            from += pass;
        }
    }

    /* The first rows, the last rows, or rows after these. The latter are not read: the shared memory that is
     * left as it is only affects sums that are not stored. */
    __device__ __forceinline__ void copy_edge(float *to, const float *from, const struct view &v) const
    {
#pragma unroll 1
        for (int i = row; i < STREAM_X; i += COPY_ROWS) {
            if (from >= v.stream && from <= v.stream_last) cp_async<4>(to, from, true);
            else
#pragma unroll 1
                for (int e = 0; e < 4; e++)
                    if (from + e >= v.stream && from + e < v.stream_last + 4)
                        cp_async<1>(to + e, from + e, true);
            to += COPY_ROWS * STRIDE_STREAM;
            from += pass;
        }
    }

    __device__ __forceinline__ void copy(float *stage, const struct view &v)
    {
        if (tiles > 0) {
            const bool first = k_left == v.k.tiles;
            const int count = first ? v.k.first : BK;
            if (first) at = v.stream + (x + (long long)row) * v.stream_ld;
            const int shift = shift_of(at);
            if (4 * vector < shift + count) {
                float *const to = stage + row * STRIDE_STREAM + 4 * vector;
                const float *const from = at + (4 * vector - shift);
                /* A row that is 3 rows from either end has at least 3 floats before and after it. */
                if (x > 0 && v.stream_end - x >= STREAM_X + 3) copy_inner(to, from);
                else copy_edge(to, from, v);
            }
            at += count;
            if (--k_left == 0) {
                k_left = v.k.tiles;
                if (--tiles > 0) x += v.step_x;
            }
        }
    }
};

#endif
