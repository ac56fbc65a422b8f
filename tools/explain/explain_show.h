/* explain_show.h — an explanation, for people and as JSON. */
#ifndef GT_EXPLAIN_SHOW_H
#define GT_EXPLAIN_SHOW_H

#include "answer.h"
#include "db.h"
#include "race_rank.h"
#include "search_pace.h"
#include "tried.h"
#include <jansson.h>
#include <stdio.h>

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
