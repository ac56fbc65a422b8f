/* job_rest.c — a job between two slices of its problem: what is of one slice is cleared; candidates, search
 * and what it has proposed stay.
 */
#include "job_parts.h"

#include <string.h>

#define SEARCH_BYTES 3e6 /* of a search, about, */
#define EACH_BYTES   64  /* and for each candidate, with the index of neighbours */

/* What is of one slice only. */
static void clear_slice(struct job *job)
{
    final_race_free(&job->final_race);
    job->final_race = (struct final_race){0};
    job->plan = (struct race_plan){0};
    job->phase = PHASE_SEARCH;
    job->worker = -1;
    job->began_s = job->share_s = job->sent_s = 0;
    job->passed_over = job->prepared = job->stopping = job->warming = job->only_race = job->tied = false;
    job->prepare_failures = job->choice = 0;
    job->anchor_us = job->found_us = job->gain_us = job->gain_s = 0;
    job->gain_trials = job->late = 0;
    job->asked = ASKED_NOTHING;
    memset(job->failures, 0, sizeof job->failures);
    for (size_t i = 0; i < job->ahead_count; i++) job->ahead[i].begun_s = 0;
}

void job_rest(struct job *job)
{
    clear_slice(job);
    job->result = (struct job_result){.legal = job->result.legal,
                                      .tried = job->result.tried,
                                      .hints = job->result.hints,
                                      .recalled = job->result.recalled,
                                      .raw = job->result.raw};
    job->result.winner.base.problem = job->problem;
    job->result.winner.gpu = job->context.gpu;
}

void job_resume(struct job *job, const struct db_context *context, int64_t run_id)
{
    job->context = *context;
    job->run_id = run_id;
    job->result.winner.gpu = context->gpu;
}

size_t job_bytes(const struct job *job)
{
    const size_t each = sizeof(struct config) + 2 * sizeof(double) + EACH_BYTES;
    return (size_t)SEARCH_BYTES + job->field.count * each;
}
