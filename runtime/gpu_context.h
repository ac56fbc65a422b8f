/* gpu_context.h — the CUDA contexts that a handle works in, told apart by the id that the driver gives each
 * once in the life of the process: another may come to be at the address of one that was reset.
 */
#ifndef GT_GPU_CONTEXT_H
#define GT_GPU_CONTEXT_H

#include "handle.h"

/* The current context as a new one of the handle, under the handle's lock. Errors: E_ABSENT (there is none),
 * E_GPU, E_MEMORY. */
enum status gpu_context_add(struct gt_handle *handle, struct gpu_context **context);

/* The current context, by its id; added if it is new. Errors: those of gpu_context_add. */
enum status gpu_context_of(struct gt_handle *handle, uint64_t id, struct gpu_context **context);

/* False: the context was destroyed or reset, and with it what was in it. */
bool gpu_context_is_alive(const struct gpu_context *context);

/* Frees the context's plans, kernels and workspaces, too. */
void gpu_context_free(struct gpu_context *context);

/* Frees workspaces, plans and kernels that are not in use, when nothing runs. */
void gpu_context_trim(struct gpu_context *context);

/* The same where it is no new one; NULL: it is. Thread-safe, without a lock. */
static inline struct gpu_context *gpu_context_find(const struct gt_handle *handle, uint64_t id)
{
    struct gpu_context *context = atomic_load_explicit(&handle->contexts, memory_order_acquire);
    while (context && context->id != id) context = context->next;
    return context;
}

/* Which problems may have a winner here. */
static inline const struct listed *listed_of(struct gpu_context *context)
{
    const bool made = atomic_load_explicit(&context->listed.made, memory_order_acquire);
    return __builtin_expect(made, 1) ? &context->listed : listed_make(context);
}

/* Before the first kernel of a handle that begins late. */
void gpu_context_begin_kernels(struct gpu_context *context);

/* Makes it current in this thread; false: it is gone. */
bool gpu_context_enter(const struct gpu_context *context);
void gpu_context_leave(void);

enum status gpu_context_adopt(const struct gt_handle *handle, CUresult result, unsigned long long *id);

/* The context to work in, by its id. A thread without one gets that of gt_open. Errors: E_GPU. */
static inline enum status gpu_context_current(const struct gt_handle *handle, unsigned long long *id)
{
    CUresult result = cuda.CtxGetId(NULL, id);
    return result == CUDA_SUCCESS ? OK : gpu_context_adopt(handle, result, id);
}

#endif
