/* finalists.c — the last few candidates of a problem: which they are, the times of their blocks, and which
 * may win with what evidence. race.h decides.
 */
#include "clock.h"
#include "job.h"
#include "messages.h"
#include "run.h"
#include "template.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINALISTS_LEAST 2
#define FINALIST_REACH  1.03  /* times the fastest trial: medians of ten samples differ by half a per cent */
#define FASTER          0.999 /* times the winner's trial: less is no reason for a race */

/* ---- the choice of finalists ---- */

bool job_lists_defender(const struct job *job, size_t *index)
{
    return job->defender.config.template && field_find(&job->field, &job->defender.config, index);
}

/* The same, if it has a time. */
static bool finds_defender(const struct job *job, size_t *index)
{
    return job_lists_defender(job, index) && job->field.time_us[*index] > 0 &&
           isfinite(job->field.time_us[*index]);
}

/* Trials of earlier slices do not count: they have had their race. One of this slice within the noise may be
 * of a faster candidate. */
bool job_keeps_defender(struct job *job)
{
    size_t defender;
    if (job->only_race || !job->defender_raced || !finds_defender(job, &defender)) return false;
    const double time_us = job->field.time_us[defender];
    if (job->found_us > 0 && job->found_us < FASTER * time_us) return false;
    job->result.wants_closing_race = job->found_us > 0 && job->found_us <= FINALIST_REACH * time_us;
    job->result.closing_s = budget_closing_s(job->best_us, job_check_s(job));
    job_end(job, JOB_KEPT, "nothing faster was found");
    return true;
}

/* A winner loses to nothing but a race: in the place of the slowest finalist, if it is not one itself. */
static void add_defender(const struct job *job, size_t *best, int count)
{
    size_t defender;
    if (!finds_defender(job, &defender)) return;
    for (int i = 0; i < count; i++)
        if (best[i] == defender) return;
    best[count - 1] = defender;
}

/* Counts those of the fastest that only the noise of a trial may have kept from being first. */
static int within_reach(const struct job *job, const size_t *best, int count)
{
    int kept = count < FINALISTS_LEAST ? count : FINALISTS_LEAST;
    while (kept < count && job->field.time_us[best[kept]] <= FINALIST_REACH * job->field.time_us[best[0]])
        kept++;
    return kept;
}

void job_count_contenders(struct job *job, double time_us)
{
    size_t best[RACE_RUNNERS_MAX];
    if (time_us <= FINALIST_REACH * job->best_us)
        job->contenders = within_reach(job, best, field_best(&job->field, best, RACE_RUNNERS_MAX));
}

static void end_without_time(struct job *job)
{
    char call[32];
    format_time_us(1e6 * job_call_s(job, 0), call);
    job->run->strict = true;
    job_end(
        job, JOB_FRUITLESS,
        "a call is expected to take %s, and a trial takes %d of them at least: the budget leaves no time for "
        "one (--budget)",
        call, TRIAL_CALLS_LEAST);
}

/* Nothing is usable. */
static void end_without_finalists(struct job *job)
{
    if (job->passed_over || (job->result.trials == 0 && !job_any_trial_fits(job))) end_without_time(job);
    else if (job->pinned)
        job_end(job, JOB_FRUITLESS, "what is to be pinned is not usable here: %s",
                *job->trouble ? job->trouble : "an earlier run found so (tune explain tells why)");
    else if (job->field.nothing[0] && job->field.library == 0)
        job_end(job, JOB_FRUITLESS, "%s", job->field.nothing);
    else {
        char first[OUTCOME_DETAIL_MAX + 160];
        job_end(job, JOB_FRUITLESS, "none of the %zu candidates tried is usable%s",
                job->result.recalled.usable + job->result.recalled.failed + job->result.trials,
                refusals_say(&job->refusals, first));
    }
}

static enum status add(struct job *job, size_t index)
{
    const struct config *config = &job->field.config[index];
    const struct kernel_key kernel = kernel_key_of(config, &job->problem, job->context.gpu.arch);
    struct built *built = builds_get(job->run->builds, &kernel);
    if (!built) return E_MEMORY;
    struct finalist *f = &job->finalists.finalist[job->finalists.count++];
    *f = (struct finalist){.index = index, .config = *config, .built = built};
    f->smem_bytes = config->template->resources(config).smem_bytes;
    config_format(config, f->text);
    return OK;
}

