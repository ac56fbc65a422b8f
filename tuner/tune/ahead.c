/* ahead.c — opens the problem that comes next while the GPU is at another, in a thread of its own: it takes
 * as long as many trials do, and most of it is without the run's lock (job_open_search).
 */
#include "children.h"
#include "job.h"
#include "run.h"

/* With the run's lock. */
static void open_job(struct gpu_worker *gpu)
{
    struct run *run = gpu->run;
    struct job *job = gpu->opening;
    struct problem_state *p = &run->problem[job->at];
    enum status st = deal_open_search(job);
    if (!st) st = job_work_ahead(job);
    p->opening = false;
    gpu->opening = NULL;
    if (st || !job_runs(job)) {
        job_close(job);
    } else {
        gpu->next = p;
        deal_let_rest(job);
    }
    if (st) run_fail(run, st);
    pthread_cond_broadcast(&run->changed);
}

static void *open_in_thread(void *self)
{
    struct gpu_worker *gpu = self;
    pthread_mutex_lock(&gpu->run->lock);
    open_job(gpu);
    pthread_mutex_unlock(&gpu->run->lock);
    return NULL;
}

/* Not earlier than in the end, since winners found meanwhile are hints; and before that only when the
 * compilers have nothing to do, or only what a search that has ended left behind. */
enum status ahead_begin(struct gpu_worker *gpu)
{
    struct run *run = gpu->run;
    const struct job *now = gpu->now;
    if (run->stopping || gpu->next || gpu->opening) return OK;
    if (!job_is_ending(now) && !(job_is_half_done(now) && children_compilers_rest(run->s->children)))
        return OK;
    struct job *job;
    enum status st = deal_after(gpu, &job);
    if (st || !job) return st;
    ahead_end(gpu);
    gpu->opening = job;
    run->problem[job->at].opening = true;
    gpu->joinable = pthread_create(&gpu->opener, NULL, open_in_thread, gpu) == 0;
    if (!gpu->joinable) open_job(gpu); /* the GPU waits for it */
    return OK;
}

void ahead_await(struct gpu_worker *gpu)
{
    while (gpu->opening) pthread_cond_wait(&gpu->run->changed, &gpu->run->lock);
}

void ahead_end(struct gpu_worker *gpu)
{
    ahead_await(gpu);
    if (gpu->joinable) pthread_join(gpu->opener, NULL); /* it needs the lock no more */
    gpu->joinable = false;
}
