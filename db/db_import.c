#include "db_exchange.h"
#include "db_internal.h"

#include <math.h>
#include <string.h>

#define DAY_US INT64_C(86400000000)

enum status db_import_start(struct db *db)
{
    return db_begin(db);
}

enum status db_import_end(struct db *db, enum status st)
{
    return db_end(db, st);
}

static bool within(double x, double most)
{
    return x >= 0 && x <= most;
}

/* us: time of one call. */
static enum status check_time(const char *what, double us)
{
    if (us == 0 || (us >= DB_CALL_US_LEAST && us <= DB_CALL_US_MAX)) return OK;
    return fail(E_INPUT, "%s of %g us: a call takes from %g to %g us", what, us, DB_CALL_US_LEAST,
                DB_CALL_US_MAX);
}

/* Refuses values that the reader would refuse. */
static enum status check_context(const struct db_context *c, int64_t time_us)
{
    const struct gpu *g = &c->gpu;
    const int least_one[] = {g->sm_count,         g->threads_per_sm,    g->blocks_per_sm,
                             g->registers_per_sm, g->smem_per_sm_bytes, g->smem_per_block_bytes};
    bool good = g->name[0] && g->arch >= 10 && g->arch <= 9999 && g->smem_reserved_bytes >= 0;
    for (size_t i = 0; i < sizeof least_one / sizeof *least_one; i++)
        good = good && least_one[i] >= 1 && least_one[i] <= (i < 3 ? 1 << 16 : i == 3 ? 1 << 26 : 1 << 28);
    good = good && g->smem_reserved_bytes <= 1 << 28 && g->l2_bytes >= 0 && g->l2_bytes <= INT64_C(1) << 50 &&
           g->memory_bytes >= 0 && g->memory_bytes <= INT64_C(1) << 60;
    good = good && within(g->clock_mhz, 1e6) && within(g->memory_gb_per_s, 1e9);
    for (int i = 0; i < GPU_RATES_MAX; i++) good = good && within(g->rate[i].value, 1e9);
    if (!good) return fail(E_INPUT, "the figures of GPU '%.40s' are impossible", g->name);
    if (!within(c->power_limit_w, 1e6)) return fail(E_INPUT, "a power limit of %g W", c->power_limit_w);
    if (time_us < 0 || time_us > DB_TIME_MAX) return fail(E_INPUT, "a time outside the years 1970 to 9999");
    return OK;
}

/* One run per day, GPU and set of versions, with the same content whenever and wherever it is imported. */
static enum status add_run(struct db *db, const struct db_context *context, int64_t time_us, int64_t *run_id)
{
    const struct db_run_row row = {.context = context,
                                   .protocol = DB_PROTOCOL_IMPORTED,
                                   .command = "tune import",
                                   .started_us = time_us / DAY_US * DAY_US};
    enum status st = db_add_run(db, &row, run_id);
    if (st) return st;
    struct binder b = db_bind(db, "UPDATE runs SET ended_us = started_us, how = 'imported' "
                                  "WHERE id = ?1 AND how IS NULL");
    bind_int(&b, *run_id);
    return db_run(db, &b, NULL, "store the run");
}

static enum status check_winner(const struct db_winner *w)
{
    const double ratios[] = {w->base.ratio, w->base.ratio_low, w->base.ratio_high, w->model_first16_share};
    bool good = w->rounds >= 0 && w->rounds <= 1 << 20 && w->trials >= 0 && w->legal_count >= 0 &&
                w->model_rank >= 0 && w->registers >= 0 && w->registers <= 1 << 20 && w->smem_bytes >= 0;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) good = good && within(ratios[i], 1e6);
    enum status st = check_time("a time", w->base.time_us);
    if (!st) st = check_time("a time of cuBLAS", w->base.anchor_us);
    if (st) return st;
    const struct db_errors *errors[] = {&w->errors, &w->rival_errors};
    for (int i = 0; i < 2; i++)
        good = good && (!errors[i]->measured ||
                        (errors[i]->componentwise >= 0 && errors[i]->rms >= 0 && errors[i]->max >= 0));
    return good && w->base.time_us > 0 ? OK : fail(E_INPUT, "a winner with an impossible figure");
}

