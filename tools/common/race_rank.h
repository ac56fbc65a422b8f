/* race_rank.h — the stored blocks of a race: how they rank the finalists, and by which margins. */
#ifndef GT_RACE_RANK_H
#define GT_RACE_RANK_H

#include "db.h"
#include <stdbool.h>

struct ranked {
    int runner;       /* index into the evidence, -1: cuBLAS */
    const char *text; /* its configuration, "cublas"; owned by the evidence */
    int blocks;       /* that it took part in */
    double median_us; /* of its blocks */
    double behind;    /* median over the rounds both ran of own time / winner's - 1; 0 for the winner */
    double behind_low, behind_high; /* 95 % interval; of fewer than 6 rounds their range */
    bool failed;                    /* a block did not end well */
};

/* Order by `behind`, the winner (by its text) first. Times of one round are compared with each other only, so
 * that a drift of the clock between rounds does not count. *ranked is malloc'ed, owned by the caller; *count
 * includes cuBLAS where it ran. Errors: E_MEMORY. */
enum status race_rank(const struct db_evidence *evidence, const char *winner, struct ranked **ranked,
                      int *count);

/* How the last block of a runner (-1: the rival) was timed. */
enum call_timing race_timing(const struct db_evidence *evidence, int runner);

#endif
