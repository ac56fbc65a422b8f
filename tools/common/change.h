/* change.h — two decisions for the same problem: what became faster or slower, and what is only noise.
 *
 * Pure arithmetic on what is stored. Intervals are those of the two races, so they hold what differs between
 * the rounds of one race, not what differs from run to run (clock, temperature). Where the same cuBLAS ran in
 * both on the same GPU, it tells: if its time moved alike, that is drift.
 */
#ifndef GT_CHANGE_H
#define GT_CHANGE_H

#include "db.h"

/* A value with its 95 % interval (of fewer than 6 rounds their range); value NAN: unknown. */
struct interval {
    double value, low, high;
};

/* A decision, as far as it is compared. */
struct decided {
    struct db_winner winner;
    struct interval used_us;  /* of what answers: the kernel or, where that lost, cuBLAS */
    struct interval ratio;    /* cuBLAS's time over that of what answers; 1 for itself */
    struct interval rival_us; /* of cuBLAS */
};

enum change_verdict {
    CHANGE_FASTER,
    CHANGE_SLOWER,
    CHANGE_NOISE,      /* the intervals touch */
    CHANGE_DRIFT,      /* the time is beyond the noise, but the same cuBLAS moved alike */
    CHANGE_UNMEASURED, /* predicted, or without a time */
    CHANGE_TIMING,     /* the races timed their calls in different ways (timing.h) */
    CHANGE_ONLY_A,
    CHANGE_ONLY_B,
    CHANGE_VERDICTS
};

struct change {
    enum change_verdict verdict;
    bool other_winner;                  /* another configuration, or cuBLAS instead of it */
    struct interval used, ratio, rival; /* B over A */
};

/* Adds the times of the race to a winner that was read. Errors: those of db_evidence, E_MEMORY. */
enum status decided_read(struct db *db, const struct db_winner *winner, struct decided *decided);

/* What answers: its configuration, or "cublas". Owned by the decision, or constant. */
const char *decided_answer(const struct decided *decided);

/* NULL: there is none on that side; not both. */
struct change change_of(const struct decided *a, const struct decided *b);

/* "faster", "slower", "noise", "drift", "not measured", "only in A", "only in B" */
const char *change_name(enum change_verdict verdict);

#endif
