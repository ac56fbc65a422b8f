/* calls.h — the calls of products that each thread has made: how many, how many were answered, and what the
 * latest of cublasLt came to (lt_shortcut.h). A thread writes its own without a lock; the sums are for the
 * line that `tune run` ends with.
 */
#ifndef GT_CALLS_H
#define GT_CALLS_H

#include "engine.h"

struct shortcut;

struct calls {
    struct calls *next; /* another thread's */
    void **place;       /* where its thread finds it; NULL: the thread has ended */
    _Atomic uint64_t products, answered;
    _Atomic(struct shortcut *) shortcuts; /* a table; NULL: none so far */
};

/* Those of a thread that calls for the first time. NULL: no memory. */
struct calls *calls_begin(void **place);

/* Those of the thread of the call; NULL: no memory. */
static inline struct calls *calls_of(const struct intercept *intercept)
{
    struct calls *mine = *intercept->thread;
    return mine ? mine : calls_begin(intercept->thread);
}

/* For the thread that owns the count; others may read it. */
static inline void calls_count(_Atomic uint64_t *count)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* The sums over all threads, those that have ended among them. Answers by shortcuts are added to the counts
 * of their problems first. */
void calls_sum(uint64_t *products, uint64_t *answered);

#endif
