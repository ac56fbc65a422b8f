/* contexts.h — the CUDA contexts of the program's calls, and what is known of the GPU of each.
 *
 * A context is identified by the number that the driver gives it once in the life of the process: after
 * cudaDeviceReset another one may have the same address. Drivers before CUDA 12 have no numbers; there the
 * address is used. What is known of a context is kept until the process ends, whether the context still
 * exists or not.
 */
#ifndef GT_CONTEXTS_H
#define GT_CONTEXTS_H

#include "device.h"
#include "lookup.h"
#include "problem_set.h"
#include "winner_store.h"

#include <pthread.h>
#include <stdatomic.h>

#define CONTEXTS_MAX 64 /* calls from further ones go to cuBLAS */

struct context {
    struct context *next;
    uint64_t id;
    struct winner_store store;  /* under contexts_lock */
    bool listed;                /* the next one holds every problem that may have a winner */
    struct problem_set winners; /* does not change */

    pthread_mutex_t opening;   /* the library, never held while something is compiled */
    struct gt_handle *library; /* the kernels of this context; NULL: not opened yet */
};

/* Of the current context; 0: there is none. */
static inline uint64_t contexts_current(void)
{
    unsigned long long id = 0;
    return cuda.CtxGetId(NULL, &id) == CUDA_SUCCESS ? (uint64_t)id + 1 : 0; /* 0 is a number, too */
}

/* NULL: nothing was asked of it yet. From any thread. */
extern _Atomic(struct context *) contexts_first;
static inline struct context *contexts_find(uint64_t id)
{
    struct context *c = atomic_load_explicit(&contexts_first, memory_order_acquire);
    while (c && c->id != id) c = c->next;
    return c;
}

/* The one with this number, which must be current; opened if need be. NULL: there are too many, or it could
 * not be opened, which is tried again some calls later. */
struct context *contexts_get(uint64_t id);

/* False: there is no winner for the problem. From any thread. */
static inline bool contexts_may_know(const struct context *context, const struct problem *problem)
{
    return !context->listed || problem_set_has(&context->winners, problem_set_hash(problem));
}

/* The winner for the problem, or where nearest is allowed the one of a similar problem. False: there is none;
 * *held: as far as can be told while another process holds the database. */
bool contexts_choose(struct context *context, const struct problem *problem, int alignment, bool nearest,
                     struct choice *choice, bool *held);

#endif
