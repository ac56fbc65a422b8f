/* SPDX-License-Identifier: MIT */
/* gt_workspace16.h — the layout of the workspace of kernels with 16-bit operands; read by host (C) and
 * kernels (CUDA C++).
 *
 *     counters | item 0: A packed, B packed, parts | item 1: ...
 *
 * A packed operand has the lines of the original, which begin at multiples of 128 bytes and end in zeros:
 * 16-byte copies and tensor maps can read it. Parts are the sums of blocks that share a tile of C, in the
 * order of their threads; the last block of a tile to arrive adds them.
 */
#ifndef GT_WORKSPACE16_H
#define GT_WORKSPACE16_H

#define COUNTERS_UNIT 64 /* what follows the counters begins at a line of memory, too */

#define PACK_THREADS  256
#define PACK_WORDS    4                 /* of two elements, that a thread copies */
#define PACK_ELEMENTS (64 * PACK_WORDS) /* of a line, that a warp copies */

#ifdef __CUDACC__
#define GT_DEVICE __device__ __forceinline__
#else
#define GT_DEVICE inline
#endif

/* Leading dimension of a packed operand. */
static GT_DEVICE long long packed_line(long long elements)
{
    return (elements + 63) / 64 * 64;
}

/* Warps that pack an operand of so many lines of so many elements. */
static GT_DEVICE long long pack_pieces(long long lines, long long elements)
{
    return lines * ((packed_line(elements) + PACK_ELEMENTS - 1) / PACK_ELEMENTS);
}

/* A batch item: the offsets of its packed B and of its parts (its packed A is at 0), and the step to the next
 * item. All in floats. */
struct workspace_item {
    long long b, parts, floats;
};

/* part_floats: of all its parts. */
static GT_DEVICE struct workspace_item workspace_item(int pack, int trans_a, int trans_b, long long m,
                                                      long long n, long long k, long long part_floats)
{
    struct workspace_item item = {0, 0, 0};
    if (pack % 2) item.b = (trans_a ? k : m) * packed_line(trans_a ? m : k) / 2;
    item.parts = item.b;
    if (pack / 2) item.parts += (trans_b ? n : k) * packed_line(trans_b ? k : n) / 2;
    item.floats = item.parts + part_floats;
    return item;
}

#undef GT_DEVICE
#endif
