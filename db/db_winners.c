#include "db_exchange.h"
#include "db_internal.h"
#include "driver_version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- writing --- */

#define DECISION_VALUES                                                                                      \
    "(SELECT ?1 AS id, r.id AS run_id, r.gpu_id AS gpu_id, ?3 AS problem_id, ?4 AS config_id, "              \
    "r.hash AS run_hash, (SELECT hash FROM problems WHERE id = ?3) AS problem_hash, "                        \
    "(SELECT hash FROM configs WHERE id = ?4) AS config_hash, ?5 AS cold, ?6 AS decided_us, "                \
    "?7 AS predicted, ?8 AS tied, ?9 AS exact, ?10 AS time_us, ?22 AS rival, ?11 AS anchor_us, ?12 AS "      \
    "ratio, "                                                                                                \
    "?13 AS ratio_low, ?14 AS ratio_high, ?15 AS rounds, ?16 AS trials, ?17 AS legal_count, "                \
    "?18 AS model_rank, ?19 AS model_first16_share, ?20 AS registers, ?21 AS smem_bytes "                    \
    "FROM runs r WHERE r.id = ?2)"

static enum status insert_runners(struct db *db, int64_t decision, const struct problem *problem, int arch,
                                  const struct config *runners, int count)
{
    enum status st = OK;
    for (int i = 0; !st && i < count; i++) {
        int64_t config_id;
        if ((st = db_add_config(db, &runners[i], problem, arch, &config_id))) return st;
        struct binder b = db_bind(db, "INSERT INTO decision_runners (decision_id, runner, config_id) "
                                      "VALUES (?1, ?2, ?3)");
        bind_int(&b, decision);
        bind_int(&b, i);
        bind_int(&b, config_id);
        st = db_run(db, &b, NULL, "store a race");
    }
    return st;
}

static enum status insert_samples(struct db *db, int64_t decision, const struct db_race_sample *samples,
                                  int count)
{
    enum status st = OK;
    for (int i = 0; !st && i < count; i++) {
        struct binder b = db_bind(db, "INSERT INTO decision_samples (decision_id, position, runner, round, "
                                      "time_us, timing, joules, sm_clock_mhz, power_w, throttle_reasons) "
                                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
        bind_int(&b, decision);
        bind_int(&b, i);
        bind_int(&b, samples[i].runner);
        bind_int(&b, samples[i].round);
        bind_real(&b, samples[i].time_us);
        bind_int(&b, samples[i].timing);
        bind_finite(&b, samples[i].joules);
        bind_int(&b, samples[i].sm_clock_mhz);
        bind_finite(&b, samples[i].power_w);
        bind_int(&b, (int64_t)samples[i].throttle_reasons);
        st = db_run(db, &b, NULL, "store a race");
    }
    return st;
}

static enum status insert_error(struct db *db, int64_t decision, const char *who, const char *name,
                                double value)
{
    struct binder b =
        db_bind(db, "INSERT INTO decision_errors (decision_id, who, name, value) VALUES (?1, ?2, ?3, ?4)");
    bind_int(&b, decision);
    bind_text(&b, who);
    bind_text(&b, name);
    bind_real(&b, value);
    return db_run(db, &b, NULL, "store the errors of a product");
}

static enum status insert_errors(struct db *db, int64_t decision, const char *who, const struct db_errors *e)
{
    if (!e->measured) return OK;
    enum status st = insert_error(db, decision, who, "componentwise", e->componentwise);
    if (!st) st = insert_error(db, decision, who, "max", e->max);
    return st ? st : insert_error(db, decision, who, "rms", e->rms);
}

/* The names of accuracy_checked in the table of errors. A program that does not know them skips them. */
#define CHECKED "checked_"

static enum status insert_checked(struct db *db, int64_t decision, const struct accuracy_checked *c)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{CHECKED "kinds", c->kinds}, {CHECKED "bounded", c->bounded},
                {CHECKED "m", c->m},         {CHECKED "n", c->n},
                {CHECKED "k", c->k},         {CHECKED "rms", c->rms}};
    enum status st = OK;
    for (size_t i = 0; c->kinds > 0 && !st && i < sizeof rows / sizeof *rows; i++)
        st = insert_error(db, decision, "winner", rows[i].name, rows[i].value);
    return st;
}

