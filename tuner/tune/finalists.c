/* finalists.c — the last few candidates of a problem: which they are, the times of their blocks, and which
 * may win with what evidence. race.h decides.
 */
#include "clock.h"
#include "job.h"
#include "messages.h"
#include "run.h"
#include "stats.h"
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
    job->result.closing_s = job_closing_s(job);
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
    const bool closing = job_is_closing(job);
    const double spent_s = job->only_race ? 0 : now_s() - job->began_s;
    job->plan = closing ? budget_closing_race(job->share_s - spent_s - job_load_s(job), job->best_us,
                                              job_check_s(job))
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

/* Short calls run behind other kernels in a program; a long one hardly notices. Where operands stay in the
 * cache on purpose, nothing is to come between. */
static enum call_timing first_timing(const struct job *job)
{
    const int timing = job->run->s->options->timing;
    if (timing == TIMING_BEHIND) return TIMING_BEHIND;
    if (timing != RACE_BY_CALL || !job->context.cold) return TIMING_REPEAT;
    return job->best_us < BUDGET_LOAD_US ? TIMING_BEHIND : TIMING_REPEAT;
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
    all->timing = first_timing(job);
    return st;
}

/* ---- the race under load ---- */

bool job_wants_second_race(const struct job *job)
{
    const struct tune_options *o = job->run->s->options;
    const struct finalists *all = &job->finalists;
    if (race_rounds(all->race) == 0 || race_winner(all->race, &(bool){false}) < 0) return false;
    return job_by_energy(job) || o->timing == TIMING_LOAD ||
           (o->timing == RACE_BY_CALL && all->capped && job->best_us >= BUDGET_LOAD_US);
}

/* The time of a finalist over that of the anchor, or its plain time; INFINITY: it failed. */
static double score(const struct finalists *all, int finalist)
{
    const struct race_result r = race_result(all->race, finalist);
    if (r.failed || !(r.time_us > 0)) return (double)INFINITY;
    return isfinite(r.ratio) ? 1 / r.ratio : r.time_us;
}

/* The fastest, at most so many, of those that noise or power may have kept from being first. */
static int choose_fastest(struct finalists *all, int most)
{
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        if (!isfinite(score(all, i))) continue;
        int at = count < most ? count++ : most;
        for (; at > 0 && score(all, all->of[at - 1]) > score(all, i); at--)
            if (at < most) all->of[at] = all->of[at - 1];
        if (at < most) all->of[at] = i;
    }
    while (count > 1 && score(all, all->of[count - 1]) > FINALIST_REACH * score(all, all->of[0])) count--;
    return count;
}

enum status job_start_second_race(struct job *job)
{
    struct finalists *all = &job->finalists;
    const struct tune_options *o = job->run->s->options;
    struct race_runner runner[RACE_RUNNERS_MAX];
    const bool energy = job_by_energy(job);
    all->load = budget_load(job_race_left_s(job), job->best_us, energy);
    if (all->load.finalists == 0)
        return job_note(job, energy ? "the budget left no time to measure energy: the fastest won"
                                    : "the budget left no time for a race under load, at the GPU's power "
                                      "limit: a long run may be slower");
    const int count = choose_fastest(all, all->load.finalists);
    for (int i = 0; i < count; i++) {
        const struct finalist *f = &all->finalist[all->of[i]];
        runner[i] = (struct race_runner){f->smem_bytes, f->built->facts.registers, f->text};
    }
    struct race_options options = race_defaults();
    options.min_rounds = options.max_rounds = all->load.rounds;
    options.seed = o->seed;
    all->by_energy = energy;
    all->timing = TIMING_LOAD;
    return race_start(runner, count, &options, &all->second);
}

/* ---- blocks ---- */

static struct race *present(const struct finalists *all)
{
    return all->second ? all->second : all->race;
}

int finalists_next(const struct finalists *all)
{
    const int who = race_next(present(all));
    return who >= 0 && all->second ? all->of[who] : who;
}

int finalists_rounds(const struct finalists *all)
{
    return race_rounds(present(all));
}

void finalists_cut(struct finalists *all)
{
    race_cut(present(all));
}

