/* cost_ffma.h — predicted time of a kernel whose blocks compute tiles of C from tiles of A and B in shared
 * memory, in one or more waves: simt, the ladder, and any similar family. The family describes its kernel;
 * the arithmetic is common.
 */
#ifndef GT_COST_FFMA_H
#define GT_COST_FFMA_H

#include "template.h"

/* Who adds the parts of a k that several blocks share. */
enum ffma_reduce {
    FFMA_SECOND_KERNEL,
    FFMA_LAST_BLOCK, /* of a tile */
    FFMA_CLUSTER     /* in shared memory, without a workspace */
};

struct ffma_operand {
    double vector; /* floats a load */
    bool async;    /* past the registers, by cp.async */
    bool across;   /* lies across the rows of a stage in shared memory: transposed on the way */
};

struct ffma_kernel {
    int threads, smem_bytes; /* of a block */
    int accumulators;        /* a thread */
    int min_blocks;          /* that an SM must hold */
    int most_blocks;         /* that it is given; 0: as many as it holds */
    double bm, bn, bk, tm, tn, stages, unroll;
    double teams;     /* of warps that share out the k of a tile */
    double vc;        /* floats a store of C */
    bool adds_stores; /* the family itself adds what is seen of stores of C */
    struct ffma_operand a, b;
    double more_registers; /* of a thread, that the family takes beside what all tiled kernels do */
    bool two_steps;        /* warps arrive at a tile's barrier before they wait for it */
    double group;          /* rows of tiles that are walked together */
    double tiles;          /* of C, batch included */
    double splits;         /* blocks of a tile, along k */
    double k_block;        /* what one of them multiplies */
    enum ffma_reduce reduce;
    double pack_bytes; /* operands copied first: read and written */
    double slabs;      /* that k is copied in */
};

/* As the template's predict(). */
struct prediction ffma_predict(const struct ffma_kernel *t, const struct problem *problem,
                               const struct gpu *gpu, const struct kernel_facts *facts);

#endif
