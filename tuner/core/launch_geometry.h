/* launch_geometry.h — how a template launches a configuration for problems of any size, in numbers: for code
 * that has the formula but not the template (exported headers).
 *
 * There are up to three kernels: one that packs operands into the workspace, the product, and one that adds
 * the parts of split-K.
 */
#ifndef GT_LAUNCH_GEOMETRY_H
#define GT_LAUNCH_GEOMETRY_H

#include <stdint.h>

/* Where the parts of a cut k go. */
enum launch_parts {
    PARTS_NONE,
    PARTS_OF_C,      /* a plain m x n for each; a kernel adds them */
    PARTS_OF_TILES,  /* counters, then one for each block; a tile's last block adds them */
    PARTS_IN_CLUSTER /* in shared memory: a tile's blocks are a cluster, always of `split` */
};

/* Zero where nothing else is said: there is no such thing. */
struct launch_geometry {
    const char *entry[3]; /* what packs, the product, what adds; NULL: never launched */
    int32_t align[3];     /* elements: A, B, C must be so aligned at least */
    int32_t m, n;         /* of C a block; 0: all of that side */
    int32_t k;            /* is cut at multiples of it */
    int32_t split;        /* into so many parts at most; 1: never */
    int32_t group;        /* rows of blocks walked together, at most; 1: no more */
    int32_t walk;         /* blocks walk from tile to tile along n (1) or m (2) */
    int32_t walkers;      /* so many of them in all */
    int32_t threads;      /* a block of the product */
    int32_t smem_bytes;   /* of it, and smem_step more for each smem_k of k, at least one */
    int32_t smem_step, smem_k;
    enum launch_parts parts;      /* if split is above 1 */
    int32_t part_elements;        /* OF_TILES: of one */
    int32_t sum_width;            /* OF_C: elements a thread adds at once */
    int32_t counter_unit;         /* OF_TILES: counters are rounded up to a multiple of it */
    int32_t counter_share;        /* OF_TILES: of a tile, in what parts_bytes limits */
    int64_t parts_bytes;          /* that the parts of an item may take */
    int32_t pack;                 /* operands that are packed: 1 A, 2 B */
    int32_t pack_line;            /* elements: rows of a packed operand are rounded up to a multiple of it */
    int32_t pack_x[2], pack_k[2]; /* m or n, and k, that a block packs, of A and B */
    int32_t pack_threads, pack_smem_bytes;
    int64_t pack_bytes;        /* that packed operands may take: of a longer k, slabs at a time, */
    int32_t slab_k;            /* multiples of this, if split is 1 */
    int32_t slab_least;        /* no fewer k fit, or the problem is refused */
    int64_t batch_bytes;       /* a batch that takes more workspace is cut */
    int32_t least[3], most[3]; /* of m, n, k */
};

#endif
