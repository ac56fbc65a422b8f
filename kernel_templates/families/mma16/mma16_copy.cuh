/* SPDX-License-Identifier: MIT */
/* mma16_copy.cuh — copies an operand's tiles to shared memory in the layout of global memory, and loads a
 * warp's fragments from there. Part of mma16.cu.
 *
 * x is m for A and n for B. A tile is EXTENT x by BK, in lines along k or along x as in memory. 16-byte
 * chunks of a line are exchanged, so that eight lines of equal chunks lie in different banks:
 *
 *     line 0    0 1 2 3 4 5 6 7        lines of 128 bytes; of a shorter line the chunks are exchanged
 *     line 1    1 0 3 2 5 4 7 6        every second or fourth line, within pairs or fours
 *     line 2    2 3 0 1 6 7 4 5
 *
 * What lies beyond the edges of the matrix and the block's range of k is zeros.
 */
#ifndef GT_MMA16_COPY_CUH
#define GT_MMA16_COPY_CUH

static constexpr __device__ int common_divisor(int x, int y)
{
    return y == 0 ? x : common_divisor(y, x % y);
}

/* V: elements a copy; 1: two loads for each word, held in registers from fetch to put. */
template <int EXTENT, bool ALONG_K, int V> struct operand_tile {
    static constexpr int LINE = ALONG_K ? BK : EXTENT, LINES = ALONG_K ? EXTENT : BK;
    static constexpr int BYTES = 2 * LINE * LINES;

    /* Lines of CHUNKS are exchanged in groups of CYCLE, which divide them: lines 8 / CYCLE apart begin in the
     * same bank. */
    static constexpr int CHUNKS = LINE / 8;
    static constexpr int CYCLE = CHUNKS % 8 == 0 ? 8 : CHUNKS % 4 == 0 ? 4 : CHUNKS % 2 == 0 ? 2 : 1;

    /* Threads lie along a line, then along the next one. */
    static constexpr int UNIT = V == 1 ? 2 : V;
    static constexpr int COLUMNS = common_divisor(LINE / UNIT, THREADS), ROWS = THREADS / COLUMNS;
    static constexpr int PASSES_ALONG = LINE / UNIT / COLUMNS, PASSES_LINES = (LINES + ROWS - 1) / ROWS;
    static constexpr int PASSES = PASSES_ALONG * PASSES_LINES;

    const unsigned short *from; /* this thread's first element in the next tile */
    long long pitch, advance;   /* elements from line to line, from tile to tile */
    int line, at, left;         /* its place in the tile; x from there to the edge */
    unsigned held[V == 1 ? PASSES : 1];

    static __device__ __forceinline__ int place(int l, int e)
    {
        return l * (2 * LINE) + ((e / 8 ^ l / (8 / CYCLE) % CYCLE) * 16) + e % 8 * 2;
    }

    __device__ __forceinline__ void start(const unsigned short *matrix, long long leading, int x0, int x_end,
                                          int k0, int thread)
    {
        line = thread / COLUMNS;
        at = thread % COLUMNS * UNIT;
        pitch = leading;
        advance = ALONG_K ? BK : BK * leading;
        left = x_end - x0 - (ALONG_K ? line : at);
        from =
            computed(matrix + (ALONG_K ? (x0 + line) * leading + k0 + at : (k0 + line) * leading + x0 + at));
    }

    /* Starts the copies of a tile to `stage`, of which the block's range has k_left k from its begin on. */
    template <bool TAIL> __device__ __forceinline__ void fetch(shared_place stage, int k_left)
    {
#pragma unroll
        for (int j = 0; j < PASSES_LINES; j++)
#pragma unroll
            for (int i = 0; i < PASSES_ALONG; i++) {
                const int l = line + j * ROWS, e = at + i * (COLUMNS * UNIT);
                if (LINES % ROWS == 0 || l < LINES) {
                    int count = UNIT; /* of valid elements */
                    if (ALONG_K) {
                        if (TAIL) count = min(max(k_left - e, 0), UNIT);
                        if (j * ROWS >= left) count = 0;
                    } else {
                        count = min(max(left - i * (COLUMNS * UNIT), 0), UNIT);
                        if (TAIL && l >= k_left) count = 0;
                    }
                    const unsigned short *const source = from + j * ROWS * pitch + i * (COLUMNS * UNIT);
                    if constexpr (V == 1)
                        held[j * PASSES_ALONG + i] =
                            load_element(source, count > 0) | load_element(source + 1, count > 1) << 16;
                    else copy_elements<V>(moved(stage, place(l, e)), source, count);
                }
            }
        from += advance;
    }

    __device__ __forceinline__ void fetch(shared_place stage, int k_left)
    {
        if (k_left >= BK) fetch<false>(stage, k_left);
        else fetch<true>(stage, k_left);
    }

    /* Stores what fetch holds. */
    __device__ __forceinline__ void put(shared_place stage) const
    {
        if constexpr (V == 1) {
#pragma unroll
            for (int j = 0; j < PASSES_LINES; j++)
#pragma unroll
                for (int i = 0; i < PASSES_ALONG; i++) {
                    const int l = line + j * ROWS, e = at + i * (COLUMNS * UNIT);
                    if (LINES % ROWS == 0 || l < LINES)
                        store_pair(moved(stage, place(l, e)), held[j * PASSES_ALONG + i]);
                }
        }
    }

    /* As left operand: COUNT times 16 x 16, from x on. */
    template <int COUNT>
    static __device__ __forceinline__ void left_fragments(unsigned (&f)[COUNT][4], shared_place tile, int x,
                                                          int k, int lane)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int first = x + i * MMA_M;
            load_matrices<!ALONG_K>(
                f[i], moved(tile, ALONG_K ? place(first + lane % 16, k + lane / 16 * 8)
                                          : place(k + lane / 16 * 8 + lane % 8, first + lane / 8 % 2 * 8)));
        }
    }

    /* As right operand: COUNT times 16 x 8, from x on, two at a time. */
    template <int COUNT>
    static __device__ __forceinline__ void right_fragments(unsigned (&f)[COUNT][2], shared_place tile, int x,
                                                           int k, int lane)
    {
        if constexpr (COUNT == 1) {
            load_matrices<!ALONG_K>(f[0], moved(tile, ALONG_K ? place(x + lane % 8, k + lane / 8 % 2 * 8)
                                                              : place(k + lane % 16, x)));
        } else {
#pragma unroll
            for (int j = 0; j < COUNT; j += 2) {
                const int first = x + j * MMA_N;
                unsigned two[4];
                load_matrices<!ALONG_K>(
                    two, moved(tile, ALONG_K ? place(first + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)
                                             : place(k + lane % 16, first + lane / 16 * 8)));
#pragma unroll
                for (int w = 0; w < 4; w++) f[j + w / 2][w % 2] = two[w];
            }
        }
    }
};

#endif
