/* SPDX-License-Identifier: MIT */
/* simt_workspace.h — what a launch of simt keeps in the workspace, and where; read by host (C) and kernels
 * (CUDA C++).
 *
 *     counters | item 0: A packed, B packed, parts | item 1: ...
 *
 * A packed operand is k rows of x (m for A, n for B), whichever way it lies in memory: the order of shared
 * memory, so that nothing is transposed later. Rows begin at lines of 128 bytes, hence vectors of any width
 * fit, and end in zeros. Parts are the partial products of a k that is cut, one for each split:
 *
 *   REDUCE 0        of all of C, row-major with leading dimension n; gemm_reduce adds them
 *   REDUCE 1        of each tile of C, in the order of threads; the last block of a tile to arrive adds them
 *   REDUCE 2 to 8   none: blocks send them to each other
 */
#ifndef GT_SIMT_WORKSPACE_H
#define GT_SIMT_WORKSPACE_H

#define PACK_THREADS 256
#define PACK_LINE    32 /* floats */

/* The tile of a block that packs: wide where memory is contiguous. */
#define PACK_TILE_K(transpose) ((transpose) ? 64 : 16)
#define PACK_TILE_X(transpose) ((transpose) ? 32 : 128)

#define PACK_SMEM_BYTES (4 * 32 * 65) /* a tile to transpose, a column of which meets 32 banks */

#define COUNTERS_UNIT 64 /* the items behind the counters begin at a line, too */

#ifdef __CUDACC__
#define GT_DEVICE __device__ __forceinline__
#else
#define GT_DEVICE inline
#endif

/* Leading dimension of a packed operand. */
static GT_DEVICE long long packed_row(long long x)
{
    return (x + PACK_LINE - 1) / PACK_LINE * PACK_LINE;
}

/* Blocks that pack an operand. */
static GT_DEVICE long long pack_blocks(int transpose, long long x, long long k)
{
    return ((x + PACK_TILE_X(transpose) - 1) / PACK_TILE_X(transpose)) *
           ((k + PACK_TILE_K(transpose) - 1) / PACK_TILE_K(transpose));
}

/* An item of the batch: where the packed B and the parts begin, A being at 0, and the step to the next item.
 * All in floats. */
struct workspace_item {
    long long b, parts, floats;
};

/* tile_m, tile_n: REDUCE 1, parts are tiles of that size; 0, 0: they are all of C. */
static GT_DEVICE struct workspace_item workspace_item(int pack, int tile_m, int tile_n, long long m,
                                                      long long n, long long k, int splits)
{
    struct workspace_item item = {0, 0, 0};
    if (pack % 2 == 1) item.b = k * packed_row(m);
    item.parts = item.b;
    if (pack / 2 == 1) item.parts += k * packed_row(n);
    item.floats = item.parts;
    if (splits > 1 && tile_m > 0)
        item.floats += splits * (((m - 1) / tile_m + 1) * ((n - 1) / tile_n + 1) * tile_m * tile_n);
    else if (splits > 1) item.floats += splits * m * n;
    if (pack) item.floats = packed_row(item.floats);
    return item;
}

#undef GT_DEVICE
#endif
