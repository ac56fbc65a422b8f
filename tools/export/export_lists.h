/* export_lists.h — winners as JSON lines or CSV, trials as T4 (the results format of the auto-tuning
 * community). */
#ifndef GT_EXPORT_LISTS_H
#define GT_EXPORT_LISTS_H

#include "db_exchange.h"
#include "export_picks.h"
#include "status.h"
#include <stdint.h>
#include <stdio.h>

/* ---- reasons ---- */

/* How many winners were left out for which reason: a line for each on the screen, not for each
 * winner.
 */

struct reason {
    char *text;
    int64_t count;
};

struct reasons {
    struct reason *list;
    int count;
};

/* One more of this reason. Errors: E_MEMORY. */
enum status reasons_add(struct reasons *reasons, const char *text);

/* On standard error, the most frequent first; sorts them. */
void reasons_say(struct reasons *reasons);

void reasons_free(struct reasons *reasons); /* takes a zeroed struct */

/* What was written, and what was not. */
struct exported {
    int64_t written;
    int64_t unusable;   /* winners whose kernel has changed or that their rules refuse */
    int64_t unknown;    /* problems that were asked for and have no winner */
    int64_t predicted;  /* trials that never ran */
    struct reasons why; /* of those that are unusable or unknown; reasons_free them, after an error, too */
};

/* problems: as problem_list_each. descriptors: folder of GPU descriptors; a GPU that is not in it goes with
 * its figures. Errors: the database's, E_MEMORY. */
enum status export_json_lines(struct db *db, const struct db_filter *filter,
                              const struct problem_list *problems, const struct pick_rules *rules,
                              const char *descriptors, FILE *stream, struct exported *exported);
enum status export_csv(struct db *db, const struct db_filter *filter, const struct problem_list *problems,
                       const struct pick_rules *rules, FILE *stream, struct exported *exported);

/* One document with every trial that ran or failed to. Both spellings of times: T4's and Kernel Tuner's. What
 * T4 has no place for is in an object "gemmtune" of each result and of the metadata, for tune import. */
enum status export_t4(struct db *db, const struct db_filter *filter, const struct problem_list *problems,
                      const char *generator, FILE *stream, struct exported *exported);

#endif
