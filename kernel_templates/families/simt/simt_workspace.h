/* SPDX-License-Identifier: MIT */
/* simt_workspace.h — the layout of the workspace of a simt launch; read by host (C) and kernels (CUDA C++).
 *
 *     counters | item 0: A packed, B packed, parts | item 1: ...
 *
 * A packed operand is k rows of x (m for A, n for B), whatever the layout of the original. This is the order
 * of shared memory, so that nothing is transposed later. Rows begin at 128-byte lines, so that vectors of any
 * width are aligned, and end in zeros. Parts are the partial products when k is split, one for each split:
 *
 *   REDUCE 0        of all of C, row-major with leading dimension n; gemm_reduce adds them
 *   REDUCE 1        of each tile of C, in the order of threads; the last block of a tile to arrive adds them
 *   REDUCE 2 to 8   none: blocks send them to each other
 */
#ifndef GT_SIMT_WORKSPACE_H
#define GT_SIMT_WORKSPACE_H

#define PACK_THREADS 256
#define PACK_LINE    32 /* floats */

/* Tile of a block of gemm_pack: wide along the contiguous direction. */
#define PACK_TILE_K(transpose) ((transpose) ? 64 : 16)
#define PACK_TILE_X(transpose) ((transpose) ? 32 : 128)

#define PACK_SMEM_BYTES (4 * 32 * 65) /* a tile to transpose, a column of which covers 32 banks */

#define COUNTERS_UNIT 64 /* the items after the counters begin at a line, too */

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

/* Number of blocks that pack an operand. */
static GT_DEVICE long long pack_blocks(int transpose, long long x, long long k)
{
    return ((x + PACK_TILE_X(transpose) - 1) / PACK_TILE_X(transpose)) *
           ((k + PACK_TILE_K(transpose) - 1) / PACK_TILE_K(transpose));
}

/* A batch item: the offsets of its packed B and of its parts (its packed A is at 0), and the step to the next
 * item. All in floats. */
struct workspace_item {
    long long b, parts, floats;
};

/* tile_m, tile_n: size of the parts with REDUCE 1, which are tiles; 0, 0: the parts are all of C. */
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
