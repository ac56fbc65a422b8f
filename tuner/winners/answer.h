/* answer.h — the rule of what a caller gets for a problem: the fastest of what was measured for it, the rival
 * included, unless something is pinned. The look-up (library and drop-in), exported headers, query, explain,
 * bench and tune's results all ask here. Rows are stored with the fastest configuration whatever its ratio,
 * so the rule holds for every row there is.
 *
 * The ratio of the race decides, not its interval: a configuration answers if it is above 1. At exactly 1 it
 * gains nothing, and the rival answers (`tied` is about configurations among themselves). Without a rival
 * (ratio 0) and for a prediction there is nothing to compare, and the configuration answers, but in the
 * drop-in, whose program has a cuBLAS that works. Whoever asks takes pins into account first: what is pinned
 * answers whatever its ratio. Of an invariant problem a configuration answers always: the rival has other
 * orders of additions for other M.
 *
 * Three places have winners: the user's database, the system's, and what ships. What was measured in any of
 * them answers before what was only predicted, in whichever; among equals the order of the three decides
 * (answer_precedes). So a prediction in the user's database hides no measured winner, unless it is pinned.
 */
#ifndef GT_ANSWER_H
#define GT_ANSWER_H

#include "db.h"
#include "winner.h"

#include <stdio.h>
#include <string.h>

/* Where a winner is from, in the order in which they answer. */
enum answer_from { ANSWER_OWN, ANSWER_SYSTEM, ANSWER_SHIPS };

/* "own", "system", "ships". */
static inline const char *answer_from_name(enum answer_from from)
{
    static const char *const names[] = {"own", "system", "ships"};
    return names[from];
}

/* True if a winner from x answers before one from y for the same problem. */
static inline bool answer_precedes(bool x_predicted, enum answer_from x, bool y_predicted, enum answer_from y)
{
    return x_predicted == y_predicted ? x < y : y_predicted;
}

/* True if a configuration answers. ratio: the rival's time over its own, as raced, or as expected on a
 * problem near that of its race. */
static inline bool answer_gains(double ratio)
{
    return ratio > 1;
}

/* True if the rival (cuBLAS, or cublasLt for an epilogue) answers in place of the winner's configuration. */
static inline bool answer_is_rival(const struct winner *w)
{
    return !w->predicted && !w->problem.invariant && w->ratio > 0 && !answer_gains(w->ratio);
}

/* The rival's time in the race; 0: there was none. */
static inline double answer_rival_us(const struct winner *w)
{
    return w->anchor_us > 0 ? w->anchor_us : w->ratio * w->time_us;
}

/* The time of what answers. */
static inline double answer_us(const struct winner *w)
{
    return answer_is_rival(w) ? answer_rival_us(w) : w->time_us;
}

#define ANSWER_INSTEAD_MAX 96

/* What is said of a prediction that does not answer: "a measured winner ships: 3.70 us". instead: what does.
 */
static inline void answer_instead(const struct winner *instead, enum answer_from from,
                                  char text[ANSWER_INSTEAD_MAX])
{
    static const char *const whose[] = {"a winner measured for the other cache policy",
                                        "the system's database has a measured winner",
                                        "a measured winner ships"};
    snprintf(text, ANSWER_INSTEAD_MAX, "%s: %.2f us", whose[from], answer_us(instead));
}

/* The same for a row of the database, with its pin; true also if no configuration is stored in it. */
static inline bool answer_is_cublas(const struct db_winner *w)
{
    return strcmp(w->config_text, "cublas") == 0 || (!w->pin_holds && answer_is_rival(&w->base));
}

/* The answer's name, for tables: "kernel" or "cuBLAS"; NULL: nothing of an unusable row is used. */
static inline const char *answer_name(const struct db_winner *w)
{
    return w->unusable ? NULL : answer_is_cublas(w) ? "cuBLAS" : "kernel";
}

#endif
