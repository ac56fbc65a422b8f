/* resident_copy.cuh — both operands of the resident kernel on their way to shared memory, by cp.async.
 *
 * In shared memory either is rows of k. Where it runs across k in memory, too, rows are copied as they are
 * (gt_load.cuh). Where it runs along k it is transposed on its way, float by float: lanes lie 8 along k and 4
 * across, so that sectors of memory are used whole, and what they bring meets 32 different banks.
 */
#ifndef GT_RESIDENT_COPY_CUH
#define GT_RESIDENT_COPY_CUH

#define ACROSS 4 /* lanes of a warp across k where they lie along it */
#define ALONG  8

/* Start copying the resident operand: rows of k as the stages have them, the first tile's remainder and its
 * zeros first. */
static __device__ __forceinline__ void copy_resident(float *to, const struct view &v)
{
    constexpr int LANES_K = RESIDENT_ALONG_K ? ALONG : 1, LANES_X = 32 / LANES_K;
    constexpr int GROUPS = (RESIDENT_X + LANES_X - 1) / LANES_X;
    const int rows = v.k.tiles * BK, lane = threadIdx.x % 32;
    const int end = (rows + LANES_K - 1) / LANES_K * GROUPS;
    for (int i = threadIdx.x / 32; i < end; i += THREADS / 32) {
        const int row = i / GROUPS * LANES_K + lane % LANES_K, x = i % GROUPS * LANES_X + lane / LANES_K;
        const int k = row < BK ? row : row - BK + v.k.first;
        const long long at_x = v.resident_x + x;
        const bool valid = at_x < v.resident_end && (row >= BK || row < v.k.first);
        if (row < rows && x < RESIDENT_X)
            cp_async<1>(to + row * STRIDE_RESIDENT + x,
                        v.resident + (RESIDENT_ALONG_K ? at_x * v.resident_ld + k : k * v.resident_ld + at_x),
                        valid);
    }
}

/* Tiles of an operand that runs along k, transposed on their way. Used as tile_loader is, but what lies
 * beyond the edge is zero. */
struct tile_transposer {
    static constexpr int ROWS = THREADS / ALONG; /* of the matrix, side by side over the threads */
    static constexpr int PASSES_X = (STREAM_X + ROWS - 1) / ROWS, PASSES_K = (BK + ALONG - 1) / ALONG;

    const float *from;
    long long pass_bytes;
    int k, x, x_left; /* place in the tile; rows of the matrix from there to its end */

    __device__ __forceinline__ void start(const float *matrix, long long leading, int x0, int x_end, int k0,
                                          int thread)
    {
        k = thread % ALONG;
        x = thread / ALONG;
        x_left = x_end - x0 - x;
        from = matrix + (x0 + (long long)x) * leading + k0 + k;
        pass_bytes = ROWS * leading * 4;
    }

    template <bool GUARD> __device__ __forceinline__ void copy(float *stage, bool valid, int count)
    {
        float *to = stage + k * STRIDE_STREAM + x;
        const float *row = from;
#pragma unroll
        for (int i = 0; i < PASSES_X; i++) {
#pragma unroll
            for (int j = 0; j < PASSES_K; j++)
                if ((i + 1 < PASSES_X || STREAM_X % ROWS == 0 || x + i * ROWS < STREAM_X) &&
                    (j + 1 < PASSES_K || BK % ALONG == 0 || k + j * ALONG < BK))
                    cp_async<1>(to + j * ALONG * STRIDE_STREAM + i * ROWS, row + j * ALONG,
                                valid && i * ROWS < x_left && (!GUARD || k + j * ALONG < count));
            row = moved(row, pass_bytes);
        }
        from += GUARD ? count : BK;
    }
};

template <bool TRANSPOSE> struct stream_loader {
    using type = tile_loader<STREAM_X, BK, STRIDE_STREAM, VS, THREADS, false>;
};
template <> struct stream_loader<true> {
    using type = tile_transposer;
};

/* The streamed operand on its way to the stages: its tiles, and k within each, as one sequence. */
struct stream {
    stream_loader<STREAM_ALONG_K>::type loader;
    int x, tiles, k_left; /* first column of the tile; how many are left; stages left of this one */

    __device__ __forceinline__ void start(const struct view &v)
    {
        x = v.stream_x;
        tiles = v.tiles;
        k_left = v.k.tiles;
    }

    __device__ __forceinline__ void copy(float *stage, const struct view &v)
    {
        if (tiles > 0) {
            const bool first = k_left == v.k.tiles;
            if (first) loader.start(v.stream, v.stream_ld, x, v.stream_end, 0, thread_index());
            if (first && v.k.first < BK) loader.template copy<true>(stage, true, v.k.first);
            else loader.template copy<false>(stage, true, 0);
            if (--k_left == 0) {
                k_left = v.k.tiles;
                if (--tiles > 0) x += v.step_x;
            }
        }
        cp_async_commit();
    }
};

#endif