enum status job_choose_finalists(struct job *job)
{
    size_t best[RACE_RUNNERS_MAX];
    const bool closing = job->only_race || job->run->s->options->refresh;
    const double spent_s = job->only_race ? 0 : now_s() - job->began_s;
    job->plan = closing ? budget_closing_race(job->share_s - spent_s, job->best_us, job_check_s(job))
                        : budget_race(job->share_s, job->best_us, job_check_s(job), job->contenders);
    const int count = within_reach(job, best, field_best(&job->field, best, job->plan.finalists));
    if (count == 0) {
        end_without_finalists(job);
        return OK;
    }
    if (job->best_us == 0) { /* there was time for one call of each */
        job->best = best[0];
        job->best_us = job->field.time_us[job->best];
    }
    add_defender(job, best, count);
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) st = add(job, best[i]);
    return st;
}

bool job_finalists_are_built(const struct job *job)
{
    bool built = true;
    for (int i = 0; i < job->finalists.count; i++)
        built &= job->finalists.finalist[i].built->state == BUILD_DONE;
    return built;
}

/* ---- their race ---- */

/* True if there is time for the rounds that decide it. */
static bool race_fits(const struct job *job)
{
    return budget_rounds_s(&job->plan, job->best_us, job->finalists.count,
                           budget_rounds_least(job->best_us)) <= fmax(job_race_left_s(job), BUDGET_CHANCE_S);
}

enum status job_start_race(struct job *job)
{
    struct finalists *all = &job->finalists;
    struct race_runner runner[RACE_RUNNERS_MAX];
    int kept = 0;
    for (int i = 0; i < all->count; i++) {
        if (!all->finalist[i].built->ok) continue; /* it could not be built again */
        struct finalist *f = &all->finalist[kept];
        *f = all->finalist[i];
        runner[kept++] = (struct race_runner){f->smem_bytes, f->built->facts.registers, f->text};
    }
    all->count = kept;
    if (kept == 0) {
        job_end(job, JOB_FRUITLESS, "none of the finalists can be built any more");
        return OK;
    }
    struct race_options options = race_defaults();
    options.min_rounds = job->plan.min_rounds;
    options.max_rounds = job->plan.max_rounds;
    options.seed = job->run->s->options->seed;
    enum status st = race_start(runner, kept, &options, &all->race);
    if (!st && !race_fits(job)) race_cut(all->race);
    return st;
}

enum status finalists_tell(struct finalists *finalists, double time_us)
{
    if (finalists->sample_count == finalists->sample_room) {
        int room = finalists->sample_room ? 2 * finalists->sample_room : 256;
        struct db_race_sample *grown = realloc(finalists->samples, (size_t)room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the samples of a race");
        finalists->samples = grown;
        finalists->sample_room = room;
    }
    if (isfinite(time_us))
        finalists->samples[finalists->sample_count++] =
            (struct db_race_sample){race_next(finalists->race), race_rounds(finalists->race), time_us};
    race_tell(finalists->race, time_us);
    finalists->repeats = 0;
    return OK;
}

int finalists_choice(const struct finalists *finalists, bool *tied)
{
    int winner = race_winner(finalists->race, tied);
    if (winner < 0 || !finalists->finalist[winner].refused) return winner;
    /* The winner was refused: the next is the fastest of the rest, those that stayed in the race first. */
    int best = -1;
    *tied = false;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (int i = 0; i < finalists->count; i++) {
            struct race_result r = race_result(finalists->race, i);
            if (r.failed || finalists->finalist[i].refused || r.dropped != (pass == 1)) continue;
            if (best < 0 || r.time_us < race_result(finalists->race, best).time_us) best = i;
        }
    return best;
}

void finalists_evidence(const struct finalists *finalists, int runner, struct db_winner *winner)
{
    const struct finalist *f = &finalists->finalist[runner];
    struct race_result r = race_result(finalists->race, runner);
    double anchor_us = race_anchor_us(finalists->race);
    bool anchored = isfinite(anchor_us) && isfinite(r.ratio);
    winner->config = f->config;
    memcpy(winner->config_text, f->text, sizeof winner->config_text);
    if (isfinite(r.time_us)) winner->base.time_us = r.time_us; /* else what the search measured stands */
    winner->base.ratio = anchored ? r.ratio : 0;
    winner->base.ratio_low = anchored ? r.ratio_low : 0;
    winner->base.ratio_high = anchored ? r.ratio_high : 0;
    winner->base.anchor_us = anchored ? anchor_us : 0;
    winner->rounds = r.blocks;
    winner->registers = f->built->facts.registers;
    winner->smem_bytes = f->smem_bytes;
}

void finalists_free(struct finalists *finalists)
{
    race_free(finalists->race);
    free(finalists->samples);
    *finalists = (struct finalists){0};
}
