/* export_picks.h — which winners go into a header: those that can be used, one for each shape and alignment
 * of each GPU, in the order of the table.
 */
#ifndef GT_EXPORT_PICKS_H
#define GT_EXPORT_PICKS_H

#include "db.h"
#include "winner_here.h"

struct pick {
    struct problem problem;
    struct config config; /* template NULL: cuBLAS won */
    int gpu, source;      /* numbers */
    int32_t align;
    double time_us, ratio, ratio_low, ratio_high;
    char when[32];
};

struct pick_source {
    bool predicted, cold;
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
};

struct picks {
    struct pick *list; /* by GPU, op, m, n, k, batch, alignment, accumulate */
    size_t count;
    struct gpu *gpus; /* by name */
    int gpu_count;
    struct pick_source *sources;
    int source_count;
    int64_t unusable; /* left out: refused by the rules, changed templates, launches that no header says */
    int64_t doubles;  /* left out: another cache policy, scalar or leading dimension of a shape that is in */
    char why[200];    /* the first unusable one */
};

struct pick_rules {
    bool measured_only;
    bool no_cublas; /* leave out what cuBLAS won */
};

/* Read the winners that filter lets through. Free them after an error, too. Errors: the database's, E_MEMORY.
 */
enum status picks_read(struct db *db, const struct db_filter *filter, const struct pick_rules *rules,
                       struct picks *picks);
void picks_free(struct picks *picks); /* takes a zeroed struct */

#endif
