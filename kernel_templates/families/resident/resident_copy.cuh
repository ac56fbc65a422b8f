/* SPDX-License-Identifier: MIT */
/* resident_copy.cuh — copies both operands of the resident kernel to shared memory: by cp.async or, with
 * LOADER 3, by bulk copies of whole rows of k.
 *
 * In shared memory each operand is rows of k. Where it is contiguous across k in memory, too, rows are copied
 * as they are (gt_load.cuh). Where it is contiguous along k, it is transposed float by float while it is
 * copied: the lanes of a warp lie 8 along k and 4 across, so that sectors of memory are used whole and the
 * stores use 32 different banks; or, where BK allows, all 32 lie along k and read one line of memory at a
 * time.
 */
#ifndef GT_RESIDENT_COPY_CUH
#define GT_RESIDENT_COPY_CUH

#define ALONG (BK % 32 == 0 ? 32 : 8) /* lanes of a warp along k */

/* Starts copying the resident operand: rows of k in the order of the stages, the first tile's remainder and
 * its zeros first. */
static __device__ __forceinline__ void copy_resident(float *to, const struct view &v)
{
    constexpr int LANES_K = RESIDENT_ALONG_K ? ALONG : 1, LANES_X = 32 / LANES_K;
    constexpr int GROUPS = (RESIDENT_X + LANES_X - 1) / LANES_X;
    const int rows = v.k_rows, first = v.first_rows, lane = threadIdx.x % 32;
    const int end = (rows + LANES_K - 1) / LANES_K * GROUPS;
    for (int i = threadIdx.x / 32; i < end; i += THREADS / 32) {
        const int row = i / GROUPS * LANES_K + lane % LANES_K, x = i % GROUPS * LANES_X + lane / LANES_K;
        const int k = row < first ? row : row - first + v.k.first;
        const long long at_x = v.resident_x + x;
        const bool valid = at_x < v.resident_end && (row >= first || row < v.k.first);
        if (row < rows && x < RESIDENT_X)
            cp_async<1>(to + row * STRIDE_RESIDENT + x,
                        v.resident + (RESIDENT_ALONG_K ? at_x * v.resident_ld + k : k * v.resident_ld + at_x),
                        valid);
    }
}

/* Tiles of an operand that is contiguous along k, transposed while they are copied. Used like tile_loader,
 * but elements beyond the edge are zero. */
struct tile_transposer {
    static constexpr int ROWS = THREADS / ALONG; /* rows of the matrix side by side over the threads */
    static constexpr int PASSES_X = (STREAM_X + ROWS - 1) / ROWS, PASSES_K = (BK + ALONG - 1) / ALONG;

    const float *from;
    long long pass_bytes;
    int k, x, x_left; /* position in the tile; rows of the matrix from there to its end */

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

/* Copies the streamed operand to the stages: its tiles, and k within each, as one sequence. */
struct stream {
    stream_loader<STREAM_ALONG_K>::type loader;
    int x, tiles, k_left; /* first column of the tile; tiles left; stages left of this tile */

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
    }
};

/* The same with two mbarriers per stage: every thread copies its share. */
struct shared_stream : stream {
    static constexpr int ARRIVALS = THREADS;

    __device__ __forceinline__ void copy(float *stage, struct mbarrier *full, struct mbarrier *empty,
                                         unsigned parity, const struct view &v)
    {
        mbarrier_wait(empty, parity);
        stream::copy(stage, v);
        mbarrier_arrive_copies(full, true);
    }
};

/* By bulk copies, one for each row of k. The warps take turns: each stage is copied by the next warp. */
struct bulk_stream {
    static constexpr int ARRIVALS = 1;

    int x, tiles, k, turn; /* x and k of the next stage; tiles left; stages until it is this warp's turn */

    __device__ __forceinline__ void start(const struct view &v)
    {
        x = v.stream_x;
        tiles = v.tiles;
        k = 0;
        turn = __shfl_sync(0xffffffffu, thread_index() / 32, 0);
    }

    /* Zeros after the rows of the first stage. */
    __device__ __forceinline__ void fill_up(float *stage, const struct view &v)
    {
        const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const int lane = thread_index() % 32;
#pragma unroll 1
        for (int i = v.k.first * STRIDE_STREAM + 4 * lane; i < v.first_rows * STRIDE_STREAM; i += 128)
            store_shared<4>(stage + i, zeros);
        bulk_copy_fence();
    }

    __device__ __forceinline__ void copy_rows(float *stage, struct mbarrier *full, const struct view &v)
    {
        const int left = v.stream_end - x, width = left < STREAM_X ? left : STREAM_X;
        const float *row = v.stream + (x + k * v.stream_ld);
        if (k == 0) {
            mbarrier_arrive_expect(full, (unsigned)(4 * width * v.k.first), true);
#pragma unroll 1
            for (int i = 0; i < v.k.first; i++) {
                bulk_copy(stage + i * STRIDE_STREAM, row, (unsigned)(4 * width), full, true);
                row = moved(row, 4 * v.stream_ld);
            }
        } else {
            mbarrier_arrive_expect(full, (unsigned)(4 * width * BK), true);
#pragma unroll
            for (int i = 0; i < BK; i++) {
                bulk_copy(stage + i * STRIDE_STREAM, row, (unsigned)(4 * width), full, true);
                row = moved(row, 4 * v.stream_ld);
            }
        }
    }

    __device__ __forceinline__ void copy(float *stage, struct mbarrier *full, struct mbarrier *empty,
                                         unsigned parity, const struct view &v)
    {
        if (turn == 0) {
            mbarrier_wait(empty, parity);
            if (k == 0 && v.first_rows > v.k.first) fill_up(stage, v);
            __syncwarp();
            if (one_lane()) {
                if (tiles > 0) copy_rows(stage, full, v);
                else mbarrier_arrive(full, true);
            }
            __syncwarp();
            turn = WARPS;
        }
        turn--;
        k += k == 0 ? v.k.first : BK;
        if (k == v.length) {
            k = 0;
            if (--tiles > 0) x += v.step_x;
        }
    }
};

#if LOADER == 2
typedef struct shared_stream flow_stream;
#else
typedef struct bulk_stream flow_stream;
#endif

#endif
