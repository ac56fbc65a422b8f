/* modules.h — compiled kernels loaded into a context, each once: threads that want one which is being built
 * wait for it.
 */
#ifndef GT_MODULES_H
#define GT_MODULES_H

#include "handle.h"

/* The module of a configuration that has passed its rules, in the current context, which must be the place's.
 * Compiled if the cache does not have it. E_ABSENT: this kernel cannot be had, with the reason, which is
 * remembered. Errors: E_COMPILER (nothing can be compiled), E_IO (nowhere to keep it), E_GPU, E_MEMORY. */
enum status modules_get(struct gt_handle *handle, struct place *place, const struct config *config,
                        const struct problem *problem, CUmodule *module);

/* Unload all, in the place's context. */
void modules_close(struct place *place);

/* Remove the private cache folder, if one was made. */
void modules_remove_private_cache(struct gt_handle *handle);

#endif
