/* winner.h — what is known of a winner wherever it is kept: in the database, in memory, in a file. Its
 * configuration, and what else each of them needs, is beside it. Plain data.
 */
#ifndef GT_WINNER_H
#define GT_WINNER_H

#include "problem.h"

struct winner {
    struct problem problem; /* that it was measured for, or predicted */
    bool predicted;         /* from the model alone */
    bool cold;              /* measured with operands that were not in the L2 cache */
    bool exact;             /* judged bit by bit */
    double time_us;
    double anchor_us;                    /* of the rival in the same race; 0 without one */
    double ratio, ratio_low, ratio_high; /* of the rival's time; 0 when predicted or without a rival */
    char when[32];                       /* ISO 8601, UTC */
};

#endif
