/* dropin_handle.h — the library (gemmtune.h) as the drop-in has it: one handle for the process, which is
 * opened at the first call in a context, and never closed.
 *
 * A context is identified by the driver's id for it, which is unique within the process: after
 * cudaDeviceReset another context may have the same address. Drivers before CUDA 12 have no ids; there the
 * address is used. What is kept of a context stays until the process ends, whether the context still exists
 * or not.
 */
#ifndef GT_DROPIN_HANDLE_H
#define GT_DROPIN_HANDLE_H

#include "gpu_context.h"

/* The handle; NULL: not opened yet. */
extern _Atomic(struct gt_handle *) dropin_handle;

/* Opens what is not there for the current context, whose id it is. */
struct gpu_context *dropin_handle_open(uint64_t id);

/* The current context, with the winners for its GPU. NULL: there is none, too many (64), or it could not be
 * opened; then it is tried again some calls later. */
static inline struct gpu_context *dropin_handle_context(void)
{
    unsigned long long id;
    if (cuda.CtxGetId(NULL, &id) != CUDA_SUCCESS) return NULL;
    const struct gt_handle *handle = atomic_load_explicit(&dropin_handle, memory_order_acquire);
    struct gpu_context *context = handle ? gpu_context_find(handle, id) : NULL;
    return context ? context : dropin_handle_open(id);
}

/* A number that changes with every change of what computes a call. */
static inline unsigned dropin_handle_changes(void)
{
    const struct gt_handle *handle = atomic_load_explicit(&dropin_handle, memory_order_acquire);
    return handle ? atomic_load_explicit(&handle->plans.changes, memory_order_acquire) : 0;
}

/* Mixes into a hash how often the winners have been read: what was found out from them before counts no more.
 */
static inline uint64_t dropin_handle_hash(const struct gt_handle *handle, uint64_t hash)
{
    return plan_hash_step(hash, atomic_load_explicit(&handle->plans.renewals, memory_order_acquire));
}

#endif
