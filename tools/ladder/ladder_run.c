#include "cmd_ladder.h"

#include "db.h"
#include "fastest.h"
#include "field.h"
#include "ladder.h"
#include "model.h"
#include "space.h"
#include "stats.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_DEADLINE_S                                                                                     \
    300.0 /* the naive rung takes half a second a call on the square, and is judged by many calls */
#define BLOCK_DEADLINE_S 60.0
#define BLOCK_MS         50.0
#define BLOCKS           7 /* of each row, each with one of cuBLAS before it */
#define WARM_S           30.0
#define SEED             1
#define MODEL_FIRST      8 /* compiled to see which of them spill */

static struct ladder_row *ladder_row_add(struct ladder_run *run, const char *name,
                                         const struct config *config)
{
    struct ladder_row *row = &run->row[run->count++];
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->config = *config;
    return row;
}

/* "warptiled" of "ladder_warptiled". */
static const char *short_name(const struct template *rung)
{
    return rung->name + strlen("ladder_");
}

enum status ladder_run_rungs(const char *only, struct ladder_run *run)
{
    const struct template *wanted = only ? ladder_find(only) : NULL;
    run->count = 0;
    char list[256];
    size_t used = 0;
    for (int i = 0; i < LADDER_RUNGS; i++) {
        const struct template *rung = ladder_rungs[i];
        if (used < sizeof list)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", short_name(rung));
        if (only && rung != wanted) continue;
        struct config config;
        ladder_config(rung, &config);
        ladder_row_add(run, short_name(rung), &config);
    }
    if (run->count > 0) return OK;
    return fail(E_USAGE, "the ladder has no rung '%s'; its rungs are %s", only, list);
}

/* What the database knows to be best. E_ABSENT: nothing, or there is no database. */
static enum status from_database(const char *path, const struct worker_info *worker,
                                 const struct problem *problem, struct config *config, const char **name)
{
    char by_default[4096];
    enum status st = path ? OK : db_default_path(by_default, sizeof by_default);
    struct db *db = NULL;
    struct fastest fastest;
    if (!st) st = db_open(path ? path : by_default, DB_READ, &db);
    if (!st) st = fastest_find(db, NULL, worker, true, problem, &fastest);
    if (!st) {
        *config = fastest.config;
        *name = fastest.how;
    }
    db_close(db);
    return st;
}

/* The best of the model's first few. Registers and spills are known only from the compiler. E_ABSENT: none
 * can run. */
static enum status from_model(struct children *children, const struct gpu *gpu, const struct problem *problem,
                              struct config *config)
{
    struct space *space = NULL;
    struct field field = {0};
    struct kernel_key kernels[MODEL_FIRST];
    struct build builds[MODEL_FIRST];
    int count = 0, best = -1;
    double best_us = 0;
    enum status st = field_space("", &space);
    if (!st) st = field_open(space, problem, gpu, WORKSPACE_DEFAULT, false, &field);
    if (st) goto out;
    count = field.count < MODEL_FIRST ? (int)field.count : MODEL_FIRST;
    for (int i = 0; i < count; i++) kernels[i] = kernel_key_of(&field.config[i], problem, gpu->arch);
    st = children_build_all(children, kernels, count, builds);
    if (st) goto out;
    for (int i = 0; i < count; i++) {
        if (!builds[i].built || builds[i].facts.spill_bytes > 0) continue;
        double t = model_predict(&field.config[i], problem, gpu, &builds[i].facts).time_us;
        if (best >= 0 && t >= best_us) continue;
        best = i;
        best_us = t;
    }
    if (best < 0) st = E_ABSENT;
    else *config = field.config[best];
out:
    field_close(&field);
    space_free(space);
    return st;
}

