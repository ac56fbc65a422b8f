/* SPDX-License-Identifier: MIT */
/* gt_workspace32.h — the layout of the workspace of kernels that read operands of 32 bits along k only; read
 * by host (C) and kernels (CUDA C++). It is that of gt_workspace16.h, but packed operands lie along k: A has
 * a line of k for each row of C, B for each column.
 */
#ifndef GT_WORKSPACE32_H
#define GT_WORKSPACE32_H

#include "gt_workspace16.h"

#define PACK_SIDE 32 /* a warp packs so many lines and k */

#ifdef __CUDACC__
#define GT_DEVICE __device__ __forceinline__
#else
#define GT_DEVICE inline
#endif

/* Leading dimension of a packed operand: lines begin at multiples of 128 bytes. */
static GT_DEVICE long long packed_line32(long long k)
{
    return (k + PACK_SIDE - 1) / PACK_SIDE * PACK_SIDE;
}

/* Warps that pack an operand of so many lines. */
static GT_DEVICE long long pack_pieces32(long long lines, long long k)
{
    return packed_line32(lines) / PACK_SIDE * (packed_line32(k) / PACK_SIDE);
}

static GT_DEVICE struct workspace_item workspace_item32(int pack, long long m, long long n, long long k,
                                                        long long part_floats)
{
    struct workspace_item item = {0, 0, 0};
    if (pack % 2) item.b = m * packed_line32(k);
    item.parts = item.b;
    if (pack / 2) item.parts += n * packed_line32(k);
    item.floats = item.parts + part_floats;
    return item;
}

#undef GT_DEVICE
#endif
