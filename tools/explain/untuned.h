/* untuned.h — a problem that was never tuned: what would be used for it, what that is expected to lose, and
 * how long tuning it would take. As the library answers (lookup.h).
 */
#ifndef GT_UNTUNED_H
#define GT_UNTUNED_H

#include "db.h"
#include "lookup.h"
#include <jansson.h>
#include <stdio.h>

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

#endif
