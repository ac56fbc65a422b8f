/* prior.h — what trials of other problems say of the candidates of this one: the times that the model
 * predicts are corrected before the search begins. Knows neither GPU nor database.
 *
 * A surrogate (surrogate.h) learns the logarithm of measured over predicted times from those trials, from
 * each problem's median on, as that of very noisy values: what two problems have in common. A part of what it
 * expects is put on the model's prediction for each candidate, and decides the order; where nothing alike was
 * tried it expects nothing. A search trusts the corrected times as it trusts a model: the strategy gp by a
 * slope that its own trials decide.
 */
#ifndef GT_PRIOR_H
#define GT_PRIOR_H

#include "config.h"
#include "status.h"
#include <stddef.h>

#define PRIOR_TRIALS_MAX   288 /* that are learned from, of all problems together */
#define PRIOR_TRIALS_LEAST 24  /* fewer change nothing */
#define PRIOR_PROBLEMS_MAX 4

struct prior_trial {
    struct config config;
    double time_us;      /* INFINITY: it failed, which says nothing here */
    double predicted_us; /* by the model, for its own problem */
};

/* One other problem. */
struct prior_problem {
    const struct prior_trial *trial; /* each configuration once */
    size_t count;
};

struct prior_used {
    size_t problems, trials;
};

/* candidates come ordered by predicted_us, and leave ordered by the corrected times that take its place.
 * used->trials 0: there was too little to learn from, and nothing has changed. At most PRIOR_PROBLEMS_MAX
 * problems. Takes a tenth of a second for many candidates. Errors: E_MEMORY. */
enum status prior_correct(struct config *candidates, double *predicted_us, size_t count,
                          const struct prior_problem *problems, size_t problem_count,
                          struct prior_used *used);

#endif
