#include "db_internal.h"

#include <stdlib.h>

/* Reads one trial of the list; its columns follow the statement below. */
static enum status read_trial(struct db *db, sqlite3_stmt *stmt, struct db_trial *trial)
{
    struct reader r = read_start(stmt);
    struct config config;
    struct problem problem;
    char text[PROBLEM_TEXT_MAX];
    int64_t id = read_long(&r, "id", 1, INT64_MAX);
    trial->run_id = read_long(&r, "run_id", 1, INT64_MAX);
    read_text(&r, "GPU name", trial->gpu_name, sizeof trial->gpu_name);
    const int arch = read_int(&r, "arch", 10, 9999);
    read_text(&r, "problem", text, sizeof text);
    if (problem_parse(text, &problem) && !r.bad) r.bad = "problem";
    db_time_text(read_long(&r, "ended_us", 0, DB_TIME_MAX), trial->when);
    trial->recovered = !read_is_null(&r) && read_long(&r, "recovered_us", 0, DB_TIME_MAX) >= 0;
    trial->current = db_read_config(db, &r, &problem, arch, trial->config_text, &config);
    db_read_outcome(&r, &trial->outcome);
    return r.bad ? db_broken(db, r.bad, id) : OK;
}

static enum status list_trials(struct db *db, int64_t gpu_id, int64_t problem_id,
                               bool (*visit)(void *self, const struct db_trial *trial), void *self,
                               bool *more)
{
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(
        db,
        "SELECT t.id, t.run_id, g.name, g.arch, p.text, t.ended_us, t.recovered_us, c.kernel_hash, "
        "c.schema_hash, c.text, " DB_OUTCOME_COLUMNS " "
        "FROM trials t "
        "CROSS JOIN gpus g ON g.id = t.gpu_id "
        "CROSS JOIN problems p ON p.id = t.problem_id "
        "CROSS JOIN configs c ON c.id = t.config_id "
        "WHERE t.gpu_id = ?1 AND (?2 = 0 OR t.problem_id = ?2) "
        "ORDER BY t.run_id DESC, t.ended_us, t.id",
        &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_int(&b, gpu_id);
    bind_int(&b, problem_id);
    bool row;
    while (*more && !(st = db_step(db, stmt, &row, "list trials")) && row) {
        struct db_trial trial;
        if ((st = read_trial(db, stmt, &trial))) break;
        *more = visit(self, &trial);
    }
    sqlite3_reset(stmt);
    return st;
}

enum status db_trials(struct db *db, const struct db_filter *filter,
                      bool (*visit)(void *self, const struct db_trial *trial), void *self)
{
    int64_t *gpus, problem_id;
    int count;
    bool more = true;
    enum status st = db_match(db, filter, &gpus, &count, &problem_id);
    for (int i = 0; !st && more && i < count; i++)
        st = list_trials(db, gpus[i], problem_id, visit, self, &more);
    free(gpus);
    return st;
}
