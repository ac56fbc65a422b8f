/* winner.h — what is known of a winner wherever it is kept: in the database, in memory, in a file. Its
 * configuration, and what else each of them needs, is beside it. Plain data.
 */
#ifndef GT_WINNER_H
#define GT_WINNER_H

#include "problem.h"

struct winner {
    struct problem problem; /* measured or predicted for this problem */
    bool predicted;         /* from the model only */
    bool cold;              /* measured with operands that were not in the L2 cache */
    bool exact;             /* judged bit for bit */
    double time_us;
    double anchor_us;                    /* the rival's time in the same race; 0: no rival */
    double ratio, ratio_low, ratio_high; /* rival's time over winner's; 0 if predicted or without a rival */
    char when[32];                       /* ISO 8601, UTC */
};

#endif
