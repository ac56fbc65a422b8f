/* ask.h — questions to the library's winners, wherever they come from: whatever it would launch has passed
 * the rules. */
#ifndef GT_FUZZ_ASK_H
#define GT_FUZZ_ASK_H

#include "winner_store.h"

/* Ask for the problem, for others like it, and for some that nobody has measured. */
void ask(struct winner_store *store, const struct problem *problem);

#endif
