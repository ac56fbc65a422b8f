/* job_time.c — the length of a call in the budget: what is expected not to end in time does not begin, and
 * what does not end is ended.
 *
 * Where calls are short, nothing of it matters: all that BUDGET_CHANCE_S suffices for is done, however late.
 */
#include "job_parts.h"

#include "clock.h"
#include "messages.h"
#include <math.h>

#define SHARE_OF_FIRST 0.5 /* of what is left to each problem, for the first trial of one */
#define SHARE_OF_CHECK                                                                                       \
    0.1           /* of what is left of the run, for the last check, beside the rest of the slice            \
                   */
#define HOPED 0.5 /* of the best time: what a gain may take */

/* What is left of the run; INFINITY if nobody looks at it. */
static double run_left_s(const struct job *job)
{
    return job->env->end_s > 0 ? job->env->end_s - now_s() : (double)INFINITY;
}

double job_call_s(const struct job *job, size_t index)
{
    return 1e-6 * job->field.predicted_us[index] * (job->slowness > 0 ? job->slowness : 1);
}

void job_learn_time(struct job *job, size_t index)
{
    const double slowness = job->field.time_us[index] / job->field.predicted_us[index];
    if (!isfinite(slowness) || !(slowness > 0)) return;
    if (job->field.time_us[index] >= 1e6 * BUDGET_LONG_CALL_S) job->env->strict = true;
    if (job->slowness == 0 || slowness < job->slowness) job->slowness = slowness;
}

double job_prepare_limit_s(const struct job *job)
{
    const double left_s = run_left_s(job);
    return isfinite(left_s) ? fmax(left_s, BUDGET_CHANCE_S) : 0;
}

double job_trial_limit_s(const struct job *job)
{
    double left_s = search_end_s(job) - now_s();
    if (job->best_us == 0 && isfinite(run_left_s(job)))
        left_s = fmax(left_s, SHARE_OF_FIRST * run_left_s(job) / (job->env->waiting + 1));
    return fmax(left_s, BUDGET_CHANCE_S);
}

double job_check_limit_s(const struct job *job)
{
    double left_s = job->began_s + job->share_s - now_s();
    if (isfinite(run_left_s(job))) left_s = fmax(left_s, SHARE_OF_CHECK * run_left_s(job));
    return fmax(left_s, BUDGET_CHANCE_S);
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

/* The one question of the session: has what the worker was asked taken longer than there is time for? */
static bool is_overtime(const struct job *job)
{
    if (job->env->end_s <= 0 || job->asked == ASKED_NOTHING || job->stopping) return false;
    const double end_s = fmax(job->env->end_s, job->began_s) + BUDGET_OVERRUN_S;
    return now_s() > end_s && now_s() > job->sent_s + BUDGET_CHANCE_S;
}

void job_cut_overtime(struct job *job)
{
    static const char *const doing[] = {[ASKED_PREPARE] =
                                            "its operands, references and the rival's time were there",
                                        [ASKED_TRIAL] = "a trial had ended",
                                        [ASKED_BLOCK] = "its race had ended",
                                        [ASKED_CHECK] = "its fastest was checked"};
    if (!is_overtime(job)) return;
    const enum asked asked = job->asked;
    job_abandon(job);
    children_cancel(job->env->children, job->worker);
    job->asked = ASKED_NOTHING;
    job->prepared = false;
    job->env->strict = true;
    job_end(job, JOB_FRUITLESS, "the budget was over before %s (--budget; the same command goes on)",
            doing[asked]);
}

void job_end_without_time(struct job *job)
{
    char call[32];
    format_time_us(1e6 * job_call_s(job, 0), call);
    job->env->strict = true;
    job_end(
        job, JOB_FRUITLESS,
        "a call is expected to take %s, and a trial takes %d of them at least: the budget leaves no time for "
        "one (--budget)",
        call, TRIAL_CALLS_LEAST);
}
