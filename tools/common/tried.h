/* tried.h — statistics of the trials of a problem: counts by verdict, failures grouped by reason, and the
 * best time for each value of each parameter. From the rows of the database alone.
 */
#ifndef GT_TRIED_H
#define GT_TRIED_H

#include "db.h"

/* Failures with the same verdict and, but for numbers, the same reason. */
struct tried_group {
    enum verdict verdict;
    bool recovered; /* cut off when the tuner was killed */
    int count;
    char reason[OUTCOME_DETAIL_MAX], example[CONFIG_TEXT_MAX]; /* of the newest */
    char shape[OUTCOME_DETAIL_MAX];                            /* the reason with 'N' for each number */
};

/* One value of one parameter of a template. */
struct tried_value {
    int param; /* index into the template's parameters */
    int32_t value;
    int count; /* usable configurations with it */
    double best_us;
};

struct tried {
    int trials;                  /* rows, repetitions included */
    int configs;                 /* different configurations, by their newest outcome */
    int outdated;                /* of them, with a kernel that has changed since: not in what follows */
    int verdicts[VERDICT_COUNT]; /* configurations */
    int recovered;               /* configurations cut off by a kill and not tried again */
    bool predicted;              /* nothing was measured: times are the model's */
    double best_us;              /* 0: none */
    char best[CONFIG_TEXT_MAX];
    struct tried_group *groups; /* most frequent first */
    int group_count;
    const struct template *template; /* of the parameter values */
    struct tried_value *values;      /* by parameter, then value */
    int value_count;
};

/* Collect for filter's problem and GPU and one cache policy. template: whose parameters to break down; NULL:
 * that of the best. The caller frees with tried_free. */
enum status tried_collect(struct db *db, const struct db_filter *filter, bool cold, const struct template *t,
                          struct tried *tried);
void tried_free(struct tried *tried); /* takes a zeroed struct */

#endif