static enum status keep_sample(struct finalists *finalists, const struct db_race_sample *block)
{
    if (finalists->sample_count == finalists->sample_room) {
        int room = finalists->sample_room ? 2 * finalists->sample_room : 256;
        struct db_race_sample *grown = realloc(finalists->samples, (size_t)room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the samples of a race");
        finalists->samples = grown;
        finalists->sample_room = room;
    }
    struct db_race_sample *sample = &finalists->samples[finalists->sample_count++];
    *sample = *block;
    sample->runner = finalists_next(finalists);
    sample->timing = finalists->timing;
    sample->round = race_rounds(finalists->race) + (finalists->second ? race_rounds(finalists->second) : 0);
    return OK;
}

enum status finalists_tell(struct finalists *finalists, const struct db_race_sample *block)
{
    const enum status st = keep_sample(finalists, block);
    if (st) return st;
    finalists->repeats = 0;
    if (!finalists->second || !finalists->by_energy) {
        race_tell(present(finalists), block->time_us);
    } else if (block->joules > 0) {
        race_tell(finalists->second, block->joules);
    } else {
        race_free(finalists->second);
        finalists->second = NULL;
    }
    return OK;
}

enum status finalists_tell_failed(struct finalists *finalists)
{
    race_tell(present(finalists), (double)INFINITY);
    finalists->repeats = 0;
    return OK;
}

/* ---- the winner ---- */

int finalists_choice(const struct finalists *finalists, bool *tied)
{
    const struct race *race = present(finalists);
    const int runners = finalists->second ? race_runners(race) : finalists->count;
    int winner = race_winner(race, tied);
    if (winner < 0) return winner;
    int best = finalists->second ? finalists->of[winner] : winner;
    if (!finalists->finalist[best].refused) return best;
    /* The winner was refused: the next is the fastest of the rest, those that stayed in the race first. */
    double least = (double)INFINITY;
    best = -1;
    *tied = false;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (int i = 0; i < runners; i++) {
            const int f = finalists->second ? finalists->of[i] : i;
            const struct race_result r = race_result(race, i);
            if (r.failed || finalists->finalist[f].refused || r.dropped != (pass == 1)) continue;
            if (best >= 0 && r.time_us >= least) continue;
            best = f;
            least = r.time_us;
        }
    return best;
}

/* Median energy of a call in the blocks of a finalist or the anchor; 0: it was not measured. */
static double joules_of(const struct finalists *all, int finalist)
{
    double joules[RACE_ROUNDS_MAX + 1];
    size_t count = 0;
    for (int i = 0; i < all->sample_count && count <= RACE_ROUNDS_MAX; i++)
        if (all->samples[i].runner == finalist && all->samples[i].joules > 0)
            joules[count++] = all->samples[i].joules;
    return count ? stats_median(joules, count) : 0;
}

/* Where energy decides, times are those of the first race. */
void finalists_evidence(const struct finalists *finalists, int finalist, struct db_winner *winner)
{
    const struct finalist *f = &finalists->finalist[finalist];
    const bool second = finalists->second && !finalists->by_energy;
    const struct race *race = second ? finalists->second : finalists->race;
    int runner = finalist;
    for (int i = 0; second && i < race_runners(race); i++)
        if (finalists->of[i] == finalist) runner = i;
    struct race_result r = race_result(race, runner);
    double anchor_us = race_anchor_us(race);
    bool anchored = isfinite(anchor_us) && isfinite(r.ratio);
    winner->config = f->config;
    memcpy(winner->config_text, f->text, sizeof winner->config_text);
    if (isfinite(r.time_us)) winner->base.time_us = r.time_us; /* else what the search measured stands */
    winner->base.ratio = anchored ? r.ratio : 0;
    winner->base.ratio_low = anchored ? r.ratio_low : 0;
    winner->base.ratio_high = anchored ? r.ratio_high : 0;
    winner->base.anchor_us = anchored ? anchor_us : 0;
    winner->rounds = r.blocks;
    winner->timing = second                 ? TIMING_LOAD
                     : finalists->by_energy ? finalists->samples[0].timing
                                            : finalists->timing;
    winner->by_energy = finalists->second && finalists->by_energy;
    winner->joules = joules_of(finalists, finalist);
    winner->rival_joules = joules_of(finalists, RACE_ANCHOR);
    winner->registers = f->built->facts.registers;
    winner->smem_bytes = f->smem_bytes;
}

void finalists_free(struct finalists *finalists)
{
    race_free(finalists->race);
    race_free(finalists->second);
    free(finalists->samples);
    *finalists = (struct finalists){0};
}