static enum status insert_decision(struct db *db, int64_t run_id, int64_t decision, int64_t problem_id,
                                   int64_t config_id, const struct db_winner *w, int64_t decided_us,
                                   bool *added)
{
    struct binder b = db_bind(
        db,
        "INSERT INTO decisions (id, hash, run_id, gpu_id, problem_id, config_id, " DB_DECISION_CONTENT
        ", " DB_DECISION_GROWN ") "
        "SELECT id, content_hash(run_hash, problem_hash, config_hash, " DB_EVIDENCE ", " DB_DECISION_CONTENT
        "), run_id, gpu_id, problem_id, config_id, " DB_DECISION_CONTENT ", ?23, ?24, ?25, "
        "?26, ?27 FROM " DECISION_VALUES " x "
        "WHERE true "
        "ON CONFLICT (hash) DO NOTHING");
    bind_int(&b, decision);
    bind_int(&b, run_id);
    bind_int(&b, problem_id);
    if (config_id) bind_int(&b, config_id);
    else bind_null(&b);
    bind_int(&b, w->base.cold);
    bind_int(&b, decided_us);
    bind_int(&b, w->base.predicted);
    bind_int(&b, w->tied);
    bind_int(&b, w->base.exact);
    bind_finite(&b, w->base.time_us);
    bind_finite(&b, w->base.anchor_us);
    bind_finite(&b, w->base.ratio);
    bind_finite(&b, w->base.ratio_low);
    bind_finite(&b, w->base.ratio_high);
    bind_int(&b, w->rounds);
    bind_int(&b, w->trials);
    bind_int(&b, w->legal_count);
    bind_int(&b, w->model_rank);
    bind_finite(&b, w->model_first16_share);
    bind_int(&b, w->registers);
    bind_int(&b, w->smem_bytes);
    bind_text(&b, w->rival);
    bind_int(&b, w->pinned);
    bind_int(&b, w->timing);
    bind_int(&b, w->by_energy);
    bind_finite(&b, w->joules);
    bind_finite(&b, w->rival_joules);
    int64_t changes;
    enum status st = db_run(db, &b, &changes, "store a decision");
    *added = changes == 1;
    return st;
}

enum status db_add_decision(struct db *db, int64_t run_id, int64_t decision, int64_t problem_id,
                            int64_t config_id, const struct db_winner *w, int64_t decided_us, bool *added)
{
    const bool errors = w->errors.measured || w->rival_errors.measured || w->checked.kinds > 0;
    enum status st = errors ? db_exec(db, "SAVEPOINT decision", "store a decision") : OK;
    if (!st) st = insert_errors(db, decision, "winner", &w->errors);
    if (!st) st = insert_errors(db, decision, "rival", &w->rival_errors);
    if (!st) st = insert_checked(db, decision, &w->checked);
    if (!st) st = insert_decision(db, run_id, decision, problem_id, config_id, w, decided_us, added);
    if (st || !errors) return st;
    if (!*added) st = db_exec(db, "ROLLBACK TO decision", "store a decision");
    return st ? st : db_exec(db, "RELEASE decision", "store a decision");
}

enum status db_next_decision(struct db *db, int64_t *decision)
{
    struct binder b = db_bind(db, "SELECT coalesce(max(id), 0) + 1 FROM decisions");
    return db_integer(db, &b, decision, "number a decision");
}

enum status db_decision_continues(struct db *db, int64_t decision_id, const char *command, bool *same)
{
    int64_t found = 0;
    struct binder b = db_bind(db, "SELECT r.how IS NOT 'finished' AND r.command = ?2 AND NOT EXISTS "
                                  "(SELECT 1 FROM runs later WHERE later.id > r.id "
                                  "AND later.gpu_id = r.gpu_id AND later.command = ?2 "
                                  "AND later.how = 'finished') "
                                  "FROM decisions d "
                                  "JOIN runs r ON r.id = d.run_id "
                                  "WHERE d.id = ?1");
    bind_int(&b, decision_id);
    bind_text(&b, command);
    const enum status st = db_integer(db, &b, &found, "look for the run of a decision");
    *same = found != 0;
    return st;
}

