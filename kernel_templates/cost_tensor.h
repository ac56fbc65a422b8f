/* cost_tensor.h — predicted time of a kernel whose blocks multiply tiles by tensor cores: steps over k, each
 * of which is as long as the slowest of what happens in it; waves of blocks, or blocks that walk; device
 * memory; fixed costs. A family describes its kernel for a problem, with constants of its own; the arithmetic
 * is common.
 */
#ifndef GT_COST_TENSOR_H
#define GT_COST_TENSOR_H

#include "cost_parts.h"
#include "template.h"

struct tensor_kernel {
    /* A block. */
    int threads, smem_bytes, min_blocks;
    double needed;  /* registers: as likely as not to spill with less; */
    double liked;   /* more that it takes where it may */
    double at_once; /* blocks of an SM, whatever the registers; 0: as many as fit */
    double blocks;  /* of the grid */
    double sms;     /* that they can fill */

    /* A step, of which a block has `steps`. Members that are 0 take no time. */
    double steps, step_k;
    double issue;               /* cycles of a scheduler for a warp's instructions, or: */
    double products, rate;      /* of elements; an SM and cycle */
    double full_warps;          /* of an SM: fewer leave tensor cores idle */
    double groups, load_cycles; /* groups of warps that take turns, and what one waits before its products */
    double copies;              /* cycles of the load units, for one k */
    double shared, shared_rate; /* bytes that are read of shared memory; an SM and cycle */
    double overlap;             /* of products with these (overlapped_us) */
    double wait_cycles;         /* of a lone block, */
    bool waits_less;            /* which others fill by the square of their number */
    double arrival, arrival_rate;  /* bytes that arrive; an SM and cycle, */
    double on_the_way, latency_us; /* if so many are on their way; latency 0: always enough are */
    double least_cycles;           /* of a step, whatever else */

    /* Before and after. */
    double wave_us, fill_cycles;
    double store, store_rate; /* bytes of C, or of sums; an SM and cycle */

    /* Blocks that walk. */
    double walkers, rounds; /* blocks of an SM, and tiles of each; rounds 0: they do not walk */
    double walk_cycles;     /* from a tile's store to the next product */
    double takers;          /* groups that take tiles in turns; 0: they share tiles */
    double turn_cycles;     /* from one of these to the next */

    double memory_us, overhead_us;
};

/* As the template's predict(). */
struct prediction tensor_predict(const struct tensor_kernel *t, const struct gpu *gpu,
                                 const struct kernel_facts *facts);

/* Products of elements, an SM and cycle, at this share of the peak rate. */
double tensor_rate(const struct gpu *gpu, enum gemm_type type, double share);

#endif
