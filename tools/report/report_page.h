/* report_page.h — a page for the browser about winners and their searches: one file that needs no network.
 *
 * The page is page.html, page.css, page.js and Chart.js (a package of the system, with its licence), all of
 * them in the program; its figures are JSON in it, in which every '<' is escaped. page.js draws.
 */
#ifndef GT_REPORT_PAGE_H
#define GT_REPORT_PAGE_H

#include "db.h"
#include <jansson.h>

#define REPORT_DIGITS 7 /* of a figure: finer than any interval of a race */

struct report_wanted {
    struct db *db;
    const char *file;               /* its path, for the page */
    const char *gpu;                /* as struct db_filter has it; NULL: all */
    const struct problem *problems; /* none: all that have winners */
    size_t problem_count;
    const struct db_context *now; /* NULL: nothing is marked as due */
    struct db *before;            /* what is compared with; NULL: nothing */
    const char *before_file;
    const char *command; /* that made the page */
    bool live;           /* the run goes on: the page loads itself again */
};

/* Writes the page to `path`, which appears complete or not at all; "-" is standard output. Errors: those of
 * the database; E_ABSENT (nothing is known: no page), E_IO, E_MEMORY. */
enum status report_write(const struct report_wanted *wanted, const char *path);

/* (report_data.c) The figures of the page. New reference in *data. Errors: as above. */
enum status report_data(const struct report_wanted *wanted, json_t **data);

/* (report_columns.c) The rows, an array of objects, as an object of columns. New reference; NULL: out of
 * memory. */
json_t *report_columns(const json_t *rows);

/* (report_trials.c) The trials of a problem on a GPU with one cache policy, as page.js reads them: at most
 * `most`, of which the fastest are never left out. *trials: new reference, null if there are none. */
enum status report_trials(struct db *db, const struct db_filter *filter, bool cold, size_t most,
                          json_t **trials);

#endif
