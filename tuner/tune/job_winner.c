/* job_winner.c — the row that a job stores: the winner, with its evidence. */
#include "job.h"

#include "run.h"
#include <stdio.h>
#include <string.h>

#define MODEL_FIRST 16 /* the report: how good were the model's first few */

/* The row without race evidence: what it was made with and from how much. */
static void describe(const struct job *job, size_t index, struct db_winner *w)
{
    const struct db_context *c = &job->context;
    *w = (struct db_winner){.base.problem = job->problem, .config = job->field.config[index], .gpu = c->gpu};
    config_format(&w->config, w->config_text);
    memcpy(w->gpu_uuid, c->gpu_uuid, sizeof w->gpu_uuid);
    memcpy(w->driver, c->driver, sizeof w->driver);
    memcpy(w->nvrtc, c->nvrtc, sizeof w->nvrtc);
    memcpy(w->cublas, c->cublas, sizeof w->cublas);
    w->base.cold = c->cold;
    w->base.time_us = job->field.time_us[index];
    w->trials = (int)job->result.tried;
    w->legal_count = (int64_t)job->field.legal;
    w->model_rank = (int)field_rank(&job->field, index);
    if (job->raced_count) { /* the search that found them */
        const struct db_winner *old = &job->defender;
        w->trials = old->trials;
        w->legal_count = old->legal_count;
        w->model_rank = strcmp(w->config_text, old->config_text) == 0 ? old->model_rank : 0;
    }
    w->pinned = w->pin_holds = job->pinned;
    w->model_first16_share = field_model_share(&job->field, MODEL_FIRST, w->base.time_us);
}

void job_best(const struct job *job, struct db_winner *winner)
{
    if (job->best_us == 0) return;
    describe(job, job->best, winner);
    memcpy(winner->rival, job->rival, sizeof winner->rival);
    winner->base.anchor_us = job->anchor_us;
    winner->base.ratio = job->anchor_us > 0 ? job->anchor_us / job->best_us : 0;
}

static struct db_errors errors_of(const struct accuracy *a)
{
    if (!accuracy_is_known(a)) return (struct db_errors){0};
    return (struct db_errors){true, a->componentwise, a->rms, a->max};
}

/* A winner from another space cannot race here. Ratios to the same rival are compared, for clocks differ from
 * run to run; without them times. */
static bool stays(const struct job *job, const struct db_winner *w)
{
    const struct db_winner *old = &job->defender;
    size_t index;
    if (job->pinned || !old->config.template || old->base.time_us <= 0) return false;
    if (old->base.cold != w->base.cold || job_lists_defender(job, &index)) return false;
    if (w->base.ratio > 0 && old->base.ratio > 0 && strcmp(w->rival, old->rival) == 0)
        return w->base.ratio <= old->base.ratio;
    return w->base.time_us >= old->base.time_us;
}

static void end_kept(struct job *job, double time_us)
{
    char old[32], new[32];
    format_time_us(job->defender.base.time_us, old);
    format_time_us(time_us, new);
    job_end(job, JOB_KEPT, "kept the stored winner (%s): the best of this space took %s", old, new);
}

enum status job_store_winner(struct job *job, int choice, bool tied, const struct accuracy *errors,
                             const struct accuracy_checked *checked)
{
    const struct finalists *all = &job->finalists;
    const struct finalist *f = &all->finalist[choice];
    struct db *db = job->run->s->db;
    struct db_winner *w = &job->result.winner;
    describe(job, f->index, w);
    finalists_evidence(all, choice, w);
    w->errors = errors_of(errors);
    w->checked = *checked;
    if (race_rounds(all->race) == 0 && job->anchor_us > 0) {
        /* There was no time for a race: the trial's time against that of the preparation. */
        w->base.anchor_us = job->anchor_us;
        w->base.ratio = w->base.ratio_low = w->base.ratio_high = job->anchor_us / w->base.time_us;
    }
    if (w->base.anchor_us > 0) {
        memcpy(w->rival, job->rival, sizeof w->rival);
        w->rival_errors = errors_of(&job->anchor_errors);
    }
    w->tied = tied;
    job->result.wants_closing_race = budget_wants_closing_race(&job->plan, race_rounds(all->race));
    job->result.closing_s = job_closing_s(job);
    if (stays(job, w)) {
        end_kept(job, w->base.time_us);
        return OK;
    }
    struct outcome outcome;
    bool stale;
    enum status st = db_find(db, &job->context, &job->problem, &f->config, &outcome, &stale);
    if (st && st != E_ABSENT) return st;
    w->base.exact = st == OK && outcome.exact;

    struct config runners[RACE_RUNNERS_MAX];
    for (int i = 0; i < all->count; i++) runners[i] = all->finalist[i].config;
    st = db_set_winner(db, job->run_id, w, runners, all->count, all->samples, all->sample_count);
    if (!st) job_end(job, JOB_TUNED, "tuned");
    return st;
}