/* A measured winner holds for this key: a prediction does not replace it. */
static enum status measured_stands(struct db *db, int64_t run_id, int64_t problem_id, bool cold,
                                   int64_t *stands)
{
    struct binder b = db_bind(db, "SELECT 1 "
                                  "FROM " DB_STANDING " w "
                                  "JOIN decisions d ON d.id = w.decision_id "
                                  "WHERE w.gpu_id = (SELECT gpu_id "
                                  "FROM runs "
                                  "WHERE id = ?1) AND w.problem_id = ?2 AND w.cold = ?3 AND NOT d.predicted");
    bind_int(&b, run_id);
    bind_int(&b, problem_id);
    bind_int(&b, cold);
    return db_integer(db, &b, stands, "look for a winner");
}

/* The evidence is stored before the decision, whose hash covers it; foreign keys are checked at commit. */
static enum status store_winner(struct db *db, int64_t run_id, const struct db_winner *w,
                                const struct config *runners, int runner_count,
                                const struct db_race_sample *samples, int sample_count)
{
    int64_t problem_id, config_id = 0, stands = 0, decision;
    int arch;
    bool added;
    enum status st = db_run_arch(db, run_id, &arch);
    if (!st) st = db_add_problem(db, &w->base.problem, &problem_id);
    if (!st && w->base.predicted && !w->pinned)
        st = measured_stands(db, run_id, problem_id, w->base.cold, &stands);
    if (st || stands) return st;
    if (w->config.template && (st = db_add_config(db, &w->config, &w->base.problem, arch, &config_id)))
        return st;
    if ((st = db_next_decision(db, &decision))) return st;
    if ((st = insert_runners(db, decision, &w->base.problem, arch, runners, runner_count))) return st;
    if ((st = insert_samples(db, decision, samples, sample_count))) return st;
    if ((st = db_add_decision(db, run_id, decision, problem_id, config_id, w, db_now_us(), &added)))
        return st;
    if (!added) return fail(E_ABSENT, "there is no run %lld in %s", (long long)run_id, db->path);
    if (w->pinned) return db_pin_decision(db, decision);
    bool may;
    if (w->base.predicted)
        return db_challenge(db, decision, &may); /* a refuted measurement stays in its place */
    if ((st = db_may_win(db, decision, &may)) || !may) return st;
    return db_point_to(db, decision);
}

enum status db_set_winner(struct db *db, int64_t run_id, const struct db_winner *winner,
                          const struct config *runners, int runner_count,
                          const struct db_race_sample *samples, int sample_count)
{
    enum status st = db_begin(db);
    if (st) return st;
    return db_end(db, store_winner(db, run_id, winner, runners, runner_count, samples, sample_count));
}

/* --- reading --- */

static void judge_config(struct db *db, struct reader *r, struct db_winner *w)
{
    if (read_is_null(r)) { /* no configuration: cuBLAS won */
        r->next += 2;
        snprintf(w->config_text, sizeof w->config_text, "cublas");
        return;
    }
    struct config config = {0};
    bool current = db_read_config(db, r, &w->base.problem, w->gpu.arch, w->config_text, &config);
    if (r->bad) return;
    const char *why = NULL;
    if (!config.template) {
        /* config_parse gave the reason: unknown template, unknown parameter, value out of range. */
        snprintf(w->why, sizeof w->why, "%.190s", status_text());
    } else if (!current) {
        snprintf(w->why, sizeof w->why, "the kernel template %s has changed since", config.template->name);
    } else if ((why = config.template->check(&config, &w->base.problem, &w->gpu))) {
        snprintf(w->why, sizeof w->why, "its rules refuse it: %.160s", why);
    }
    w->unusable = w->why[0] != '\0';
    if (!w->unusable) w->config = config;
}

/* Why it is stale; "": it is not. restored: it stands in for a newer decision that is refuted. */
static void judge_age(const struct db_winner *w, double power_limit_w, int64_t protocol, bool restored,
                      const struct db_context *now, char *why, size_t room)
{
    if (restored) snprintf(why, room, "a winner that was preferred to it has failed since");
    else if (protocol == DB_PROTOCOL_IMPORTED) snprintf(why, room, "imported: it was not raced here");
    else if (protocol != DB_PROTOCOL)
        snprintf(why, room, "measured by protocol %lld, now it is %d", (long long)protocol, DB_PROTOCOL);
    else if (now && driver_differs(w->driver, now->driver))
        snprintf(why, room, "measured with driver %.60s, now it is %.60s", w->driver, now->driver);
    else if (now && db_differ(w->cublas, now->cublas))
        snprintf(why, room, "raced against cuBLAS %.60s, now it is %.60s", w->cublas, now->cublas);
    else if (now && power_limit_w > 0 && now->power_limit_w > 0 && power_limit_w != now->power_limit_w)
        snprintf(why, room, "measured at a power limit of %.0f W, now it is %.0f W", power_limit_w,
                 now->power_limit_w);
}

