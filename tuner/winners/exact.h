/* exact.h — which winner is taken of those for one very problem. */
#ifndef GT_EXACT_H
#define GT_EXACT_H

#include "winner_store.h"

/* Measured on this GPU with the kernels of now, the user's before a pretuned one; else the fastest one
 * measured for the same problem of a type that answers this one's; else what a model predicted for it.
 * config.template NULL: cuBLAS won; else config is among the configurations now. E_ABSENT: there is none.
 * Errors: E_MEMORY. */
enum status exact_find(struct winner_store *store, const struct problem *problem,
                       struct stored_winner *winner, struct config *config);

#endif
