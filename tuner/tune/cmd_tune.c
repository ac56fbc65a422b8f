/* cmd_tune.c — the main job, as a straight line: options, GPUs, database, session (or prediction), table. */
#include "cmd_tune.h"

#include "clock.h"
#include "field.h"
#include "keep.h"
#include "predict.h"
#include "preferred.h"
#include "print.h"
#include "report.h"
#include "results.h"
#include "session.h"
#include "where.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_PATIENCE_S 900.0

/* The one problem is tuned on one of them: the others would not get the pin. */
static enum status check_models(const struct tune_options *o, const struct where *where)
{
    for (int i = 1; o->pin.template && i < where->count; i++) {
        bool again;
        const struct gpu *gpu = where_gpu(where, i, &again);
        if (again) continue;
        return fail(E_INPUT,
                    "--pin is for one model of GPU, and GPU %d (%.60s, %d SMs) is of another than the first: "
                    "choose with --gpus",
                    children_worker(where->children, where->workers[i])->device, gpu->name, gpu->sm_count);
    }
    return OK;
}

/* All GPUs are judged before anything is stored. */
static enum status take_preferences(const struct tune_options *o, struct db *db, const struct where *where)
{
    enum status st = check_models(o, where);
    for (int pass = 0; pass < 2 && !st; pass++) {
        enum status (*take)(const struct tune_options *, struct db *, const struct gpu *) =
            pass ? preferred_store : preferred_check;
        if (where->predict) st = take(o, db, &where->described);
        for (int i = 0; i < where->count && !st; i++) {
            bool again;
            const struct gpu *gpu = where_gpu(where, i, &again);
            if (!again) st = take(o, db, gpu);
        }
    }
    return st;
}

static void say_end(const struct session *s, bool predicted)
{
    char took[32], busy[64] = "", line[256];
    format_duration(s->seconds, took);
    if (!predicted)
        snprintf(busy, sizeof busy, "; GPU busy %.0f %% of the time after the start", 100 * s->busy_share);
    snprintf(line, sizeof line, "%zu trial%s and %zu kernel%s compiled in %s%s", s->trials,
             PRINT_S(s->trials), s->kernels, PRINT_S(s->kernels), took, busy);
    print_wrapped(stderr, 0, print_columns(stderr), line);
}

/* A problem without a winner is worth an exit code of its own, after all else has been printed. */
static enum status judge_results(const struct session *s)
{
    size_t without = 0, count = s->options->problem_count;
    const struct job_result *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (s->results[i].how == JOB_TUNED || s->results[i].how == JOB_KNOWN) continue;
        if (!first) first = &s->results[i];
        without++;
    }
    if (!without) return OK;
    return fail(E_ABSENT, "%zu of %zu problem%s without a winner; the first: %s", without, count,
                PRINT_S(count), first->why);
}

static struct keep_state state_of(const struct session *s)
{
    struct keep_state state = {.trials = s->trials};
    for (size_t i = 0; i < s->options->problem_count; i++) {
        const struct job_result *r = &s->results[i];
        const bool won = r->how == JOB_TUNED || r->how == JOB_KNOWN || r->how == JOB_KEPT;
        state.done += won;
        state.known += r->how == JOB_KNOWN;
        state.without += r->how == JOB_FRUITLESS;
        state.left_out += r->how == JOB_RUNNING || r->left_out;
    }
    if (s->children && s->worker_count)
        state.boost_mhz = children_worker(s->children, s->workers[0])->gpu.clock_mhz;
    return state;
}

/* A shard of a list that has fewer problems than shards. */
static enum status nothing_to_do(struct session *s)
{
    const struct tune_options *o = s->options;
    enum status st = keep_end(s->keep, &(struct keep_state){0}, OK);
    if (st) return st;
    print_line(stderr, "shard %d/%d has none of the problems: nothing to do", o->shard.number,
               o->shard.count);
    return results_print(s->results, 0, o->format);
}

/* A merge of many shards locks the file for minutes, and what it holds may save hours. */
static enum status open_known(const char *path, struct db **known)
{
    const char *const usual = db_choose;
    const double began_s = now_s();
    bool said = false;
    enum status st;
    db_choose = " with --known";
    while ((st = db_open(path, DB_READ, known)) == E_BUSY && now_s() - began_s < KNOWN_PATIENCE_S) {
        if (!said) print_line(stderr, "%s is locked by another process: waiting for it", path);
        said = true;
        sleep(1);
    }
    db_choose = usual;
    char why[DB_LACKING_MAX];
    if (!st && db_lacks_log(*known, why)) print_line(stderr, "tune: %s may lack results: %s", path, why);
    return st;
}

enum status (*cmd_tune_page)(const struct session *session, bool live);

enum status cmd_tune(int argc, char **argv)
{
    struct session session = {.began_s = now_s()};
    struct tune_options options = {0};
    struct where where = {0};
    struct space *space = NULL;

    enum status st = tune_options_parse(argc, argv, &options);
    if (st) return st;
    session.options = &options;
    session.results = calloc(options.problem_count + 1, sizeof *session.results);
    if (!session.results) st = fail(E_MEMORY, "out of memory for %zu problems", options.problem_count);

    if (!st && (options.own_count == 0 || options.with_ours)) st = field_space(options.space, &space);
    if (!st) st = field_own_space(options.own, options.own_count, &space);
    if (!st && options.known) st = open_known(options.known, &session.known);
    if (!st) st = keep_open(&options, &session.db, &session.keep);
    if (!st && options.problem_count == 0) {
        st = nothing_to_do(&session);
        goto out;
    }
    if (!st) st = where_open(&options, &where);
    if (!st) st = take_preferences(&options, session.db, &where);
    if (st) {
        st = keep_end(session.keep, &(struct keep_state){0}, st);
        goto out;
    }

    session.space = space;
    session.children = where.children;
    session.workers = where.workers;
    session.worker_count = where.count;
    session.write_page = options.report ? cmd_tune_page : NULL;
    st = where.predict ? predict_run(&session, &where.described) : session_run(&session);

    /* Results are printed however the run ended. */
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    say_end(&session, where.predict);
    enum status printed = results_print(session.results, options.problem_count, options.format);
    if (session.write_page && !printed) printed = session.write_page(&session, false);
    if (st) fail(st, "%s", sentence);
    const struct keep_state state = state_of(&session);
    st = keep_end(session.keep, &state, st);
    if (!st) st = printed ? printed : judge_results(&session);
out:
    children_close(where.children);
    keep_close(session.keep);
    db_close(session.known);
    st = db_finish(session.db, st);
    space_free(space);
    free(session.results);
    tune_options_free(&options);
    return st;
}
