#include "db_internal.h"

#include <stdlib.h>

/* A row, unless it is left out. */
static enum status read_row(struct db *db, sqlite3_stmt *stmt, const struct db_list *list, bool *more)
{
    enum status st = list->row(db, stmt, list->self, more);
    if (st != E_DB || list->problem == DB_NO_PROBLEM ||
        !db_is_of_later_version(db, (const char *)sqlite3_column_text(stmt, list->problem)))
        return st;
    db->left_out = true;
    return OK;
}

static enum status list_gpu(struct db *db, const struct db_list *list, int64_t gpu_id, int64_t problem_id,
                            bool *more)
{
    struct binder b = db_bind(db, list->sql);
    bind_int(&b, gpu_id);
    bind_int(&b, problem_id);
    bool row;
    enum status st = OK;
    while (*more && !st && !(st = db_next(db, &b, &row, list->what)) && row)
        st = read_row(db, b.stmt, list, more);
    db_done(&b);
    return st;
}

enum status db_list(struct db *db, const struct db_filter *filter, const struct db_list *list)
{
    int64_t *gpus, problem_id;
    int count;
    bool more = true;
    enum status st = db_match(db, filter, &gpus, &count, &problem_id);
    for (int i = 0; !st && more && i < count; i++) st = list_gpu(db, list, gpus[i], problem_id, &more);
    free(gpus);
    return st;
}

/* Reads one trial of the list; its columns follow the statement below. */
static enum status read_trial(struct db *db, sqlite3_stmt *stmt, struct db_trial *trial)
{
    struct reader r = read_start(stmt);
    struct config config;
    char text[PROBLEM_TEXT_MAX];
    int64_t id = read_long(&r, "id", 1, INT64_MAX);
    trial->run_id = read_long(&r, "run_id", 1, INT64_MAX);
    read_text(&r, "GPU name", trial->gpu_name, sizeof trial->gpu_name);
    const int arch = read_int(&r, "arch", 10, 9999);
    read_text(&r, "problem", text, sizeof text);
    if (problem_parse(text, &trial->problem) && !r.bad) r.bad = "problem";
    trial->ended_us = read_long(&r, "ended_us", 0, DB_TIME_MAX);
    db_time_text(trial->ended_us, trial->when);
    trial->recovered = !read_is_null(&r) && read_long(&r, "recovered_us", 0, DB_TIME_MAX) >= 0;
    trial->current = db_read_config(db, &r, &trial->problem, arch, trial->config_text, &config);
    db_read_outcome(&r, &trial->outcome);
    return r.bad ? db_broken(db, r.bad, id) : OK;
}

struct listing {
    bool (*visit)(void *self, const struct db_trial *trial);
    void *self;
};

static enum status list_row(struct db *db, sqlite3_stmt *stmt, void *self, bool *more)
{
    const struct listing *listing = self;
    struct db_trial trial;
    enum status st = read_trial(db, stmt, &trial);
    if (!st) *more = listing->visit(listing->self, &trial);
    return st;
}

#define TRIAL_ROWS                                                                                           \
    "SELECT t.id, t.run_id, g.name, g.arch, p.text, t.ended_us, t.recovered_us, c.kernel_hash, "             \
    "c.schema_hash, c.text, " DB_OUTCOME_COLUMNS " "                                                         \
    "FROM trials t "                                                                                         \
    "CROSS JOIN gpus g ON g.id = t.gpu_id "                                                                  \
    "CROSS JOIN problems p ON p.id = t.problem_id "                                                          \
    "CROSS JOIN configs c ON c.id = t.config_id "
#define TRIAL_PROBLEM 4 /* column */
#define TRIAL_LIST    TRIAL_ROWS "WHERE t.gpu_id = ?1 AND (?2 = 0 OR t.problem_id = ?2) "

static enum status list_trials(struct db *db, const struct db_filter *filter, const char *sql,
                               bool (*visit)(void *self, const struct db_trial *trial), void *self)
{
    struct listing listing = {visit, self};
    const struct db_list trials = {
        .sql = sql, .what = "list trials", .row = list_row, .self = &listing, .problem = TRIAL_PROBLEM};
    return db_list(db, filter, &trials);
}

enum status db_trials(struct db *db, const struct db_filter *filter,
                      bool (*visit)(void *self, const struct db_trial *trial), void *self)
{
    return list_trials(db, filter, TRIAL_LIST "ORDER BY t.run_id DESC, t.ended_us, t.id", visit, self);
}

enum status db_newest_trials(struct db *db, const struct db_filter *filter,
                             bool (*visit)(void *self, const struct db_trial *trial), void *self)
{
    return list_trials(db, filter, TRIAL_LIST "ORDER BY t.ended_us DESC, t.id DESC", visit, self);
}

enum status db_run_trials(struct db *db, int64_t run_id,
                          bool (*visit)(void *self, const struct db_trial *trial), void *self)
{
    struct listing listing = {visit, self};
    const struct db_list trials = {.row = list_row, .self = &listing, .problem = TRIAL_PROBLEM};
    struct binder b = db_bind(db, TRIAL_ROWS "WHERE t.run_id = ?1 ORDER BY t.ended_us, t.id");
    bind_int(&b, run_id);
    bool row, more = true;
    enum status st = OK;
    while (more && !st && !(st = db_next(db, &b, &row, "list the trials of a run")) && row)
        st = read_row(db, b.stmt, &trials, &more);
    db_done(&b);
    return st;
}
