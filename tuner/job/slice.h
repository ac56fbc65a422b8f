/* slice.h — the main job: one slice of one problem on one GPU. */
#ifndef GT_SLICE_H
#define GT_SLICE_H

#include "status.h"

struct gpu_worker;

/* Search, race, check and store the winner of gpu->now, for as long as deal_length_s says. Returns when its
 * time is over, and how it ended is in its result. Errors end the run: the database cannot be written, out of
 * memory, Ctrl-C twice. */
enum status tune_slice(struct gpu_worker *gpu);

#endif