enum status ladder_run_add_tuned(struct children *children, const char *db_path, const struct gpu *gpu,
                                 const struct worker_info *worker, struct ladder_run *run)
{
    struct config config;
    const char *name = "model's best";
    enum status st = from_database(db_path, worker, &run->problem, &config, &name);
    if (st == E_ABSENT) st = from_model(children, gpu, &run->problem, &config);
    if (!st) ladder_row_add(run, name, &config);
    return st == E_ABSENT ? OK : st;
}

enum status ladder_run_build(struct children *children, int arch, struct ladder_run *run)
{
    struct kernel_key kernels[LADDER_ROWS_MAX];
    struct build builds[LADDER_ROWS_MAX];
    for (int i = 0; i < run->count; i++) kernels[i] = kernel_key_of(&run->row[i].config, &run->problem, arch);
    enum status st = children_build_all(children, kernels, run->count, builds);
    for (int i = 0; i < run->count && !st; i++) run->row[i].build = builds[i];
    return st;
}

static enum status prepare(struct children *children, bool cold, const struct problem *problem,
                           double *anchor_us)
{
    json_t *answer = NULL;
    enum status st = children_ask(children, 0, request_prepare(problem, cold, SEED, WARM_S, 0),
                                  CHILDREN_PREPARE_S, &answer);
    if (!st) *anchor_us = json_number_value(json_object_get(answer, "anchor_us"));
    json_decref(answer);
    return st;
}

/* One block's mean time of a call. */
static enum status block(struct children *children, json_t *request, double *time_us)
{
    json_t *answer = NULL;
    enum status st = children_ask(children, 0, request, BLOCK_DEADLINE_S, &answer);
    if (!st) *time_us = json_number_value(json_object_get(answer, "time_us"));
    json_decref(answer);
    return st;
}

static enum status time_row(struct children *children, struct ladder_row *row, bool anchor)
{
    double own[BLOCKS], rival[BLOCKS];
    enum status st = OK;
    for (int i = 0; i < BLOCKS && !st; i++) {
        if (anchor) st = block(children, request_anchor_block(BLOCK_MS), &rival[i]);
        if (!st) st = block(children, request_block(&row->config, &row->build, BLOCK_MS), &own[i]);
    }
    if (st) return st;
    row->time_us = stats_median(own, BLOCKS);
    row->anchor_us = anchor ? stats_median(rival, BLOCKS) : 0;
    return OK;
}

static enum status try_row(struct children *children, struct ladder_row *row, bool anchor)
{
    json_t *answer = NULL;
    enum status st =
        children_ask(children, 0, request_trial(&row->config, &row->build, 0, 0), TRIAL_DEADLINE_S, &answer);
    if (!st) st = outcome_from_json(json_object_get(answer, "outcome"), &row->outcome);
    json_decref(answer);
    if (!st && outcome_usable(&row->outcome)) st = time_row(children, row, anchor);
    return st;
}

enum status ladder_run_measure(struct children *children, bool cold, struct ladder_run *run)
{
    double anchors[LADDER_ROWS_MAX], anchor_us = 0;
    int anchored = 0;
    enum status st = prepare(children, cold, &run->problem, &anchor_us);
    run->anchor_us = anchor_us;
    for (int i = 0; i < run->count && !st; i++) {
        struct ladder_row *row = &run->row[i];
        if (!row->build.built) {
            row->outcome = outcome_failed(row->build.verdict, "%s", row->build.detail);
            continue;
        }
        st = try_row(children, row, anchor_us > 0);
        if (st == E_CHILD) { /* the worker died of it and has been restarted: a row that says so */
            row->outcome = outcome_failed(VERDICT_CRASHED, "%s", status_text());
            row->time_us = 0;
            st = prepare(children, cold, &run->problem, &anchor_us);
        }
        row->outcome.facts = row->build.facts;
        if (row->time_us > 0 && row->anchor_us > 0) anchors[anchored++] = row->anchor_us;
    }
    if (!st && anchored > 0) run->anchor_us = stats_median(anchors, (size_t)anchored);
    return st;
}
