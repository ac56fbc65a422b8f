/* plan_turnover.h — an LRU cache of plans by problem and context, for plans beyond the size of the plan
 * cache, so that a program with ever new shapes uses a bounded amount of memory. A plan is taken and put
 * back, and is only evicted while nobody holds it.
 */
#ifndef GT_PLAN_TURNOVER_H
#define GT_PLAN_TURNOVER_H

#include "plan_cache.h"
#include <pthread.h>

#define PLANS_TURNED     512
#define TURNOVER_BUCKETS 1024 /* a power of two */

struct turned_plan {
    struct turned_plan *in_bucket, *newer, *older;
    struct plan_key key;
    uint64_t hash;
    struct gt_plan *plan;
    int taken;
};

struct plan_turnover {
    pthread_mutex_t lock; /* what follows */
    int count;
    struct turned_plan *newest, *oldest;
    struct turned_plan *buckets[TURNOVER_BUCKETS];
};

void plan_turnover_start(struct plan_turnover *turnover);

/* The plans are not the turnover's. */
void plan_turnover_free(struct plan_turnover *turnover);

/* Take the plan for a key; NULL: it is not there. */
struct turned_plan *plan_turnover_take(struct plan_turnover *turnover, const struct plan_key *key,
                                       uint64_t hash);

/* Add a plan and take it. Where another thread has added one for the key, that one is taken. *out: what is to
 * be freed in exchange: the plan itself, one that has not been used for long, or NULL. Errors: E_MEMORY. */
enum status plan_turnover_add(struct plan_turnover *turnover, const struct plan_key *key, uint64_t hash,
                              struct gt_plan *plan, struct turned_plan **taken, struct gt_plan **out);

void plan_turnover_put(struct plan_turnover *turnover, struct turned_plan *taken);

/* Remove one that nobody has; NULL: there is none. */
struct gt_plan *plan_turnover_remove(struct plan_turnover *turnover);

#endif
