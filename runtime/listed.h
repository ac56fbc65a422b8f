/* listed.h — which problems a context may have a winner for, so that the many that have none cost neither a
 * lock nor a query of the database: a set of all problems that are stored (a Bloom filter). It may have more,
 * and nothing is ever taken out of it.
 */
#ifndef GT_LISTED_H
#define GT_LISTED_H

#include "gemmtune.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LISTED_BITS = 20 };

struct gpu_context;

/* Zeroed: nobody has asked. */
struct listed {
    atomic_bool made, any;      /* any: the problems are not known, there may be any winner */
    atomic_uint types;          /* bit i: one of them decides for type i */
    _Atomic uint64_t epilogues; /* bit i: one of them has the epilogue of code i */
    _Atomic uint64_t bits[(1 << LISTED_BITS) / 64];
};

/* Looks up those of the context, at the first question. */
const struct listed *listed_make(struct gpu_context *context);

/* False: there is no winner for the problem. p: by rows, with all members of ours. */
bool listed_has(const struct listed *listed, const struct gt_problem *p);

/* Looks up what is stored by now, if anybody has asked; under the context's lock. */
void listed_renew(struct gpu_context *context);

#endif
