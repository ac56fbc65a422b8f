#include "load.h"

#include "clock.h"
#include <math.h>

#define FINE_US 5e3 /* parts in which a step of the counter is awaited */
#define RUN_US  5e4 /* parts between the steps */
#define STEP_S  1.0 /* a counter that has not moved for so long is none */
#define CALLS   4   /* at least, where a call takes long */

struct run {
    struct timed *timed;
    struct gpu_state state;
    int64_t calls;
    bool counts; /* the driver counts energy, */
    uint64_t mj; /* and has counted this */
};

static enum status part(struct run *run, double part_us)
{
    double us;
    int64_t calls = 0;
    const enum status st = timed_blocks(run->timed, 1, part_us, &us, &calls, &run->state);
    run->calls += calls;
    return st;
}

static void read_counter(struct run *run)
{
    run->counts = run->counts && nvml_energy(&run->timed->watch->nvml, &run->mj);
}

static enum status run_until(struct run *run, double end_s)
{
    enum status st = OK;
    while (!st && now_s() < end_s) st = part(run, RUN_US);
    read_counter(run);
    return st;
}

/* Until the counter has moved; a call that takes longer than its step moves it. */
static enum status await_step(struct run *run)
{
    const uint64_t before = run->mj;
    const double limit_s = now_s() + STEP_S;
    enum status st = OK;
    while (!st && run->counts && run->mj == before) {
        st = part(run, FINE_US);
        read_counter(run);
        if (run->mj == before && now_s() > limit_s) run->counts = false;
    }
    return st;
}

enum status timed_load(struct timed *timed, double lead_s, double seconds, struct load *load)
{
    struct run run = {.timed = timed, .counts = true};
    enum status st = run_until(&run, now_s() + lead_s);
    if (!st) st = await_step(&run);
    const double begin_s = now_s();
    const uint64_t begin_mj = run.mj;
    run.calls = 0;
    if (!st) st = run_until(&run, begin_s + fmax(seconds, 1e-6 * CALLS * timed->call_us));
    if (!st) st = await_step(&run);
    if (st) return st;
    const double spent_s = now_s() - begin_s, joules = run.counts ? 1e-3 * (double)(run.mj - begin_mj) : 0;
    *load = (struct load){.call_us = 1e6 * spent_s / (double)run.calls,
                          .joules = joules / (double)run.calls,
                          .watts = joules / spent_s,
                          .calls = run.calls,
                          .state = run.state};
    return OK;
}
