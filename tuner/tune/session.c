#include "session.h"

#include "budget.h"
#include "clock.h"
#include "job.h"
#include "print.h"
#include "run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one GPU ---- */

static enum status open_gpu(struct run *run, int i)
{
    struct session *s = run->s;
    struct gpu_worker *gpu = &run->gpu[i];
    const struct worker_info *info = children_worker(s->children, s->workers[i]);
    gpu->run = run;
    gpu->number = s->workers[i];
    struct db_context *c = &gpu->context;
    c->gpu = info->gpu;
    c->cold = s->options->cold;
    c->power_limit_w = info->power_limit_w;
    snprintf(c->gpu_uuid, sizeof c->gpu_uuid, "%s", info->uuid);
    snprintf(c->driver, sizeof c->driver, "%s", info->driver);
    snprintf(c->cublas, sizeof c->cublas, "%s", info->cublas);
    snprintf(c->nvrtc, sizeof c->nvrtc, "%s", children_nvrtc(s->children));
    return db_run_start(s->db, c, s->options->command, s->options->seed, &gpu->run_id);
}

static bool any_works(const struct run *run)
{
    bool any = false;
    for (int i = 0; i < run->gpus; i++) any |= run->gpu[i].now || run->gpu[i].opening;
    return any;
}

/* One slice after the other. A GPU without work waits: the problem of another may come back. All threads end
 * together, since the children that a thread has started anew would end with it (pool_share). */
