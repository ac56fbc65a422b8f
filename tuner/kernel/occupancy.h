/* occupancy.h — how an SM's resources, above all its register file, limit threads and blocks.
 *
 * A scheduler has a quarter of the register file and holds whole warps; registers of a thread are allocated
 * in units of eight.
 */
#ifndef GT_OCCUPANCY_H
#define GT_OCCUPANCY_H

#include "gpu.h"

/* The most that the compiler may take of a thread so that `blocks` blocks fit on an SM; at most 255. */
int registers_limit(const struct gpu *gpu, int threads, int blocks);

/* Blocks whose threads take so many registers each; 0 if not even one fits. */
int registers_blocks(const struct gpu *gpu, int threads, int registers);

/* Blocks that an SM holds at once: as many as registers, threads, shared memory and their own number allow,
 * and 1 at least. */
int blocks_at_once(const struct gpu *gpu, int threads, int registers, int smem_bytes);

#endif
