#include "behind.h"

#include <math.h>

#define BEFORE_SHARE  0.25
#define BEFORE_WEIGHT 0.2  /* of the last block in the mean */
#define ADDED_LEAST   1e-3 /* us */

static enum status rewrite(void *self, const struct operands *operands, double alpha, double beta)
{
    const struct before *before = self;
    (void)alpha, (void)beta;
    return oracle_rewrite(before->work->kernels,
                          workload_a(before->work, workload_set_of(before->work, operands)));
}

enum status before_start(struct stopwatch *watch, const struct workload *work, struct before *before)
{
    *before = (struct before){.work = work, .kernel = {.self = before, .launch = rewrite}};
    return timed_start(watch, work, &before->kernel, &before->timed);
}

void before_stop(struct before *before)
{
    timed_stop(&before->timed);
    *before = (struct before){0};
}

static enum status launch_pair(void *self, const struct operands *operands, double alpha, double beta)
{
    const struct timed *call = ((const struct behind *)self)->call;
    const int set = workload_set_of(call->work, operands);
    struct operands own = *operands;
    own.prepared = timed_prepared(call, set);
    const enum status st = oracle_rewrite(call->work->kernels, workload_a(call->work, set));
    return st ? st : call->kernel->launch(call->kernel->self, &own, alpha, beta);
}

enum status behind_start(const struct timed *call, struct behind *behind)
{
    *behind = (struct behind){.call = call, .kernel = {.self = behind, .launch = launch_pair}};
    const enum status st = timed_start(call->watch, call->work, &behind->kernel, &behind->timed);
    if (st) *behind = (struct behind){0};
    return st;
}

void behind_stop(struct behind *behind)
{
    timed_stop(&behind->timed);
    *behind = (struct behind){0};
}

enum status behind_block(struct before *before, struct behind *behind, double block_us, double *us,
                         int64_t *calls, struct gpu_state *state)
{
    double alone_us, pair_us;
    enum status st = timed_blocks(&before->timed, 1, BEFORE_SHARE * block_us, &alone_us, calls, NULL);
    if (!st) st = timed_blocks(&behind->timed, 1, (1 - BEFORE_SHARE) * block_us, &pair_us, calls, state);
    if (st) return st;
    const double last = before->us > 0 ? BEFORE_WEIGHT : 1;
    before->us = last * alone_us + (1 - last) * before->us;
    *us = fmax(pair_us - before->us, ADDED_LEAST);
    return OK;
}
