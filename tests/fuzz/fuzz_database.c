/* A database that was damaged (damage.h). However it looks: readers give what can be computed with or a
 * sentence; the library launches nothing unchecked; what a tuner stores in it is there afterwards or was
 * refused; merging it into another leaves that one whole. */
#include "ask.h"
#include "damage.h"
#include "db_exchange.h"
#include "fuzz_h200.h"
#include "template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char path[256], other_path[256];

static void check_outcome(const struct outcome *o)
{
    PROMISE((unsigned)o->verdict < VERDICT_COUNT && o->sample_count >= 0 &&
                o->sample_count <= OUTCOME_SAMPLES_MAX,
            "verdict %d, %d samples", (int)o->verdict, o->sample_count);
    PROMISE(memchr(o->detail, 0, sizeof o->detail), "a text does not end");
    PROMISE(isfinite(o->time_us) && o->time_us >= 0, "a time of %g", o->time_us);
    for (int i = 0; i < o->sample_count; i++)
        PROMISE(isfinite(o->samples_us[i]) && o->samples_us[i] >= 0, "a time of %g", o->samples_us[i]);
}

static bool see_winner(void *self, const struct db_winner *w)
{
    (void)self;
    PROMISE(problem_check(&w->base.problem) == OK, "%s", status_text());
    PROMISE(isfinite(w->base.time_us) && w->base.time_us >= 0 && isfinite(w->base.ratio) &&
                w->base.ratio >= 0,
            "%g us", w->base.time_us);
    PROMISE(memchr(w->config_text, 0, sizeof w->config_text) && memchr(w->gpu.name, 0, sizeof w->gpu.name),
            "a text does not end");
    if (w->unusable || !w->config.template) return true;
    const char *why = w->config.template->check(&w->config, &w->base.problem, &w->gpu);
    PROMISE(!why, "a winner that may be used, but %s", why);
    return true;
}

static bool see_trial(void *self, const struct db_trial *t)
{
    (void)self;
    check_outcome(&t->outcome);
    PROMISE(memchr(t->config_text, 0, sizeof t->config_text), "a text does not end");
    return true;
}

static bool see_full(void *self, const struct db_full_trial *t)
{
    (void)self;
    check_outcome(&t->outcome);
    PROMISE(problem_check(&t->problem) == OK, "%s", status_text());
    PROMISE(t->current == (t->config.template != NULL), "%s", t->config_text);
    PROMISE(t->context.gpu.sm_count >= 1 && t->context.gpu.threads_per_sm >= 1, "an impossible GPU");
    return true;
}

static bool see_gpu(void *self, const struct db_gpu *gpu)
{
    (void)self;
    PROMISE(memchr(gpu->gpu.name, 0, sizeof gpu->gpu.name) && gpu->gpu.sm_count >= 1, "an impossible GPU");
    return true;
}

/* Whatever the file is like, one of these. */
static enum status bearable(enum status st)
{
    PROMISE(st == OK || st == E_DB || st == E_ABSENT || st == E_BUSY || st == E_INPUT, "%d: %s", (int)st,
            status_text());
    PROMISE(!st || status_text()[0], "no sentence");
    return st;
}

static void read_all(struct db *db)
{
    const struct db_filter all = {.gpu = NULL};
    const struct problem p = problem_make(64, 128, 256);
    struct db_best best[8];
    struct db_counts counts;
    struct db_evidence evidence = {0};
    char findings[2048];
    bool clean;
    int count = 0;
    bearable(db_winners(db, &all, &damage_context, see_winner, NULL));
    bearable(db_trials(db, &all, see_trial, NULL));
    bearable(db_dump(db, &all, see_full, NULL));
    bearable(db_gpus(db, see_gpu, NULL));
    if (bearable(db_best(db, &damage_context, &p, best, 8, &count)) == OK)
        for (int i = 0; i < count; i++) {
            check_outcome(&best[i].outcome);
            PROMISE(outcome_usable(&best[i].outcome) && best[i].config.template, "the best is none");
        }
    if (bearable(db_evidence(db, 1, &evidence)) == OK)
        for (int i = 0; i < evidence.sample_count; i++)
            PROMISE(evidence.samples[i].runner >= -1 && evidence.samples[i].runner < evidence.runner_count,
                    "runner %d", evidence.samples[i].runner);
    db_evidence_free(&evidence);
    bearable(db_count(db, &counts));
    if (bearable(db_check(db, findings, sizeof findings, &clean)) == OK)
        PROMISE(clean || findings[0], "no finding");
}

/* A trial that is stored is found, or was refused with a sentence. */
static void tune(void)
{
    struct db *db = NULL;
    const struct problem p = problem_make(77, 88, 99);
    const struct config config = damage_config(7);
    const struct outcome outcome = damage_outcome(42);
    struct outcome found;
    int64_t run = 0, attempt = 0, count;
    bool stale = true;
    if (bearable(db_open(path, DB_WRITE, &db))) return;
    enum status st = bearable(db_recover(db, &count));
    if (!st) st = bearable(db_run_start(db, &damage_context, "tune", 9, &run));
    if (!st) st = bearable(db_attempt(db, run, &p, &config, &attempt));
    if (!st) st = bearable(db_record(db, attempt, &outcome));
    db_close(db);
    if (st) return;
    WORKS(db_open(path, DB_READ, &db));
    WORKS(db_find(db, &damage_context, &p, &config, &found, &stale));
    PROMISE(found.time_us == 42 && !stale, "another trial than was stored: %g us", found.time_us);
    db_close(db);
}

static void merge(void)
{
    struct db *db = NULL;
    struct db_merged merged;
    char findings[2048];
    bool clean;
    const char *const from[] = {path};
    damage_remove(other_path);
    WORKS(db_open(other_path, DB_WRITE, &db));
    const enum status st = bearable(db_merge(db, from, 1, &merged));
    WORKS(db_check(db, findings, sizeof findings, &clean));
    PROMISE(clean, "%s", findings);
    if (!st) fuzz_accept();
    db_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct notices quiet = {.quiet = true};
    struct db *db = NULL;
    struct winner_store store;
    const struct problem p = problem_make(64, 128, 256);
    snprintf(path, sizeof path, "%s/damaged.db", fuzz_folder());
    snprintf(other_path, sizeof other_path, "%s/other.db", fuzz_folder());
    damage(path, fuzz_text(data, size));
    WORKS(winner_store_open(&store, &fuzz_gpu, path, "", &quiet));
    ask(&store, &p);
    winner_store_close(&store);
    if (bearable(db_open(path, DB_READ, &db)) == OK) read_all(db);
    db_close(db);
    merge();
    tune();
    return 0;
}
