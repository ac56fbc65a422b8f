/* launch_geometry.h — how a template launches a configuration for problems of any size, in numbers: for code
 * that has the formula but not the template (exported headers).
 *
 * There are up to three kernels: one that packs operands into the workspace, the product, and one that adds
 * the parts of split-K.
 */
#ifndef GT_LAUNCH_GEOMETRY_H
#define GT_LAUNCH_GEOMETRY_H

#include <stdint.h>

/* Where the parts of a split k are stored. */
enum launch_parts {
    PARTS_NONE,
    PARTS_OF_C,      /* m x n for each part; a kernel adds them */
    PARTS_OF_TILES,  /* counters, then one part for each block; a tile's last block adds them */
    PARTS_IN_CLUSTER /* in shared memory: the blocks of a tile are a cluster of `split` blocks */
};

/* A member that does not apply is 0, unless its comment says otherwise. */
struct launch_geometry {
    const char *entry[3]; /* kernels that pack, multiply, add; NULL: never launched */
    int32_t align[3];     /* elements: least alignment of A, B, C */
    int32_t m, n;         /* tile of C per block; 0: the whole side */
    int32_t k;            /* k is split at multiples of this */
    int32_t split;        /* most parts of k; 1: never split */
    int32_t group;        /* rows of tiles walked together, at most; 1: no grouping */
    int32_t walk;         /* blocks iterate over tiles along n (1) or m (2) */
    int32_t walkers;      /* number of such blocks */
    int32_t threads;      /* per block of the product */
    int32_t smem_bytes;   /* of the product, plus smem_step for each smem_k of k, at least one */
    int32_t smem_step, smem_k;
    enum launch_parts parts;      /* if split is above 1 */
    int32_t part_elements;        /* PARTS_OF_TILES: elements of a part */
    int32_t sum_width;            /* PARTS_OF_C: elements that a thread adds at once */
    int32_t counter_unit;         /* PARTS_OF_TILES: counters are rounded up to a multiple of this */
    int32_t counter_share;        /* PARTS_OF_TILES: counters per tile that count towards parts_bytes */
    int64_t parts_bytes;          /* limit for the parts of a batch item */
    int32_t pack;                 /* operands that are packed: 1 A, 2 B */
    int32_t pack_line;            /* elements: rows of a packed operand are rounded up to a multiple of it */
    int32_t pack_x[2], pack_k[2]; /* m or n, and k, that a block packs, of A and B */
    int32_t pack_threads, pack_smem_bytes;
    int64_t pack_bytes;        /* limit for packed operands; a longer k is computed in slabs, */
    int32_t slab_k;            /* multiples of this, if split is 1 */
    int32_t slab_least;        /* least k of a slab; if it does not fit, the problem is refused */
    int64_t batch_bytes;       /* a batch that takes more workspace is divided */
    int32_t least[3], most[3]; /* ranges of m, n, k */
};

#endif
