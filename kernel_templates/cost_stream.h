/* cost_stream.h — predicted time of kernels that stream a long operand past a resident one in shared memory:
 * resident and tall. Each SM has its share of the tiles and issues their instructions, while the streamed
 * operand and C move at the bandwidth of device memory, or as fast as the bytes in flight allow. A family
 * counts its instructions; the rest is common.
 */
#ifndef GT_COST_STREAM_H
#define GT_COST_STREAM_H

#include "cost_parts.h"
#include "template.h"

extern const struct lds_slots stream_lds; /* what reads of shared memory take of these kernels' issue slots */

struct stream_kernel {
    double threads, min_blocks, stages, bk;
    double sums, vc;             /* of a thread; floats a store */
    double stays_x, stream_x;    /* sides of a tile */
    double stream_length;        /* of C along the streamed operand */
    double rows, walkers, tiles; /* rows of tiles; blocks of a row; tiles of a row */
    double k, k_tiles;           /* k_tiles: stages of a tile */
    double k_l2;                 /* of a stage, as rows come from L2 */
    double steps_slots,
        stage_slots;   /* issue slots of a warp for the steps of a tile, and for each stage besides */
    double code_slots; /* instructions of the loop and of a stage */
};

/* As the template's predict(). */
struct prediction stream_predict(const struct stream_kernel *s, const struct problem *problem,
                                 const struct gpu *gpu, const struct kernel_facts *facts);

#endif
