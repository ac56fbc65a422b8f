/* gt_prefetch.cuh — operands on their way from device memory to L2 before the pipeline asks for them.
 *
 * A small problem is over before a pipeline has paid for itself: each of its few tiles would wait for device
 * memory, and all blocks wait together, since those that share rows of A or columns of B ask for the same at
 * the same time. So each block asks at once for its share of what it and its neighbours will read:
 *
 *     A    k ->              B    n ->                  blocks of a row of tiles share its rows of A: a piece
 * of m   +--+--+--+--+      k   +----+----+            k each; blocks of a column share its columns of B:
 * every |   |0 |1 |2 |3 |      |   | 0  | 0  |            second, third ... row of k each. Where k is the v
 * +--+--+--+--+      v   | 1  | 1  |            contiguous direction it goes as in A, else as in B |4 |5 |6
 * |7 |          | 0  | 0  |
 *         +--+--+--+--+          | 1  | 1  |
 */
#ifndef GT_PREFETCH_CUH
#define GT_PREFETCH_CUH

/* The share number `share` of `shares` of x0 .. x0 + TILE_X - 1 (those before x_end) by k0 .. k_end - 1. */
template <bool ALONG_X, int TILE_X, int THREAD_COUNT>
static __device__ __forceinline__ void prefetch_share(const float *matrix, long long ld, int x0, int x_end,
                                                      int k0, int k_end, int share, int shares, int thread)
{
    const int width = x_end - x0 < TILE_X ? x_end - x0 : TILE_X;
    if constexpr (ALONG_X) {
#pragma unroll 1
        for (int k = k0 + share + thread * shares; k < k_end; k += THREAD_COUNT * shares)
            prefetch(matrix + k * ld + x0, width);
    } else {
        const int piece = ((k_end - k0 - 1) / shares / 32 + 1) * 32, begin = k0 + share * piece;
        const int length = k_end - begin < piece ? k_end - begin : piece;
        if (length > 0)
#pragma unroll 1
            for (int x = thread; x < width; x += THREAD_COUNT)
                prefetch(matrix + (x0 + x) * ld + begin, length);
    }
}

#endif
