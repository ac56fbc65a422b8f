#include "db_exchange.h"
#include "db_internal.h"

#include <stdlib.h>
#include <string.h>

#define DUMP_COLUMNS                                                                                         \
    "t.id, p.text, g.arch, c.template, c.kernel_hash, c.schema_hash, c.text, r.gpu_uuid, r.driver, "         \
    "r.nvrtc, "                                                                                              \
    "r.cublas, "                                                                                             \
    "r.power_limit_w, r.protocol, " DB_FIGURES_COLUMNS                                                       \
    ", t.started_us, t.ended_us, t.recovered_us, " DB_OUTCOME_COLUMNS

static void read_config(struct db *db, struct reader *r, struct db_full_trial *t)
{
    const int arch = read_int(r, "arch", 10, 9999);
    read_text(r, "template", t->template_name, sizeof t->template_name);
    struct reader hash = *r;
    t->kernel_hash = (uint64_t)read_long(&hash, "kernel_hash", INT64_MIN, INT64_MAX);
    t->current = db_read_config(db, r, &t->problem, arch, t->config_text, &t->config);
    if (!t->current) t->config = (struct config){.template = NULL};
}

static enum status read_trial(struct db *db, sqlite3_stmt *stmt, struct db_full_trial *t)
{
    struct reader r = read_start(stmt);
    char problem[PROBLEM_TEXT_MAX];
    int64_t id = read_long(&r, "id", 1, INT64_MAX);
    read_text(&r, "problem", problem, sizeof problem);
    if (problem_parse(problem, &t->problem) && !r.bad) r.bad = "problem";
    read_config(db, &r, t);
    read_text(&r, "gpu_uuid", t->context.gpu_uuid, sizeof t->context.gpu_uuid);
    read_text(&r, "driver", t->context.driver, sizeof t->context.driver);
    read_text(&r, "nvrtc", t->context.nvrtc, sizeof t->context.nvrtc);
    read_text(&r, "cublas", t->context.cublas, sizeof t->context.cublas);
    t->context.power_limit_w = read_real(&r, "power_limit_w", 0, 1e6);
    t->protocol = read_int(&r, "protocol", 0, INT32_MAX);
    db_read_figures(&r, &t->context.gpu);
    t->started_us = read_long(&r, "started_us", 0, DB_TIME_MAX);
    t->ended_us = read_long(&r, "ended_us", 0, DB_TIME_MAX);
    t->recovered = !read_is_null(&r) && read_long(&r, "recovered_us", 0, DB_TIME_MAX) >= 0;
    db_read_outcome(&r, &t->outcome);
    t->context.cold = t->outcome.cold;
    return r.bad ? db_broken(db, r.bad, id) : OK;
}

struct dump {
    bool (*visit)(void *self, const struct db_full_trial *trial);
    void *self;
};

static enum status dump_row(struct db *db, sqlite3_stmt *stmt, void *self, bool *more)
{
    const struct dump *dump = self;
    struct db_full_trial trial;
    enum status st = read_trial(db, stmt, &trial);
    if (!st) *more = dump->visit(dump->self, &trial);
    return st;
}

enum status db_dump(struct db *db, const struct db_filter *filter,
                    bool (*visit)(void *self, const struct db_full_trial *trial), void *self)
{
    struct dump dump = {visit, self};
    const struct db_list trials = {.sql = "SELECT " DUMP_COLUMNS " "
                                          "FROM trials t "
                                          "CROSS JOIN runs r ON r.id = t.run_id "
                                          "CROSS JOIN gpus g ON g.id = r.gpu_id "
                                          "CROSS JOIN gpu_figures f ON f.id = r.figures_id "
                                          "CROSS JOIN problems p ON p.id = t.problem_id "
                                          "CROSS JOIN configs c ON c.id = t.config_id "
                                          "WHERE t.gpu_id = ?1 AND (?2 = 0 OR t.problem_id = ?2) "
                                          "ORDER BY t.id",
                                   .what = "list trials",
                                   .row = dump_row,
                                   .self = &dump,
                                   .problem = 1};
    return db_list(db, filter, &trials);
}
