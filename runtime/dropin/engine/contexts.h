/* contexts.h — the CUDA contexts of the program's calls, with the winners for each context's GPU.
 *
 * A context is identified by the driver's id for it, which is unique within the process: after
 * cudaDeviceReset another context may have the same address. Drivers before CUDA 12 have no ids; there the
 * address is used. The data of a context are kept until the process ends, whether the context still exists or
 * not.
 */
#ifndef GT_CONTEXTS_H
#define GT_CONTEXTS_H

#include "device.h"
#include "lookup.h"
#include "winner_store.h"

#include <pthread.h>
#include <stdatomic.h>

#define CONTEXTS_MAX 64 /* calls in further ones go to cuBLAS */

/* Which problems may have a winner; does not change once made. */
struct known {
    struct known *older;
    bool listed;       /* `winners` is complete */
    uint64_t *winners; /* hashes of the problems, sorted */
    size_t count, room;
    uint64_t epilogues; /* bit i: one of them has the epilogue of code i */
    unsigned types;     /* bit i: one of them is of type i */
};

struct context {
    struct context *next;
    uint64_t id;
    struct winner_store store; /* under contexts_lock */
    CUcontext handle;
    _Atomic(struct known *) known; /* the newest; older ones are kept, for threads that are reading them */

    pthread_mutex_t opening;   /* protects library; never held during a compilation */
    struct gt_handle *library; /* the kernels of this context; NULL: not opened yet */
};

/* Id of the current context; 0: there is none. */
static inline uint64_t contexts_current(void)
{
    unsigned long long id = 0;
    return cuda.CtxGetId(NULL, &id) == CUDA_SUCCESS ? (uint64_t)id + 1 : 0; /* the driver's ids start at 0 */
}

/* The list of contexts; NULL: none yet. Thread-safe. */
extern _Atomic(struct context *) contexts_first;
static inline struct context *contexts_find(uint64_t id)
{
    struct context *c = atomic_load_explicit(&contexts_first, memory_order_acquire);
    while (c && c->id != id) c = c->next;
    return c;
}

/* The context with this id, which must be current; opened if necessary. NULL: there are too many, or it could
 * not be opened; then it is tried again some calls later. */
struct context *contexts_get(uint64_t id);

static inline const struct known *contexts_known(const struct context *context)
{
    return atomic_load_explicit(&context->known, memory_order_acquire);
}

/* Calls changed after each change of the database that was read again. One call for the process. */
void contexts_watch(void (*changed)(void));

/* Makes the context current in this thread, which had none; false: it is gone. */
bool contexts_enter(const struct context *context);
void contexts_leave(void);

/* Bit i: a context may have winners of type i; all bits until one has been opened. */
extern _Atomic unsigned contexts_types;
static inline bool contexts_may_have(enum gemm_type type)
{
    return atomic_load_explicit(&contexts_types, memory_order_relaxed) & GEMM_TYPE_BIT(type);
}

/* False: there is no winner for the problem. Thread-safe. */
bool contexts_may_know(const struct context *context, const struct problem *problem);

/* The winner for the problem or, if nearest is allowed, that of a similar problem. False: there is none;
 * *held: this may be because another process holds the database. */
bool contexts_choose(struct context *context, const struct problem *problem, int alignment, bool nearest,
                     struct choice *choice, bool *held);

#endif