/* What is due. A prediction depends on its kernel alone. */
static void judge_due(struct db_winner *w, double power_limit_w, int64_t protocol, bool restored,
                      const struct db_context *now)
{
    char why[sizeof w->why] = "";
    if (w->unusable) w->due = DUE_TUNE;
    if (w->base.predicted) return;
    if (now && !gpu_same_name(now->gpu.name, w->gpu.name))
        now = NULL; /* the versions of another GPU's run do not matter */
    judge_age(w, power_limit_w, protocol, restored, now, why, sizeof why);
    w->stale = why[0] != '\0' || (now && w->unusable);
    if (w->unusable) return;
    if (why[0]) w->due = restored || !w->config.template ? DUE_TUNE : DUE_RACE; /* no kernel is known */
    if (now && w->due < DUE_TUNE && db_differ(w->nvrtc, now->nvrtc)) {
        w->due = DUE_BUILD;
        snprintf(why, sizeof why, "compiled with NVRTC %.60s, now it is %.60s", w->nvrtc, now->nvrtc);
    }
    snprintf(w->why, sizeof w->why, "%s", why);
}

#define RATIO_MAX 1e6

static void read_numbers(struct reader *r, struct db_winner *w)
{
    w->base.cold = read_bool(r, "cold");
    db_time_text(read_long(r, "decided_us", 0, DB_TIME_MAX), w->base.when);
    w->base.predicted = read_bool(r, "predicted");
    w->tied = read_bool(r, "tied");
    w->base.exact = read_bool(r, "exact");
    w->base.time_us = read_time_us(r, "time_us");
    read_text(r, "rival", w->rival, sizeof w->rival);
    w->base.anchor_us = read_time_us(r, "anchor_us");
    w->base.ratio = read_real(r, "ratio", 0, RATIO_MAX);
    w->base.ratio_low = read_real(r, "ratio_low", 0, RATIO_MAX);
    w->base.ratio_high = read_real(r, "ratio_high", 0, RATIO_MAX);
    w->rounds = read_int(r, "rounds", 0, 1 << 20);
    w->trials = read_int(r, "trials", 0, INT_MAX);
    w->legal_count = read_long(r, "legal_count", 0, INT64_MAX);
    w->model_rank = read_int(r, "model_rank", 0, INT_MAX);
    w->model_first16_share = read_real(r, "model_first16_share", 0, RATIO_MAX);
    w->registers = read_int(r, "registers", 0, 1 << 20);
    w->smem_bytes = read_int(r, "smem_bytes", 0, INT_MAX);
    w->pinned = read_bool(r, "pinned");
    w->timing = db_read_timing(r);
    w->by_energy = read_bool(r, "objective");
    w->joules = read_real(r, "joules", 0, DB_JOULES_MAX);
    w->rival_joules = read_real(r, "rival_joules", 0, DB_JOULES_MAX);
    w->pin_holds = read_bool(r, "pin");
}

/* A name that only a later program knows is none. */
static void set_error(struct db_errors *e, const char *name, double value)
{
    double *const at = strcmp(name, "componentwise") == 0 ? &e->componentwise
                       : strcmp(name, "max") == 0         ? &e->max
                       : strcmp(name, "rms") == 0         ? &e->rms
                                                          : NULL;
    if (!at) return;
    e->measured = true;
    *at = value;
}

static void set_checked(struct accuracy_checked *c, const char *name, double value)
{
    static const struct {
        const char *name;
        size_t offset;
    } counts[] = {{"kinds", offsetof(struct accuracy_checked, kinds)},
                  {"bounded", offsetof(struct accuracy_checked, bounded)},
                  {"m", offsetof(struct accuracy_checked, m)},
                  {"n", offsetof(struct accuracy_checked, n)},
                  {"k", offsetof(struct accuracy_checked, k)}};
    if (strncmp(name, CHECKED, strlen(CHECKED)) != 0) return;
    name += strlen(CHECKED);
    if (strcmp(name, "rms") == 0) c->rms = value;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(name, counts[i].name) == 0 && value <= INT32_MAX)
            *(int *)((char *)c + counts[i].offset) = (int)value;
}

