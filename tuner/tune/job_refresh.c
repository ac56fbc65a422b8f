/* job_refresh.c — a job without a search: its candidates are those of the race that the stored winner won. */
#include "job.h"

#include "preferred.h"
#include "run.h"
#include "template.h"
#include "workspace.h"
#include <stdlib.h>
#include <string.h>

struct wanted {
    bool cold;
    struct db_winner winner;
    bool found;
};

static bool take(void *self, const struct db_winner *winner)
{
    struct wanted *w = self;
    if (winner->base.predicted || winner->base.cold != w->cold) return true;
    w->winner = *winner;
    w->found = true;
    return false;
}

/* A configuration by its text joins, unless it is there, or cannot be used. */
static enum status add(struct job *job, const char *text)
{
    const struct run *run = job->run;
    struct config config;
    if (job->raced_count > RACE_RUNNERS_MAX || config_parse(text, &config)) return OK;
    for (int i = 0; i < job->raced_count; i++)
        if (config_equal(&job->raced[i], &config)) return OK;
    if (config.template->check(&config, &job->problem, &job->context.gpu)) return OK;
    if (workspace_refuses(&config, &job->problem, run->s->options->workspace_bytes)) return OK;
    bool excluded;
    enum status st = preferred_excludes(run->s->db, &job->context.gpu, &job->problem, &config, &excluded);
    if (!st && !excluded) job->raced[job->raced_count++] = config;
    return st;
}

static enum status open_field(struct job *job)
{
    struct config kernels[RACE_RUNNERS_MAX + 1];
    size_t count = 0;
    for (int i = 0; i < job->raced_count; i++) /* the library's join when the GPU is prepared */
        if (!template_is_library(job->raced[i].template)) kernels[count++] = job->raced[i];
    return field_open_few(kernels, count, &job->problem, &job->context.gpu, &job->field);
}

enum status job_open_raced(struct job *job)
{
    struct db *db = job->run->s->db;
    struct wanted wanted = {.cold = job->context.cold};
    struct db_evidence evidence = {0};
    const struct db_filter filter = {.gpu = job->context.gpu.name, .problem = &job->problem};
    enum status st = db_winners(db, &filter, &job->context, take, &wanted);
    if (st && st != E_ABSENT) return st;
    if (!wanted.found) return fail(E_ABSENT, "there is no winner to race again");
    job->raced_count = 0;
    st = db_evidence(db, wanted.winner.decision_id, &evidence);
    if (!st) st = add(job, wanted.winner.config_text);
    for (int i = 0; i < evidence.runner_count && !st; i++) st = add(job, evidence.runner_text[i]);
    db_evidence_free(&evidence);
    if (st) return st;
    if (job->raced_count == 0) return fail(E_ABSENT, "nothing of its last race can be used any more");
    job->defender = wanted.winner;
    job->defender_raced = false;
    return open_field(job);
}
