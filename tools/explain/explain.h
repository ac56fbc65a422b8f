/* explain.h — what the files of tune explain share. */
#ifndef GT_EXPLAIN_H
#define GT_EXPLAIN_H

#include "answer.h"
#include "db.h"
#include "lookup.h"
#include "race_rank.h"
#include "tried.h"
#include <jansson.h>
#include <stdio.h>

/* ---- search_pace.c ---- */

/* What bounded a search: compiling or the GPU. From the stored trials of one run.
 *
 * Only the spans in which the problem was searched count. A span ends at a trial of another problem, or where
 * more than 1.5 s went by without a trial (a race, say), unless that was the time in which the next kernel
 * was compiled. Spans that the clock contradicts (it went back, or the trials are from elsewhere) are left
 * out.
 */

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

/* ---- untuned.c ---- */

/* A problem that was never tuned: what would be used for it, what that is expected to lose, and
 * how long tuning it would take. As the library answers (lookup.h).
 */

struct untuned {
    struct problem problem;
    struct gpu gpu;
    struct choice choices[CHOICES_MAX]; /* best first */
    int count;
    double tuning_s; /* what a search is expected to take */
    int trials;      /* that it is expected to make */
    bool measured;   /* by the stored search of choices[0].tuned_for, which took so long */
};

/* database: its path, NULL for none; db: the same, opened, or NULL. Errors: those of the database, E_MEMORY.
 */
enum status untuned_find(struct db *db, const char *database, const struct gpu *gpu,
                         const struct problem *problem, struct untuned *untuned);

void untuned_text(const struct untuned *untuned, FILE *stream);
json_t *untuned_json(const struct untuned *untuned); /* new reference; NULL out of memory */

/* ---- explain_show.c ---- */

/* An explanation, for people and as JSON. */

/* All that is known of one problem on one GPU with one cache policy. */
struct explanation {
    struct problem problem;
    char gpu[GPU_NAME_MAX];
    bool decided; /* else there are trials only */
    struct db_winner
        winner; /* where decided; else the one that has failed since, its config_text "" if none has */
    enum answer_from from;      /* the winner; if not of the user's database, it answers in place of */
    struct db_winner predicted; /* what is predicted there; else its config_text is "" */
    struct ranked *ranked;      /* the race, winner first; owned */
    int ranked_count;
    struct db_evidence evidence;       /* owned */
    struct tried tried;                /* owned */
    struct search_pace pace;           /* of the newest run */
    struct db_preference *preferences; /* owned; the newest first */
    int preference_count;
    struct db_search_note *notes; /* owned; the newest first, each text once */
    int note_count;
};

/* "name         what is said of it" (printf-like), broken where the terminal ends. */
void explain_say(FILE *out, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Errors: E_IO, E_MEMORY. */
enum status explain_text(const struct explanation *e, FILE *stream);
/* New reference; NULL out of memory. */
json_t *explain_json(const struct explanation *e);
void explanation_free(struct explanation *e);

#endif