static void *work(void *self)
{
    struct gpu_worker *gpu = self;
    struct run *run = gpu->run;
    pthread_mutex_lock(&run->lock);
    enum status st = deal_next(gpu);
    while (!st && (gpu->now || any_works(run))) {
        st = gpu->now ? tune_slice(gpu) : run_wait(run);
        if (!st && gpu->now) settle_slice(gpu);
        if (st) run_fail(run, st); /* others stop now, and what is being opened is of no use */
        ahead_await(gpu);
        if (!st) st = deal_next(gpu);
    }
    if (st) run_fail(run, st);
    ahead_end(gpu);
    run->threads--;
    pthread_cond_broadcast(&run->changed);
    while (run->threads > 0) pthread_cond_wait(&run->changed, &run->lock);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* The first GPU's thread is ours. */
static enum status work_on_all(struct run *run)
{
    int started = 1;
    enum status st = OK;
    pthread_mutex_lock(&run->lock);
    children_share(run->s->children, &run->lock);
    while (started < run->gpus && !st) {
        if (pthread_create(&run->gpu[started].thread, NULL, work, &run->gpu[started]))
            st = fail(E_MEMORY, "cannot start a thread for each of %d GPUs", run->gpus);
        else started++;
    }
    if (st) run_fail(run, st);
    run->threads = st ? started - 1 : started;
    pthread_mutex_unlock(&run->lock);
    if (!st) work(&run->gpu[0]);
    for (int i = 1; i < started; i++) pthread_join(run->gpu[i].thread, NULL);
    children_share(run->s->children, NULL);
    return run->failed ? fail(run->failed, "%s", run->sentence) : OK;
}

/* ---- the whole ---- */

static enum status open_run(struct run *run)
{
    struct session *s = run->s;
    const struct tune_options *o = s->options;
    const size_t problems = o->problem_count;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    run->budget_s =
        o->budget_s > 0 ? o->budget_s : BUDGET_DEFAULT_S * ceil((double)problems / fmax(1, s->worker_count));
    run->end_s = s->began_s + run->budget_s;
    run->even_s = budget_share(run->budget_s, (int)problems, s->worker_count);
    run->beside_s = SLICE_FIRST_S; /* until it is known */
    run->gpu = calloc((size_t)s->worker_count, sizeof *run->gpu);
    run->problem = calloc(problems, sizeof *run->problem);
    if (!run->gpu || !run->problem) return fail(E_MEMORY, "out of memory for the run");
    for (size_t i = 0; i < problems; i++) run->problem[i].history.worth = o->weights ? o->weights[i] : 1;
    int64_t recovered = 0;
    bool alike = true;
    enum status st = builds_open(&run->builds);
    if (!st) st = report_open((int)problems, s->worker_count, &run->report);
    if (!st) st = db_recover(s->db, &recovered);
    if (!st && recovered)
        report_say(run->report, "%lld attempt%s of an earlier run never ended, which counts as a crash each",
                   (long long)recovered, PRINT_S(recovered));
    for (int i = 0; i < s->worker_count && !st; i++) {
        run->gpus = i + 1;
        st = open_gpu(run, i);
        alike &= run_same_model(&run->gpu[0].context.gpu, &run->gpu[i].context.gpu);
    }
    run->slices =
        !st && !o->refresh && alike && slices_fit(run->even_s, problems, s->worker_count, o->weights);
    for (size_t i = 0; i < problems; i++) {
        s->results[i].winner.base.problem = o->problems[i];
        if (run->gpus == 1) /* its row may be that of a problem never begun */
            s->results[i].winner.gpu = run->gpu[0].context.gpu;
    }
    return st;
}

/* Problems wait, and no GPU is left to work on them. */
static enum status check_deserted(const struct run *run)
{
    bool waiting = false;
    for (size_t i = 0; i < run->s->options->problem_count; i++)
        waiting |= run->problem[i].standing == WAITING;
    const char *why = "";
    for (int i = 0; i < run->gpus; i++)
        if (run->gpu[i].gone) why = run->gpu[i].why;
    if (!waiting || run_gpus_alive(run) > 0) return OK;
    return fail(E_GPU, "no GPU is left to work on: %s", why);
}

/* Problems under way when the run had to end keep what they found. */
static void keep_unfinished(struct run *run, enum status st)
{
    for (int i = 0; i < run->gpus; i++) {
        struct job *job = run->gpu[i].now;
        if (!job) continue;
        struct job_result *result = &run->s->results[job->at];
        run->s->trials += job->result.trials;
        if (run->problem[job->at].history.spent_s <= 0) {
            *result = job->result;
            job_best(job, &result->winner);
            result->how = st == E_INTERRUPTED ? JOB_INTERRUPTED : JOB_FRUITLESS;
            if (!*result->why) snprintf(result->why, sizeof result->why, "the run ended");
        }
        job_close(job);
    }
}

static void close_run(struct run *run, enum status st)
{
    struct session *s = run->s;
    for (int i = 0; i < run->gpus; i++) {
        json_decref(run->gpu[i].answer);
        if (run->gpu[i].run_id)
            db_run_end(s->db, run->gpu[i].run_id,
                       st == OK              ? "finished"
                       : st == E_INTERRUPTED ? "interrupted"
                                             : "error");
    }
    for (size_t i = 0; run->problem && i < s->options->problem_count; i++) job_close(run->problem[i].resting);
    s->seconds = now_s() - s->began_s;
    if (run->report) s->busy_share = report_busy_share(run->report);
    report_close(run->report);
    builds_close(run->builds);
    free(run->gpu);
    free(run->problem);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
}

enum status session_run(struct session *s)
{
    struct run run = {.s = s};
    const size_t problems = s->options->problem_count;
    enum status st = open_run(&run);
    if (!st) st = work_on_all(&run);
    if (!st && run.stopping) st = fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    if (!st) st = check_deserted(&run);
    for (size_t i = 0; !st && i < problems; i++) /* the time is over */
        if (run.problem[i].standing == WAITING && run.problem[i].history.spent_s > 0) run_settle(&run, i);
    if (run.left_out)
        report_say(run.report,
                   "the budget of %.3g s was too short for %zu problem%s, of which %d %s not begun; the same "
                   "command goes on",
                   run.budget_s, problems, PRINT_S(problems), run.left_out,
                   run.left_out == 1 ? "was" : "were");
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    keep_unfinished(&run, st);
    close_run(&run, st);
    return st ? fail(st, "%s", sentence) : OK;
}
