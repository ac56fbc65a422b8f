/* job_time.c — what there is time for: when a search is over, and what is expected not to end in time and so
 * does not begin.
 *
 * Where calls are short, the limits do not matter: all that BUDGET_CHANCE_S suffices for is done, however
 * late.
 */
#include "job.h"

#include "clock.h"
#include "messages.h"
#include "run.h"
#include <math.h>

#define SHARE_OF_FIRST 0.5 /* of what is left to each problem, for the first trial of one */
#define SHARE_OF_CHECK                                                                                       \
    0.1                  /* of what is left of the run, for the last check, beside the rest of the slice     \
                          */
#define ENDING_SHARE 0.7 /* of a slice, at most, for what race and check took in others */
#define ENDING_S     1.5 /* for opening a problem and compiling its first kernels */
#define HOPED        0.5 /* of the best time: what a gain may take */

#define DEADLINE_LEAST_S 2.0
#define DEADLINE_FACTOR  20.0
#define FIRST_S          8.0   /* before anything is known of how long a trial takes */
#define LAUNCHES_MOST    300.0 /* of judge and screen, five times over: a slow candidate is no hung one */

/* ---- what takes how long ---- */

double job_call_s(const struct job *job, size_t index)
{
    return 1e-6 * job->field.predicted_us[index] * (job->slowness > 0 ? job->slowness : 1);
}

void job_learn_time(struct job *job, size_t index)
{
    const double slowness = job->field.time_us[index] / job->field.predicted_us[index];
    if (!isfinite(slowness) || !(slowness > 0)) return;
    if (job->field.time_us[index] >= 1e6 * BUDGET_LONG_CALL_S) job->run->strict = true;
    if (job->slowness == 0 || slowness < job->slowness) job->slowness = slowness;
}

double job_check_s(const struct job *job)
{
    return budget_check_s(job->best_us) + job->run->check_excess_s;
}

double job_deadline_s(const struct job *job, double predicted_us)
{
    const double usual_s = job->trial_s > 0 ? DEADLINE_FACTOR * job->trial_s : FIRST_S;
    const double slow_us = fmax(predicted_us, fmax(job->best_us, job->anchor_us));
    return fmax(DEADLINE_LEAST_S, usual_s) + LAUNCHES_MOST * 1e-6 * slow_us;
}

/* ---- what is left ---- */

static double run_ends_in_s(const struct job *job)
{
    return job->run->end_s - now_s();
}

static double slice_left_s(const struct job *job)
{
    return job->began_s + job->share_s - now_s();
}

/* The time left until the race. */
static double search_left_s(const struct job *job)
{
    if (job->best_us == 0) return slice_left_s(job); /* nothing to race yet */
    const double planned_s =
        budget_race(job->share_s, job->best_us, job_check_s(job), job->contenders).reserve_s;
    return slice_left_s(job) - job_load_s(job) -
           fmax(planned_s, fmin(job->run->ending_s, ENDING_SHARE * job->share_s));
}

double job_closing_s(const struct job *job)
{
    const bool load = job->finalists.capped || job->defender.timing == TIMING_LOAD;
    return budget_closing_s(job->best_us, job_check_s(job), load);
}

bool job_by_energy(const struct job *job)
{
    const struct tune_options *o = job->run->s->options;
    return o->by_energy || (o->refresh && job->defender.by_energy);
}

bool job_is_closing(const struct job *job)
{
    return job->only_race || job->run->s->options->refresh;
}

/* Of the time of the first race nothing is left for it. */
double job_load_s(const struct job *job)
{
    const int timing = job->run->s->options->timing;
    const bool energy = job_by_energy(job), may = energy || timing == TIMING_LOAD ||
                                                  (timing == RACE_BY_CALL && job->best_us >= BUDGET_LOAD_US);
    if (!may) return 0;
    const struct load_plan plan =
        budget_load(budget_load_share_s(job->share_s, job_is_closing(job)), job->best_us, energy);
    return budget_load_s(&plan, job->best_us, plan.finalists);
}

double job_race_left_s(const struct job *job)
{
    const double most_s = job->only_race || job->raced_count ? job->share_s : 0.25 * job->share_s;
    return slice_left_s(job) - fmin(job_check_s(job), most_s);
}

bool job_may_race_again(const struct job *job)
{
    return slice_left_s(job) + BUDGET_OVERRUN_S > job_check_s(job);
}

double job_prepare_limit_s(const struct job *job)
{
    return fmax(run_ends_in_s(job), BUDGET_CHANCE_S);
}

