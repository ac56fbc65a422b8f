/* problem_set.h — a set of problems by their 64-bit hashes: filled by one thread, then read by any without a
 * lock.
 */
#ifndef GT_PROBLEM_SET_H
#define GT_PROBLEM_SET_H

#include "problem.h"

struct problem_set {
    size_t count, mask;
    uint64_t *slots; /* 0: empty; NULL: no problems yet */
};

/* Equal for problems that are as good (problem_alike); never 0. */
uint64_t problem_set_hash(const struct problem *problem);

/* False if out of memory. */
bool problem_set_add(struct problem_set *set, uint64_t hash);

static inline bool problem_set_has(const struct problem_set *set, uint64_t hash)
{
    if (!set->slots) return false;
    for (size_t at = hash & set->mask; set->slots[at]; at = (at + 1) & set->mask)
        if (set->slots[at] == hash) return true;
    return false;
}

void problem_set_free(struct problem_set *set); /* takes a zeroed struct */

#endif
