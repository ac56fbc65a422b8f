#include "energy.h"

#include "clock.h"
#include <math.h>

#define FINE_US 5e3  /* blocks in which a step of the counter is awaited */
#define RUN_US  5e4  /* blocks between the steps */
#define STEP_S  3.0  /* a counter that has not moved for so long, and so many calls, does not count */
#define CALLS   4    /* at least, where a call takes long */

struct run {
    struct timed *timed;
    int64_t calls;
    uint64_t mj; /* the counter */
};

static enum status block(struct run *run, double block_us, struct gpu_state *state)
{
    double us;
    int64_t calls = 0;
    const enum status st = timed_blocks(run->timed, 1, block_us, &us, &calls, state);
    run->calls += calls;
    return st;
}

static enum status read_counter(struct run *run)
{
    if (nvml_energy(&run->timed->watch->nvml, &run->mj)) return OK;
    return fail(E_ABSENT, "the driver counts no energy of this GPU (NVML)");
}

/* Until the counter has moved. */
static enum status await_step(struct run *run, struct gpu_state *state)
{
    const uint64_t before = run->mj;
    const double limit_s = now_s() + fmax(STEP_S, 1e-6 * CALLS * run->timed->call_us);
    enum status st = OK;
    while (!st && run->mj == before) {
        st = now_s() < limit_s ? block(run, FINE_US, state)
                               : fail(E_ABSENT, "the driver's counter of energy does not move");
        if (!st) st = read_counter(run);
    }
    return st;
}

enum status timed_energy(struct timed *timed, double lead_s, double seconds, struct energy *energy)
{
    struct run run = {.timed = timed};
    struct gpu_state state = {0};
    enum status st = read_counter(&run);
    for (const double end_s = now_s() + lead_s; !st && now_s() < end_s;) st = block(&run, RUN_US, NULL);
    if (!st) st = read_counter(&run);
    if (!st) st = await_step(&run, &state);
    const double begin_s = now_s(), least_s = fmax(seconds, 1e-6 * CALLS * timed->call_us);
    const uint64_t begin_mj = run.mj;
    run.calls = 0;
    while (!st && now_s() - begin_s < least_s) st = block(&run, RUN_US, &state);
    if (!st) st = read_counter(&run);
    if (!st) st = await_step(&run, &state);
    if (st) return st;
    const double spent_s = now_s() - begin_s, joules = 1e-3 * (double)(run.mj - begin_mj);
    *energy = (struct energy){.joules = joules / (double)run.calls,
                              .watts = joules / spent_s,
                              .call_us = 1e6 * spent_s / (double)run.calls,
                              .seconds = spent_s,
                              .sm_clock_mhz = state.sm_clock_mhz};
    return OK;
}
