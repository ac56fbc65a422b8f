#include "trial.h"

#include "clock.h"
#include "screen.h"
#include "stats.h"
#include <stdio.h>

/* The candidate as the judge calls it. Its first call is timed: where calls are long, there may be time for
 * no other. */
struct sighted {
    const struct kernel *kernel;
    struct stopwatch *watch;
    double best_us, limit_s;
    int calls;
    double call_us; /* of the first call, once a second one is asked for */
    bool ended;     /* there is no second one */
};

static enum status launch_sighted(void *self, const struct operands *operands, double alpha, double beta)
{
    struct sighted *s = self;
    const int call = s->calls++;
    enum status st = OK;
    if (call == 1) {
        st = stopwatch_between(s->watch, 0, 1, &s->call_us);
        s->ended = !st && screen_at_sight(s->call_us, s->best_us, s->limit_s);
    }
    if (st) return st;
    if (s->ended) return fail(E_ABSENT, "one call of this candidate is enough");
    if (call == 0) st = stopwatch_mark(s->watch, 0);
    if (!st) st = s->kernel->launch(s->kernel->self, operands, alpha, beta);
    return st || call > 0 ? st : stopwatch_mark(s->watch, 1);
}

/* A wrong result may be caused by an earlier candidate's stray writes. So everything is rewritten and the
 * candidate judged again. If it is wrong again, everything is rewritten for the next candidate. */
static enum status judge_fairly(struct oracle *oracle, struct sighted *sighted, struct judgement *judgement)
{
    const struct kernel kernel = {.self = sighted, .launch = launch_sighted};
    enum status st = oracle_judge(oracle, &kernel, judgement);
    if (st || judgement->right) return st;
    st = oracle_restore(oracle);
    if (!st) st = oracle_judge(oracle, sighted->kernel, judgement);
    if (!st && !judgement->right) st = oracle_restore(oracle);
    return st;
}

/* Takes samples until the screen has enough. */
static enum status screen(struct timed *timed, double best_us, struct outcome *o)
{
    bool drop = false;
    int more;
    double call_us = timed->call_us;
    /* Where one sample is enough, the call that estimated it is that sample. */
    if (screen_samples(call_us) == 1) o->samples_us[o->sample_count++] = call_us;
    while ((more = screen_next(o->samples_us, o->sample_count, call_us, best_us, &drop)) > 0) {
        int64_t calls;
        enum status st =
            timed_blocks(timed, more, MEASURE_BLOCK_US, o->samples_us + o->sample_count, &calls, &o->state);
        if (st) return st;
        o->sample_count += more;
    }
    o->time_us = stats_median(o->samples_us, (size_t)o->sample_count);
    o->verdict = drop ? VERDICT_SLOW : VERDICT_MEASURED;
    return OK;
}

static enum status time_and_recheck(struct trial_setup *setup, const struct kernel *kernel,
                                    const struct judgement *judgement, double best_us, struct outcome *o)
{
    struct timed timed = {0};
    bool same = true;
    enum status st = timed_start(&setup->watch, &setup->work, kernel, &timed);
    if (!st) st = screen(&timed, best_us, o);
    if (!st) st = oracle_recheck(&setup->oracle, kernel, judgement, timed.sets_used, &same);
    timed_stop(&timed);
    if (st || same) return st;
    o->verdict = VERDICT_WRONG;
    o->time_us = 0;
    snprintf(o->detail, sizeof o->detail, "C after timing differs from the C judged before");
    return oracle_restore(&setup->oracle);
}

static enum status judge_and_time(struct trial_setup *setup, const struct kernel *kernel, double best_us,
                                  double limit_s, struct outcome *o)
{
    struct judgement judgement = {0};
    struct sighted sighted = {
        .kernel = kernel, .watch = &setup->watch, .best_us = best_us, .limit_s = limit_s};
    enum status st = judge_fairly(&setup->oracle, &sighted, &judgement);
    if (sighted.ended) {
        o->verdict = VERDICT_SLOW;
        o->time_us = o->samples_us[0] = sighted.call_us;
        o->sample_count = 1;
        snprintf(o->detail, sizeof o->detail, "its first call took so long that no other was made");
        return OK;
    }
    if (st) return st;
    o->exact = judgement.exact;
    o->worst_error = judgement.worst;
    o->errors = judgement.errors;
    snprintf(o->detail, sizeof o->detail, "%s", judgement.detail);
    /* An accuracy class requires more than the bound: errors not far above the rival's on the same data. */
    const struct gemm_type_row *type = gemm_type_row(setup->problem.type);
    if (judgement.right && accuracy_answers(type, &judgement.errors, &setup->anchor_errors))
        return time_and_recheck(setup, kernel, &judgement, best_us, o);
    o->verdict = VERDICT_WRONG;
    if (judgement.right && !accuracy_is_known(&setup->anchor_errors))
        snprintf(o->detail, sizeof o->detail, "no rival's errors are there to compare with, as %s demands",
                 type->name);
    else if (judgement.right)
        snprintf(o->detail, sizeof o->detail,
                 "not accurate enough for %s: its error is %.2g rms, the rival's %.2g", type->name,
                 judgement.errors.rms, setup->anchor_errors.rms);
    return OK;
}

enum status trial_run(struct trial_setup *setup, const struct candidate *candidate, double best_us,
                      double limit_s, struct outcome *outcome)
{
    double start = now_s();
    struct outcome o = {.facts = candidate->facts, .cold = setup->cold, .errors = accuracy_unknown()};
    struct kernel kernel = {0};
    enum status st = kernel_load(setup->device, &candidate->config, &setup->problem, candidate->cubin,
                                 candidate->checksum, &kernel);
    if (!st) st = judge_and_time(setup, &kernel, best_us, limit_s, &o);
    if (st && device_lost()) o.verdict = VERDICT_CRASHED;
    else if (st == E_ABSENT) o.verdict = VERDICT_REFUSED;
    if (st && (device_lost() || st == E_ABSENT)) {
        snprintf(o.detail, sizeof o.detail, "%.199s", status_text());
        o.time_us = 0;
        st = OK;
    }
    kernel_close(&kernel);
    o.wall_ms = 1e3 * (now_s() - start);
    *outcome = o;
    return st;
}