enum status db_read_errors(struct db *db, int64_t decision, struct db_errors *winner, struct db_errors *rival,
                           struct accuracy_checked *checked)
{
    struct binder b = db_bind(db, "SELECT who, name, value FROM decision_errors WHERE decision_id = ?1");
    bind_int(&b, decision);
    enum status st = OK;
    bool row;
    while (!(st = db_next(db, &b, &row, "read the errors of a product")) && row) {
        char who[16], name[DB_TEXT_MAX];
        struct reader r = read_start(b.stmt);
        read_text(&r, "who", who, sizeof who);
        read_text(&r, "name of an error", name, sizeof name);
        const double value = read_real(&r, "error", 0, INFINITY);
        if (r.bad && (st = db_broken(db, r.bad, decision))) break;
        const bool own = strcmp(who, "winner") == 0;
        set_error(own ? winner : rival, name, value);
        if (own) set_checked(checked, name, value);
    }
    db_done(&b);
    return st;
}

struct accuracy db_errors_accuracy(const struct db_errors *e)
{
    return e->measured ? (struct accuracy){e->componentwise, e->rms, e->max} : accuracy_unknown();
}

/* A prediction makes no claim about errors. */
static void judge_errors(struct db_winner *w)
{
    const struct accuracy own = db_errors_accuracy(&w->errors), rival = db_errors_accuracy(&w->rival_errors);
    if (!w->config.template || w->base.predicted ||
        accuracy_answers(gemm_type_row(w->base.problem.type), &own, &rival))
        return;
    snprintf(w->why, sizeof w->why, "nothing shows that it is as accurate as %s demands",
             gemm_type_row(w->base.problem.type)->name);
    w->unusable = true;
    w->config.template = NULL;
}

/* Columns: those of WINNER_COLUMNS. */
static enum status read_winner(struct db *db, sqlite3_stmt *stmt, const struct db_context *now,
                               struct db_winner *w)
{
    char problem[PROBLEM_TEXT_MAX];
    struct reader r = read_start(stmt);
    memset(w, 0, sizeof *w);
    w->decision_id = read_long(&r, "decision_id", 1, INT64_MAX);
    read_text(&r, "problem", problem, sizeof problem);
    if (problem_parse(problem, &w->base.problem) && !r.bad) r.bad = "problem";
    const bool restored = read_bool(&r, "decision_id");
    read_text(&r, "gpu_uuid", w->gpu_uuid, sizeof w->gpu_uuid);
    read_text(&r, "driver", w->driver, sizeof w->driver);
    read_text(&r, "nvrtc", w->nvrtc, sizeof w->nvrtc);
    read_text(&r, "cublas", w->cublas, sizeof w->cublas);
    double power = read_real(&r, "power_limit_w", 0, 1e6);
    int64_t protocol = read_long(&r, "protocol", 0, INT32_MAX);
    db_read_figures(&r, &w->gpu);
    read_numbers(&r, w);
    if (!r.bad) judge_config(db, &r, w);
    if (r.bad) return db_broken(db, r.bad, w->decision_id);
    const enum status st = db_read_errors(db, w->decision_id, &w->errors, &w->rival_errors, &w->checked);
    w->imported = protocol == DB_PROTOCOL_IMPORTED;
    judge_errors(w);
    judge_due(w, power, protocol, restored, now);
    return st;
}

#define WINNER_COLUMNS                                                                                       \
    "d.id, p.text, d.id <> w.chosen_id, r.gpu_uuid, r.driver, r.nvrtc, r.cublas, r.power_limit_w, "          \
    "r.protocol, " DB_FIGURES_COLUMNS ", d.cold, d.decided_us, d.predicted, d.tied, d.exact, d.time_us, "    \
    "d.rival, d.anchor_us, d.ratio, d.ratio_low, "                                                           \
    "d.ratio_high, d.rounds, d.trials, d.legal_count, d.model_rank, d.model_first16_share, d.registers, "    \
    "d.smem_bytes, d.pinned, d.timing, d.objective, d.joules, d.rival_joules, ifnull(c.text = " DB_PINNED    \
    ", 0), c.kernel_hash, c.schema_hash, c.text"

struct winner_list {
    const struct db_context *now;
    bool (*visit)(void *self, const struct db_winner *winner);
    void *self;
    bool measured, stopped; /* one was measured; visit has returned false */
};