double job_trial_limit_s(const struct job *job)
{
    double left_s = search_left_s(job);
    if (job->best_us == 0)
        left_s = fmax(left_s, SHARE_OF_FIRST * run_ends_in_s(job) / (run_waiting(job->run) + 1));
    return fmax(left_s, BUDGET_CHANCE_S);
}

double job_check_limit_s(const struct job *job)
{
    return fmax(fmax(slice_left_s(job), SHARE_OF_CHECK * run_ends_in_s(job)), BUDGET_CHANCE_S);
}

bool job_trial_fits(const struct job *job, size_t index)
{
    return TRIAL_CALLS_LEAST * job_call_s(job, index) <= job_trial_limit_s(job);
}

bool job_any_trial_fits(const struct job *job)
{
    if (job->best_us > 0) return TRIAL_CALLS_LEAST * HOPED * 1e-6 * job->best_us <= job_trial_limit_s(job);
    return job->field.count == 0 || job_trial_fits(job, 0);
}

bool job_is_overtime(const struct job *job)
{
    if (!job->gpu->pending || job->run->stopping) return false;
    const double end_s = fmax(job->run->end_s, job->began_s) + BUDGET_OVERRUN_S;
    return now_s() > end_s && now_s() > job->gpu->sent_s + BUDGET_CHANCE_S;
}

bool job_compiles_too_late(const struct job *job)
{
    return job->phase == PHASE_SEARCH && job->best_us > 0 &&
           search_left_s(job) < builds_usual_s(job->run->builds);
}

bool job_is_ending(const struct job *job)
{
    return job->phase != PHASE_SEARCH || slice_left_s(job) < ENDING_S;
}

bool job_is_half_done(const struct job *job)
{
    return slice_left_s(job) < 0.5 * job->share_s;
}

/* ---- when the search is over ---- */

/* A compiler or the GPU has been at it for too long. What waits for either of them is not overdue. */
bool job_is_overdue(const struct job *job, const struct ahead *a)
{
    if (a->begun_s > 0) return now_s() > a->begun_s + budget_patience_s(job->trial_s);
    return a->built->state == BUILD_ASKED &&
           now_s() > a->built->asked_s + budget_patience_s(builds_usual_s(job->run->builds));
}

static bool all_are_overdue(const struct job *job)
{
    bool all = true;
    for (size_t i = 0; i < job->ahead_count; i++) all &= job_is_overdue(job, &job->ahead[i]);
    return all;
}

/* True if the limit of trials is reached, all candidates are tried, or the search is satisfied and all that
 * it had proposed is measured: so the trials do not depend on when this is called. */
bool job_is_exhausted(const struct job *job)
{
    const struct tune_options *o = job->run->s->options;
    const bool enough = o->max_trials > 0 && job->result.tried >= (size_t)o->max_trials;
    /* Where the space has nothing, the proposals of cublasLt must be known first. */
    const bool all =
        job->search_over && job->ahead_count == 0 && (job->gpu->prepared || job->field.count > 0);
    const bool satisfied = o->budget_s == 0 && job->satisfied && all_are_overdue(job);
    return enough || all || satisfied;
}

/* Another problem can make better use of the time. Without a budget a search that is satisfied is exhausted,
 * as soon as what was proposed is measured. */
static bool has_converged(const struct job *job)
{
    const bool limited = job->run->s->options->budget_s > 0;
    if ((!limited && job->satisfied) || run_waiting(job->run) == 0 || job->gain_us <= 0) return false;
    return (limited && search_satisfied(job->search)) ||
           budget_converged(job->share_s, job->result.trials - job->gain_trials, now_s() - job->gain_s);
}

/* Some candidates, but no compiler is waited for. */
static bool has_had_its_chance(const struct job *job)
{
    return job->result.trials >= JOB_TRIALS_LEAST || !job_can_try(job) ||
           now_s() > job->began_s + job->share_s + BUDGET_CHANCE_S;
}

bool job_search_is_over(const struct job *job)
{
    if (job->only_race) return true;
    /* However short the budget, some candidates get their chance; where none is usable, others for a while.
     */
    const bool late = job->best_us > 0 ? search_left_s(job) <= 0 && has_had_its_chance(job)
                                       : job->result.trials > 0 && slice_left_s(job) <= -BUDGET_CHANCE_S;
    return job_is_exhausted(job) || late || !job_any_trial_fits(job) || has_converged(job);
}
