/* listed.h — which problems a context may have a winner for, so that the many that have none cost neither a
 * lock nor a query of the database: the hashes of all problems that are stored. More than have a winner, but
 * none is missing.
 */
#ifndef GT_LISTED_H
#define GT_LISTED_H

#include "gpu_context.h"

/* Does not change once made. */
struct listed {
    struct listed *older; /* that it replaced; kept, for threads that are reading it */
    bool complete;        /* else there may be any winner */
    uint64_t *hashes;     /* sorted */
    size_t count, room;
    uint64_t epilogues; /* bit i: one of them has the epilogue of code i */
    unsigned types;     /* bit i: one of them decides for type i */
};

/* Those of the context; made at the first question. Where memory is short: that there may be any. */
const struct listed *listed_make(struct gpu_context *context);
static inline const struct listed *listed_of(struct gpu_context *context)
{
    const struct listed *now = atomic_load_explicit(&context->listed, memory_order_acquire);
    return __builtin_expect(now != NULL, 1) ? now : listed_make(context);
}

/* False: there is no winner for the problem. p: by rows, with all members of ours. */
bool listed_has(const struct listed *listed, const struct gt_problem *p);

/* After the winners were read again, under the context's lock. False: no memory; what was listed stays. */
bool listed_renew(struct gpu_context *context);

void listed_free(struct listed *newest);

#endif
