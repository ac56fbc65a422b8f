/* wait.c — how the threads of a run wait for the children: whichever comes first polls, and the others sleep
 * until it has taken an event. With one GPU that is a loop over children_wait.
 */
#include "clock.h"
#include "job.h"
#include "keep.h"
#include "run.h"
#include <stdio.h>
#include <string.h>

#define TICK_S 0.2

/* A page costs the run at most a twentieth of its time. */
#define PAGE_EVERY_S 5.0
#define PAGE_TIMES   20.0

/* The job that the compilers serve first or, further, second: the one that is measured now and the one that
 * comes next; when the search of the first would be over before a kernel is compiled, the other way round. */
static const struct job *served(const struct gpu_worker *gpu, bool further)
{
    const struct job *next = gpu->next ? gpu->next->resting : NULL;
    const bool late = next && gpu->now && !gpu->run->stopping && job_compiles_too_late(gpu->now);
    return further == late ? gpu->now : next;
}

static enum status feed_compilers(struct run *run)
{
    struct children *children = run->s->children;
    for (int turn = 0; turn < (run->stopping ? 1 : 2); turn++)
        for (int i = 0; i < run->gpus; i++) {
            const struct job *job = served(&run->gpu[i], turn == 1);
            struct built *built;
            while (job && children_idle_compilers(children) > 0 && (built = job_wants(job))) {
                const enum status st = children_compile(children, &built->kernel, built);
                if (st) return st == E_BUSY ? OK : st;
                builds_ask(built);
            }
        }
    return OK;
}

/* Problems that have a winner, or never will. */
static int answered(const struct run *run)
{
    int count = run->ended;
    for (size_t i = 0; i < run->s->options->problem_count; i++)
        count += run->problem[i].standing != ENDED && run->problem[i].history.spent_s > 0;
    return count;
}

static void show_progress(const struct run *run)
{
    struct progress progress[CHILDREN_WORKERS_MAX];
    int count = 0;
    for (int i = 0; i < run->gpus; i++)
        if (run->gpu[i].now) job_progress(run->gpu[i].now, &progress[count++]);
    if (count) report_progress(run->report, progress, count, answered(run), run_left_s(run), false);
}

/* Writes the page of --report when it is due. What goes wrong with it ends neither the run nor the next try.
 */
static void write_page(struct run *run)
{
    const double began_s = now_s();
    struct session *s = run->s;
    if (!s->write_page || began_s < run->page_due_s) return;
    const enum status st = s->write_page(s, true);
    if (st && st != E_ABSENT) report_say(run->report, "no page: %s", status_text());
    const double took_s = now_s() - began_s, pause_s = PAGE_TIMES * took_s;
    run->page_due_s = now_s() + (st ? 60 : pause_s > PAGE_EVERY_S ? pause_s : PAGE_EVERY_S);
}

/* What is left for others (--save, --shard). What goes wrong with it does not end the run. */
static void leave_for_others(const struct run *run)
{
    const struct session *s = run->s;
    if (!s->keep) return;
    struct keep_state state = {.trials = s->trials, .boost_mhz = run->gpu[0].context.gpu.clock_mhz};
    for (size_t i = 0; i < s->options->problem_count; i++) {
        const struct problem_state *p = &run->problem[i];
        const enum job_how how = s->results[i].how;
        const bool won = how == JOB_KNOWN || how == JOB_TUNED || how == JOB_KEPT || p->history.spent_s > 0;
        state.done += won;
        state.known += how == JOB_KNOWN;
        state.without += !won && p->standing == ENDED;
    }
    if (keep_tick(s->keep, &state)) report_say(run->report, "no copy: %s", status_text());
}

static enum status interrupt(struct run *run)
{
    if (run->stopping) return fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    run->stopping = true;
    report_say(run->report, "stopping after the trial under way (once more: at once)");
    return OK;
}

/* A worker answers, dies, is back or is given up. */
static void take_worker_event(struct run *run, struct gpu_worker *gpu, struct children_event *event)
{
    const bool answers = event->kind == CHILDREN_ANSWER, lost = event->kind == CHILDREN_LOST;
    if (gpu->pending && (answers || lost)) {
        report_busy(run->report, gpu->sent_s, now_s());
        gpu->answer = event->answer;
        event->answer = NULL;
        gpu->lost = lost;
        gpu->hung = event->hung;
        memcpy(gpu->reason, event->reason, sizeof gpu->reason);
    }
    /* An answer that is not taken in yet is worth nothing once the process that prepared is another. */
    if (gpu->preparing && !gpu->pending && !answers && !gpu->lost) {
        json_decref(gpu->answer);
        gpu->answer = NULL;
        gpu->lost = true;
        memcpy(gpu->reason, event->reason, sizeof gpu->reason);
    }
    gpu->pending &= !answers && !lost;
    gpu->prepared &= answers;
    if (event->kind != CHILDREN_GONE) return;
    gpu->gone = true;
    gpu->pending = false;
    memcpy(gpu->why, event->reason, sizeof gpu->why);
    report_say(run->report, "GPU %d is given up: %s", children_worker(run->s->children, gpu->number)->device,
               gpu->why);
}

static enum status take_event(struct run *run, struct children_event *event)
{
    if (event->kind == CHILDREN_INTERRUPT) return interrupt(run);
    if (event->kind == CHILDREN_BUILT) {
        run->s->kernels += event->build.built && !event->build.cached;
        return builds_tell(run->builds, event->tag, &event->build);
    }
    for (int i = 0; i < run->gpus; i++)
        if (run->gpu[i].number == event->worker) take_worker_event(run, &run->gpu[i], event);
    json_decref(event->answer);
    return OK;
}

void run_fail(struct run *run, enum status st)
{
    if (!run->failed) snprintf(run->sentence, sizeof run->sentence, "%s", status_text());
    if (!run->failed) run->failed = st;
    pthread_cond_broadcast(&run->changed);
}

enum status run_wait(struct run *run)
{
    enum status st = run->failed ? fail(run->failed, "%s", run->sentence) : feed_compilers(run);
    if (st) return st;
    if (run->polling) {
        pthread_cond_wait(&run->changed, &run->lock);
        return OK;
    }
    show_progress(run);
    write_page(run);
    leave_for_others(run);
    struct children_event event;
    run->polling = true;
    st = children_wait(run->s->children, TICK_S, &event);
    run->polling = false;
    if (!st) st = take_event(run, &event);
    pthread_cond_broadcast(&run->changed);
    return st;
}