static enum status list_row(struct db *db, sqlite3_stmt *stmt, void *self, bool *more)
{
    struct winner_list *list = self;
    struct db_winner winner;
    enum status st = read_winner(db, stmt, list->now, &winner);
    if (st) return st;
    list->measured |= !winner.base.predicted;
    *more = list->visit(list->self, &winner);
    list->stopped = !*more;
    return OK;
}

#define WINNER_LIST(winners)                                                                                 \
    "SELECT " WINNER_COLUMNS " "                                                                             \
    "FROM " winners " w "                                                                                    \
    "CROSS JOIN decisions d ON d.id = w.decision_id "                                                        \
    "JOIN problems p ON p.id = w.problem_id "                                                                \
    "JOIN runs r ON r.id = d.run_id "                                                                        \
    "JOIN gpus g ON g.id = w.gpu_id "                                                                        \
    "JOIN gpu_figures f ON f.id = r.figures_id "                                                             \
    "LEFT JOIN configs c ON c.id = d.config_id "                                                             \
    "WHERE w.gpu_id = ?1 AND w.problem_id BETWEEN ?2 AND iif(?2 = 0, 9223372036854775807, ?2) "              \
    "ORDER BY w.problem_id, w.cold"

static enum status list_winners(struct db *db, const struct db_filter *filter, const char *sql,
                                struct winner_list *list)
{
    const struct db_list winners = {
        .sql = sql, .what = "list winners", .row = list_row, .self = list, .problem = 1};
    return db_list(db, filter, &winners);
}

enum status db_winners(struct db *db, const struct db_filter *filter, const struct db_context *now,
                       bool (*visit)(void *self, const struct db_winner *winner), void *self)
{
    static const char hot_first[] = WINNER_LIST(DB_STANDING);
    static const char cold_first[] = WINNER_LIST(DB_STANDING) " DESC";
    const char *const sql = now && !now->cold ? hot_first : cold_first;
    struct winner_list list = {.now = now, .visit = visit, .self = self};
    enum status st = list_winners(db, filter, sql, &list);
    if (st || !filter->problem || !filter->alike || list.measured) return st;
    struct problem alike[DB_ALIKE_MAX];
    int count;
    st = db_problems_alike(db, filter->problem, alike, &count);
    for (int i = 0; !st && !list.stopped && i < count; i++) {
        const struct db_filter its = {.gpu = filter->gpu, .problem = &alike[i]};
        st = list_winners(db, &its, sql, &list);
    }
    return st;
}

enum status db_failed_winners(struct db *db, const struct db_filter *filter,
                              bool (*visit)(void *self, const struct db_winner *winner), void *self)
{
    static const char failed[] =
        WINNER_LIST("(SELECT s.gpu_id, s.problem_id, s.cold, s.chosen_id AS decision_id, s.chosen_id "
                    "FROM " DB_STANDING " s WHERE s.decision_id IS NULL)");
    struct winner_list list = {.visit = visit, .self = self};
    return list_winners(db, filter, failed, &list);
}

enum status db_decisions(struct db *db, const struct db_filter *filter,
                         bool (*visit)(void *self, const struct db_winner *decision), void *self)
{
    static const char all[] = WINNER_LIST("(SELECT gpu_id, problem_id, cold, id AS decision_id, id AS "
                                          "chosen_id FROM decisions)") ", d.decided_us, d.id";
    struct winner_list list = {.visit = visit, .self = self};
    return list_winners(db, filter, all, &list);
}

enum status db_decision_command(struct db *db, int64_t decision_id, char *command, size_t room)
{
    struct binder b = db_bind(
        db,
        "SELECT substr(r.command, 1, ?2) FROM decisions d JOIN runs r ON r.id = d.run_id WHERE d.id = ?1");
    bind_int(&b, decision_id);
    bind_int(&b, (int64_t)room / 4 - 1); /* characters have at most four bytes */
    bool row;
    enum status st = db_next(db, &b, &row, "look for the run of a decision");
    if (!st && row) {
        struct reader r = read_start(b.stmt);
        read_text(&r, "command", command, room);
        if (r.bad) st = db_broken(db, r.bad, decision_id);
    }
    db_done(&b);
    return st    ? st
           : row ? OK
                 : fail(E_ABSENT, "there is no decision %lld in %s", (long long)decision_id, db->path);
}
