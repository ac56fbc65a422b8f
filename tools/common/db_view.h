/* db_view.h — what the commands that read the database share: which file, which GPU, what counts as stale
 * now.
 */
#ifndef GT_DB_VIEW_H
#define GT_DB_VIEW_H

#include "db.h"
#include "problem_list.h"
#include "table.h"
#include <limits.h>

struct db_view {
    const char *file;         /* --db; NULL: the default */
    const char *gpu;          /* --gpu; NULL: all */
    enum table_format format; /* --format */

    /* after db_view_open */
    struct db *db;
    char path[PATH_MAX];
    char gpu_name[GPU_NAME_MAX]; /* what --gpu stands for, if it is not the name itself */
    struct db_filter filter;     /* gpu as above; the problem is the command's */
    struct db_context now;       /* driver of this machine's GPU; its name is "" if there is none */
    bool empty; /* after E_ABSENT: there is no such file, or nothing in it of this machine's GPU, so that what
                   others measured may still answer (answers.h); db is NULL, or open */
};

/* Open the database read-only and find out what --gpu means: a GPU of this machine by its number, or "this";
 * of the GPUs in the database the one that fits. Errors: those of db_open; E_ABSENT when nothing was measured
 * on this machine's GPU into the database, or several fit; E_GPU when this machine has none. */
enum status db_view_open(struct db_view *view);
/* Completes `now` by the versions of NVRTC and cuBLAS, which are opened for it; nothing without a GPU here.
 */
void db_view_versions(struct db_view *view);
void db_view_close(struct db_view *view); /* takes a zeroed struct */

/* "no ... for GPU 'x' in FILE; it knows: ..." as E_ABSENT. what: "configuration". problems: those that were
 * asked for; empty: all. */
enum status db_view_nothing(struct db_view *view, const char *what, const struct problem_list *problems);

/* A shape as people write it: the usual type and op are left out. Returns a place in text. */
const char *reading_shape(const struct problem *problem, char text[PROBLEM_TEXT_MAX]);

/* Bytes of device memory that a winner takes beside its operands; NAN for cuBLAS and for what cannot be used.
 */
double reading_workspace(const struct db_winner *winner);

/* What is known of the errors of a winner of an accuracy class; nothing of others. */
struct accuracy_claim reading_claim(const struct db_winner *winner);

/* The configuration of a winner for people (config_brief), or its text where it cannot be used. Buffer of
 * CONFIG_TEXT_MAX bytes. */
void reading_brief(const struct db_winner *winner, char *text);

#endif
