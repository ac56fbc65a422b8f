/* SPDX-License-Identifier: MIT */
/* streamk_line.h — which products each block computes; read by host (C) and kernel (CUDA C++).
 *
 * The tiles of C, those of all batch items one after the other, are divided into whole waves, with a tile for
 * each block, and the rest. The rest is less than two waves, and one wave at least if there are so many
 * tiles: then no block has less than a whole tile's products of it, and no more than two blocks share a tile.
 * Each of its tiles has `depth` units, its tiles of k. They form one line, of which all blocks have equal
 * shares; the waves come after it. With 3 blocks and 11 tiles of 4 units, 5 of them on the line:
 *
 *     tile        0         1         2         3         4             5, 6 ... 10
 *     line    | 0 0 0 0 | 0 0 0 1 | 1 1 1 1 | 1 1 2 2 | 2 2 2 2 |      0 1 2    0 1 2
 *             share of block 0    of block 1        of block 2         a wave each: whole tiles
 *
 * Where a block is among its products it knows by one number: the unit of the line, or, after its share,
 * units + the number of the wave.
 */
#ifndef GT_STREAMK_LINE_H
#define GT_STREAMK_LINE_H

#ifdef __CUDACC__
#define GT_DEVICE __device__ __forceinline__
#else
#define GT_DEVICE inline
#endif

struct line {
    int blocks;
    int depth;  /* units a tile; with nothing to multiply 1 */
    int shared; /* tiles of the line */
    int waves;  /* whole tiles a block */
    int units;  /* of the line */
};

/* `tiles` and the units are below 2^31 (streamk.c). */
static GT_DEVICE struct line line_of(int tiles, int depth, int blocks)
{
    struct line line;
    line.blocks = blocks;
    line.depth = depth;
    line.waves = tiles / blocks;
    if (line.waves > 0 && tiles % blocks > 0) line.waves--;
    line.shared = tiles - line.waves * blocks;
    line.units = line.shared * depth;
    return line;
}

/* The same where no tile is divided: one after the other for each block. The first blocks have a tile more
 * than the others, so that the line is one block's. */
static GT_DEVICE struct line line_of_whole_tiles(int tiles, int depth, int blocks, int block)
{
    struct line line;
    line.blocks = blocks;
    line.depth = depth;
    line.waves = tiles / blocks + (block < tiles % blocks ? 1 : 0);
    line.shared = 0;
    line.units = 0;
    return line;
}

/* The first unit of a block's share. The first blocks have one more than the others, which may have none. */
static GT_DEVICE int first_unit(struct line line, int block)
{
    const int each = line.units / line.blocks, more = line.units % line.blocks;
    return block * each + (block < more ? block : more);
}

static GT_DEVICE int block_of_unit(struct line line, int unit)
{
    const int each = line.units / line.blocks, more = line.units % line.blocks;
    const int larger = more * (each + 1); /* units of the first blocks */
    return unit < larger ? unit / (each + 1) : more + (unit - larger) / each;
}

/* Where a block has computed everything; it starts at its first unit. */
static GT_DEVICE int end_of(struct line line)
{
    return line.units + line.waves;
}

/* What a block multiplies without a break: units begin .. begin + count - 1 of a tile. */
struct piece {
    int tile, begin, count;
    int next; /* where the block is after it */
};

/* share_end: first_unit of the next block. */
static GT_DEVICE struct piece piece_at(struct line line, int share_end, int block, int at)
{
    struct piece piece;
    if (at >= line.units) {
        piece.tile = line.shared + (at - line.units) * line.blocks + block;
        piece.begin = 0;
        piece.count = line.depth;
        piece.next = at + 1;
        return piece;
    }
    piece.tile = at / line.depth;
    piece.begin = at - piece.tile * line.depth;
    piece.count = line.depth - piece.begin < share_end - at ? line.depth - piece.begin : share_end - at;
    piece.next = at + piece.count < share_end ? at + piece.count : line.units;
    return piece;
}

/* The parts of tiles in the workspace, after the counters: one for each block that goes on with a tile that
 * another block began (not the first block), then one for each block that begins a tile that others go on
 * with (not the last). A block has one of each at most. */
static GT_DEVICE int slots_of(int blocks)
{
    return 2 * (blocks - 1);
}

static GT_DEVICE int slot_of(struct line line, int block, int begins)
{
    return begins ? line.blocks - 1 + block : block - 1;
}

#undef GT_DEVICE
#endif