enum status db_import_winner(struct db *db, const struct db_winner *w, int64_t decided_us, bool *added,
                             bool *won)
{
    struct db_context context = {.gpu = w->gpu, .cold = w->base.cold};
    int64_t run_id, problem_id, config_id = 0, decision;
    *added = *won = false;
    memcpy(context.gpu_uuid, w->gpu_uuid, sizeof context.gpu_uuid);
    memcpy(context.driver, w->driver, sizeof context.driver);
    memcpy(context.nvrtc, w->nvrtc, sizeof context.nvrtc);
    memcpy(context.cublas, w->cublas, sizeof context.cublas);
    enum status st = check_context(&context, decided_us);
    if (!st) st = check_winner(w);
    if (!st) st = add_run(db, &context, decided_us, &run_id);
    if (!st) st = db_add_problem(db, &w->base.problem, &problem_id);
    if (!st && w->config.template)
        st = db_add_config(db, &w->config, &w->base.problem, w->gpu.arch, &config_id);
    if (!st) st = db_next_decision(db, &decision);
    if (!st) st = db_add_decision(db, run_id, decision, problem_id, config_id, w, decided_us, added);
    if (!st && *added) st = db_challenge(db, decision, won);
    return st;
}

#define IMPORTED_VALUES                                                                                      \
    "(SELECT r.id AS run_id, r.gpu_id AS gpu_id, p.id AS problem_id, c.id AS config_id, r.hash AS "          \
    "run_hash, "                                                                                             \
    "p.hash AS problem_hash, c.hash AS config_hash, r.cold AS cold, ?5 AS started_us, ?6 AS ended_us, "      \
    "?7 AS recovered_us, ?8 AS verdict, ?9 AS detail, ?10 AS registers, ?11 AS spill_bytes, "                \
    "?12 AS static_smem_bytes, ?13 AS cubin_bytes, ?14 AS compile_ms, ?15 AS time_us, ?16 AS samples_us, "   \
    "?17 AS worst_error, ?18 AS exact, ?19 AS sm_clock_mhz, ?20 AS memory_clock_mhz, ?21 AS power_w, "       \
    "?22 AS temperature_c, ?23 AS throttle_reasons, ?24 AS wall_ms "                                         \
    "FROM runs r, problems p, configs c WHERE r.id = ?2 AND p.id = ?3 AND c.id = ?4)"

static enum status check_outcome(const struct outcome *o)
{
    const struct kernel_facts *f = &o->facts;
    const struct gpu_state *s = &o->state;
    bool good = within(o->wall_ms, 1e12) && within(f->compile_ms, 1e12) &&
                (isnan(o->worst_error) || o->worst_error >= 0);
    good = good && f->registers >= 0 && f->registers <= 1 << 20 && f->spill_bytes >= 0 &&
           f->static_smem_bytes >= 0 && f->cubin_bytes >= 0;
    good = good && s->sm_clock_mhz >= 0 && s->sm_clock_mhz <= 1 << 20 && s->memory_clock_mhz >= 0 &&
           s->memory_clock_mhz <= 1 << 20 && within(s->power_w, 1e6) && s->temperature_c >= -300 &&
           s->temperature_c <= 100000;
    if (good && outcome_usable(o)) good = o->time_us > 0;
    enum status st = check_time("a time", o->time_us);
    for (int i = 0; !st && i < o->sample_count; i++) st = check_time("a sample", o->samples_us[i]);
    if (st) return st;
    return good ? OK : fail(E_INPUT, "a trial with an impossible figure");
}

enum status db_import_trial(struct db *db, const struct db_full_trial *t, bool *added)
{
    struct db_context context = t->context;
    int64_t run_id, problem_id, config_id, id, changes;
    *added = false;
    context.cold = t->outcome.cold;
    enum status st = check_context(&context, t->started_us);
    if (!st && (t->ended_us < t->started_us || t->ended_us > DB_TIME_MAX))
        st = fail(E_INPUT, "a trial that ended before it began");
    if (!st) st = check_outcome(&t->outcome);
    if (!st) st = add_run(db, &context, t->started_us, &run_id);
    if (!st) st = db_add_problem(db, &t->problem, &problem_id);
    if (!st) st = db_add_config(db, &t->config, &t->problem, context.gpu.arch, &config_id);
    if (!st) st = db_free_trial_id(db, &id);
    if (st) return st;
    struct binder b = db_bind(
        db, "INSERT INTO trials (id, hash, run_id, gpu_id, problem_id, config_id, " DB_TRIAL_CONTENT ") "
            "SELECT ?1, content_hash(run_hash, problem_hash, config_hash, " DB_TRIAL_CONTENT
            "), run_id, gpu_id, problem_id, config_id, " DB_TRIAL_CONTENT " "
            "FROM " IMPORTED_VALUES " "
            "WHERE true "
            "ON CONFLICT (hash) DO NOTHING");
    bind_int(&b, id);
    bind_int(&b, run_id);
    bind_int(&b, problem_id);
    bind_int(&b, config_id);
    bind_int(&b, t->started_us);
    bind_int(&b, t->ended_us);
    if (t->recovered) bind_int(&b, t->ended_us);
    else bind_null(&b);
    db_bind_outcome(&b, &t->outcome);
    if ((st = db_run(db, &b, &changes, "store a trial"))) return st;
    *added = changes == 1;
    return *added ? db_used_trial_ids(db, id) : OK;
}
