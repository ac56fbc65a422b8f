/* search_pace.h — what bounded a search: compiling or the GPU. From the stored trials of one run.
 *
 * Only the spans in which the problem was searched count. A span ends at a trial of another problem, or where
 * more than 1.5 s went by without a trial (a race, say), unless that was the time in which the next kernel
 * was compiled. Spans that the clock contradicts (it went back, or the trials are from elsewhere) are left
 * out.
 */
#ifndef GT_SEARCH_PACE_H
#define GT_SEARCH_PACE_H

#include "db.h"
#include <jansson.h>

/* A trial of the run. */
struct pace_trial {
    struct config config; /* template NULL: no longer known */
    int64_t ended_us;
    double wall_ms;    /* on the GPU; 0: it never came to it */
    double compile_ms; /* of its kernel; 0: from the cache */
    bool other;        /* of another problem */
};

enum pace_limit {
    PACE_COMPILING, /* the GPU worked less than half of the time */
    PACE_BOTH,
    PACE_GPU,    /* more than 85 % */
    PACE_NEITHER /* the GPU less, and on average not even half a compiler worked */
};

struct search_pace {
    int trials;       /* that came to the GPU; below 10 nothing is said of them */
    double seconds;   /* of the spans */
    double gpu_s;     /* of these, those that its trials took */
    int kernels;      /* compiled for this problem, each counted once */
    double compile_s; /* all of them together */
    double compilers; /* that worked at a time, the time before the first trial of a span included */
    enum pace_limit limit;
};

/* Of trials in the order in which they ended. E_MEMORY. */
enum status search_pace(const struct pace_trial *trials, size_t count, struct search_pace *pace);

/* Of filter's problem and GPU and one cache policy, in the newest run that has measured trials of it. */
enum status search_pace_collect(struct db *db, const struct db_filter *filter, bool cold,
                                struct search_pace *pace);

/* One sentence; false: there is nothing to say. */
bool search_pace_text(const struct search_pace *pace, char *text, size_t room);
/* New reference, null if there is nothing to say; NULL out of memory. */
json_t *search_pace_json(const struct search_pace *pace);

#endif
