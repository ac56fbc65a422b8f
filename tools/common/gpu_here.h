/* gpu_here.h — the GPU of this machine that --gpu means, for commands that run on one. */
#ifndef GT_GPU_HERE_H
#define GT_GPU_HERE_H

#include "status.h"

/* name: a number, "this" or NULL (0), or a name that fits (gpu_fits): the first such GPU, for which all are
 * greeted. cache: folder of compiled kernels. Errors: E_GPU, with the GPUs that are here; those of
 * children_open.
 */
enum status gpu_here(const char *name, const char *cache, int *device);

#endif
