/* field.h — the candidates of one problem on one GPU: the legal space ranked by the model, and what is known
 * of each. Of a space too large to list (space.h) a sample, which grows when the search asks for neighbours.
 *
 * Combines space, model, search and database; sends nothing to child processes.
 */
#ifndef GT_FIELD_H
#define GT_FIELD_H

#include "db.h"
#include "search.h"
#include "space.h"
#include <stddef.h>
#include <stdint.h>

struct sample;

struct field {
    struct config *config; /* best predicted first */
    double *predicted_us;
    double *time_us;       /* 0: untried; INFINITY: tried and unusable; else what was measured */
    uint8_t *crashes;      /* and hangs, in this job: in trials, races and checks */
    uint8_t *screened_out; /* 1: right, but dropped by the screen, or divides k (field_defer_divided); not a
                            * finalist while others are */
    size_t count, room;
    char nothing[256]; /* why the space has no candidate; "": it has some */
    size_t library;    /* algorithms of NVIDIA's library, which no search knows: they lie behind the room */
    double raw_count;  /* combinations that the space spans */
    double legal;      /* candidates that the space has; about, if these are a sample */
    struct sample
        *sample; /* NULL: they are all; else those that are asked for come in at the end, unranked */
};

/* The space to search. name: "" or "curated" are the files that ship, one a family, with what was found worth
 * trying; "wide" those of the folder configs/spaces/wide, with what is possible; a folder of such files; or a
 * file. Errors: as space_load and space_load_all; E_INPUT for an unknown name (lists the known); E_IO where
 * the folder of those that ship is not found. */
enum status field_space(const char *name, struct space **space);

/* The values of own kernels' descriptions, behind what *space has, if it is not NULL. Errors: E_INPUT,
 * E_MEMORY. */
enum status field_own_space(const struct template *const *own, int count, struct space **space);

/* or_library: nothing in the space may be legal, for the library may have something. Errors: as
 * space_enumerate, E_MEMORY. */
enum status field_open(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                       int64_t workspace_bytes, bool or_library, struct field *field);
/* Of these configurations alone, which are legal and no algorithms of the library; there may be none. Errors:
 * E_MEMORY. */
enum status field_open_few(const struct config *configs, size_t count, const struct problem *problem,
                           const struct gpu *gpu, struct field *field);
void field_close(struct field *field); /* takes a zeroed struct */

/* Before anything has been told of it: leave this configuration alone, be it a candidate or not; or drop it
 * (Errors: E_MEMORY). */
void field_leave(struct field *field, const struct config *config, const struct problem *problem,
                 const struct gpu *gpu);
enum status field_drop(struct field *field, const struct config *config);

/* The growth of the field for a search over it, once its order is final; NULL: the field is complete. */
const struct growth *field_growth(struct field *field);

/* An algorithm of NVIDIA's library joins the candidates. *index: where; it lies there already if it was added
 * before. False: there is no room for more. */
#define FIELD_LIBRARY_MAX 32
bool field_add_library(struct field *field, const struct config *config, const struct problem *problem,
                       const struct gpu *gpu, size_t *index);
static inline bool field_is_library(const struct field *field, size_t index)
{
    return index >= field->room;
}

/* Finds the index of a configuration. False: it is no candidate. */
bool field_find(const struct field *field, const struct config *config, size_t *index);

/* The index of a configuration that is not in a sample, added if the space has it; NEIGHBOURS_NONE: it has
 * not, or this is no sample. */
size_t field_reach(struct field *field, const struct config *config);

/* The same of all launches of a kernel. Errors: E_MEMORY. */
enum status field_reach_launches(struct field *field, const struct config *config);

/* A note for the user on a sample. */
void field_note(const struct field *field, char text[256]);

/* The place of a candidate in the model's order, from 1 on; 0: it has none (the library's). */
size_t field_rank(const struct field *field, size_t index);

/* Outcomes of earlier runs. */
struct recalled {
    size_t usable, failed, stale; /* stale: of those, made with another driver */
    size_t interrupted;           /* crashed or hung once: to be tried again */
};

/* Tell field and search (NULL: the field alone) what the database knows, of all candidates or of one. */
enum status field_recall(struct field *field, struct db *db, const struct db_context *context,
                         const struct problem *problem, struct search *search, struct recalled *recalled);
enum status field_recall_one(struct field *field, size_t index, struct db *db,
                             const struct db_context *context, const struct problem *problem,
                             struct search *search, struct recalled *recalled);

void field_tell(struct field *field, size_t index, const struct outcome *outcome);

/* The best usable ones, fastest first; returns how many (at most room). */
int field_best(const struct field *field, size_t *index, int room);

/* Are parts of k added apart, by blocks or by warps? */
bool field_divides_k(const struct config *config);

/* Candidates that divide k are no finalists while others are: their sums are not accurate enough. */
void field_defer_divided(struct field *field);

/* The best time of the model's first n over the best of all tried: 1 when the model put it there. 0: nothing
 * known. */
double field_model_share(const struct field *field, size_t n, double winner_us);

#endif
