/* exact.h — chooses among the winners for exactly one problem. */
#ifndef GT_EXACT_H
#define GT_EXACT_H

#include "winner_store.h"

/* The choice, in this order: measured on this GPU with the current kernels, the user's before the system's
 * and that before a pretuned one (answer.h), without those that the user has excluded; the fastest one
 * measured for the same problem with a type that answers this one's; predicted by a model for this problem.
 * config.template NULL: cuBLAS won; winner.config tells only whether it did. E_ABSENT: there is none. Errors:
 * E_MEMORY. */
enum status exact_find(struct winner_store *store, const struct problem *problem,
                       struct stored_winner *winner, struct config *config);

/* The types above have this one's rival (gemm_type_decides). The fastest one measured for the same problem
 * with another type that answers this one's, as TF32 has: whether cuBLAS is faster here is not known. Results
 * and errors as above. */
enum status exact_find_stricter(struct winner_store *store, const struct problem *problem,
                                struct stored_winner *winner, struct config *config);

#endif
