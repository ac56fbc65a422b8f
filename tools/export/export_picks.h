/* export_picks.h — which winners go into a header: the usable ones, one for each shape, alignment, kind of
 * beta and epilogue of each GPU, in table order; and the reasons why others do not.
 */
#ifndef GT_EXPORT_PICKS_H
#define GT_EXPORT_PICKS_H

#include "answers.h"
#include "problem_list.h"
#include "winner_here.h"

struct pick {
    struct winner base;
    struct config config; /* template NULL: cuBLAS won */
    int gpu, source;      /* numbers */
    int32_t align, shared;
};

struct pick_source {
    bool predicted, cold;
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
};

struct picks {
    struct pick *list; /* by epilogue, GPU, type, op, m, n, k, batch, alignment, adds_to_c */
    size_t count;
    struct gpu *gpus; /* by name */
    int gpu_count;
    struct pick_source *sources;
    int source_count;
    size_t read;    /* winners that there were, and unknown: each is in list or left out */
    size_t instead; /* of them, predictions in whose place what answers was taken */
    size_t unknown; /* of them, problems that were asked for and have no winner; they are left out */
    struct left_out *left_out;
    size_t left_out_count;
};

/* A winner that is not in the header, or a problem without one (gpu: as it was asked for). */
struct left_out {
    char problem[PROBLEM_TEXT_MAX], gpu[GPU_NAME_MAX];
    char why[PROBLEM_TEXT_MAX + 100]; /* from the database, perhaps: any bytes */
    const char *kind;                 /* the same without what is this one's alone; NULL: why */
};

/* Why a problem that was asked for is left out, in headers and lists. */
#define NO_WINNER "the database has no winner"
/* What is counted, with such problems or without. */
#define WINNERS_TEXT(unknown) ((unknown) ? "winners and problems without one" : "winners")

struct pick_rules {
    bool measured_only;
    bool no_cublas; /* leave out what cuBLAS won */
};

/* Read the winners that filter lets through (problems: as problem_list_each); in place of a prediction that
 * does not answer, what does. Free them after an error, too. Errors: the database's, E_MEMORY.
 */
enum status picks_read(struct answers *answers, const struct db_filter *filter,
                       const struct problem_list *problems, const struct pick_rules *rules,
                       struct picks *picks);
void picks_free(struct picks *picks); /* takes a zeroed struct */

#endif
