/* replay_order.h — how good the order of a recorded space's candidates is before anything has been tried. */
#ifndef GT_REPLAY_ORDER_H
#define GT_REPLAY_ORDER_H

#include "replay_space.h"

enum { REPLAY_FIRSTS = 3 };
extern const size_t replay_first[REPLAY_FIRSTS]; /* 1, 8, 64 */

struct replay_order {
    double correlation; /* Spearman's, of place and time, over the candidates that have one; NAN without a
                           model */
    double reached[REPLAY_FIRSTS]; /* best time of all over that of the first so many; 0: they failed */
};

/* Errors: E_MEMORY. */
enum status replay_order(const struct replay_space *space, struct replay_order *order);

#endif
