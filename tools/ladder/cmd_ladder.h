/* cmd_ladder.h — what the files of tune ladder share. */
#ifndef GT_CMD_LADDER_H
#define GT_CMD_LADDER_H

#include "children.h"
#include "config.h"
#include "outcome.h"
#include "problem.h"
#include "status.h"
#include "table.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- ladder_run.c ---- */

/* Times the rows of the ladder's table (the eight rungs and the tuned configuration): the
 * worker judges each like any candidate, then times it in blocks that alternate with cuBLAS, so that clock
 * drift affects both alike. Knows no options and no table.
 */

#define LADDER_ROWS_MAX 9

struct ladder_row {
    char name[32]; /* "naive" ... "warptiled"; "tuned", "best so far" or "model's best" */
    struct config config;
    struct build build;
    struct outcome outcome; /* of its trial */
    double time_us;         /* median of its blocks; 0 if it is not usable */
    double anchor_us;       /* median of cuBLAS's blocks beside them; 0 without cuBLAS */
};

struct ladder_run {
    struct problem problem;
    struct ladder_row row[LADDER_ROWS_MAX];
    int count;
    double anchor_us; /* cuBLAS: median of all its blocks; 0 without cuBLAS */
};

/* The rungs (only: NULL, or the name of one) with their default configurations. Errors: E_USAGE (lists the
 * names). */
enum status ladder_run_rungs(const char *only, struct ladder_run *run);

/* Add the configuration for this GPU that is known to be best: the database's measured winner, else the
 * fastest trial of an unfinished search, else what the model puts first (of the few that it likes best,
 * compiled here). The name says which. No database is no error; nothing is added if the space is empty.
 * Errors: E_DB, E_IO, E_INPUT, E_MEMORY, and those of the children. */
enum status ladder_run_add_tuned(struct children *children, const char *db_path, const struct gpu *gpu,
                                 const struct worker_info *worker, struct ladder_run *run);

/* Compile all rows for an architecture, in parallel. */
enum status ladder_run_build(struct children *children, int arch, struct ladder_run *run);

/* Run, judge and time all of them on worker 0. A row that fails is a row that says so. */
enum status ladder_run_measure(struct children *children, bool cold, struct ladder_run *run);

/* ---- ladder_show.c ---- */

/* The results of the ladder, as a table and as a plot. Measures nothing. */

/* What this GPU was measured to do at most. */
struct roofline {
    double tflops, gb_per_s;
};

/* Times of every row and of cuBLAS on stdout. cold: operands were rotated beyond the cache. */
enum status ladder_show(const struct ladder_run *runs, size_t count, const struct roofline *roofline,
                        const struct worker_info *worker, bool cold, enum table_format format);

/* What the compiler made of every row. */
enum status ladder_show_compiled(const struct ladder_run *runs, size_t count, const struct gpu *gpu,
                                 enum table_format format);

/* Speed, with that of cuBLAS as 1 where it was measured for every shape, else in TFLOPS: a row a shape; rungs
 * and roofline as series. */
enum status ladder_draw(const struct ladder_run *runs, size_t count, const struct roofline *roofline,
                        const char *gpu, const char *path);

#endif
