/* own_choice.h — one configuration of an own kernel, for commands that look at one. */
#ifndef GT_OWN_CHOICE_H
#define GT_OWN_CHOICE_H

#include "config.h"
#include "gpu.h"
#include "problem.h"

/* Reads the kernel of a file (own_read.h) and adds it. set: NULL, or "BM=128,BN=64". Of the configurations
 * with these values that are legal for the problem it takes the one that the model likes best. Errors: as
 * own_read and own_add; E_USAGE (set); E_ABSENT: none is legal, with the commonest reason. */
enum status own_choose(const char *file, const char *set, const struct problem *problem,
                       const struct gpu *gpu, struct config *config);

/* The GPU that this names, of configs/gpus; NULL: an H200. Errors: as gpu_choose. */
enum status own_described_gpu(const char *name, struct gpu *gpu);

#endif
