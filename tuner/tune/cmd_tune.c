/* cmd_tune.c — the main job, as a straight line: options, GPUs, database, session (or prediction), table. */
#include "cmd_tune.h"

#include "clock.h"
#include "field.h"
#include "paths.h"
#include "predict.h"
#include "preferred.h"
#include "print.h"
#include "report.h"
#include "results.h"
#include "session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_gpu(const struct gpu *here, const char *wanted, const struct gpu *described)
{
    return gpu_fits(here, wanted) || (described && gpu_same_name(here->name, described->name));
}

/* The GPUs to work on: of this machine, or none and a description to predict for. */
struct where {
    struct children *children;
    int workers[CHILDREN_WORKERS_MAX];
    int count;
    struct gpu described;
    bool predict;
};

static enum status start_children(const struct tune_options *o, const int *devices, int device_count,
                                  struct children **children)
{
    struct children_options options = {
        .cache = o->cache, .compilers = o->compilers, .devices = devices, .device_count = device_count};
    return children_open(&options, children);
}

/* GPUs of this machine, by number. */
static enum status use_present(const struct tune_options *o, struct where *where)
{
    enum status st = start_children(o, o->devices, o->device_count, &where->children);
    if (st == E_GPU)
        return fail(E_GPU, "%s; to predict for a GPU that is elsewhere, name it: --gpu h200", status_text());
    if (st) return st;
    where->count = children_workers(where->children);
    for (int i = 0; i < where->count; i++) where->workers[i] = i;
    return OK;
}

static void say_absent(const char *gpu)
{
    char line[GPU_NAME_MAX + 100];
    snprintf(line, sizeof line, "no %s here (tune doctor says more): times are predicted, not measured", gpu);
    print_wrapped(stderr, 0, print_columns(stderr), line);
}

/* A GPU by name: measured if it is here, predicted from its description if it is not. */
static enum status use_named(const struct tune_options *o, struct where *where)
{
    char folder[TUNE_PATH_MAX];
    enum status known = paths_configs("gpus", folder, sizeof folder);
    if (!known) known = gpu_choose(folder, o->gpu, &where->described);
    char unknown[512];
    snprintf(unknown, sizeof unknown, "%s", status_text());

    enum status st = start_children(o, o->devices, o->gpus_given ? o->device_count : CHILDREN_ALL_DEVICES,
                                    &where->children);
    if (st && st != E_GPU) return st;
    for (int i = 0; !st && i < children_workers(where->children); i++) {
        const struct gpu *here = &children_worker(where->children, i)->gpu;
        bool wanted = same_gpu(here, o->gpu, known == OK ? &where->described : NULL);
        if (wanted && (o->gpus_given || where->count == 0)) where->workers[where->count++] = i;
        else children_give_up(where->children, i, "not asked for");
    }
    if (where->count > 0) return OK;
    if (known) return fail(known == E_ABSENT ? E_INPUT : known, "%s", unknown);
    say_absent(where->described.name);
    children_close(where->children);
    where->children = NULL;
    where->predict = true;
    return start_children(o, NULL, 0, &where->children);
}

/* The GPU of the i-th worker, and whether one before it is of the same model. */
static const struct gpu *gpu_at(const struct where *where, int i, bool *again)
{
    const struct gpu *gpu = &children_worker(where->children, where->workers[i])->gpu;
    *again = false;
    for (int j = 0; j < i && !*again; j++) {
        const struct gpu *other = &children_worker(where->children, where->workers[j])->gpu;
        *again = strcmp(gpu->name, other->name) == 0 && gpu->sm_count == other->sm_count;
    }
    return gpu;
}

/* The one problem is tuned on one of them: the others would not get the pin. */
static enum status check_models(const struct tune_options *o, const struct where *where)
{
    for (int i = 1; o->pin.template && i < where->count; i++) {
        bool again;
        const struct gpu *gpu = gpu_at(where, i, &again);
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
            const struct gpu *gpu = gpu_at(where, i, &again);
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

enum status cmd_tune(int argc, char **argv)
{
    struct session session = {.began_s = now_s()};
    struct tune_options options = {0};
    struct where where = {0};
    struct space *space = NULL;

    enum status st = tune_options_parse(argc, argv, &options);
    if (st) return st;
    session.options = &options;
    session.results = calloc(options.problem_count, sizeof *session.results);
    if (!session.results) st = fail(E_MEMORY, "out of memory for %zu problems", options.problem_count);

    if (!st) st = field_space(options.space, &space);
    if (!st) st = db_open(options.db, DB_WRITE, &session.db);
    if (!st) st = options.gpu ? use_named(&options, &where) : use_present(&options, &where);
    if (!st) st = take_preferences(&options, session.db, &where);
    if (st) goto out;

    session.space = space;
    session.children = where.children;
    session.workers = where.workers;
    session.worker_count = where.count;
    st = where.predict ? predict_run(&session, &where.described) : session_run(&session);

    /* Results are printed however the run ended. */
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    say_end(&session, where.predict);
    enum status printed = results_print(session.results, options.problem_count, options.format);
    if (st) fail(st, "%s", sentence);
    else st = printed ? printed : judge_results(&session);
out:
    children_close(where.children);
    db_close(session.db);
    space_free(space);
    free(session.results);
    tune_options_free(&options);
    return st;
}
