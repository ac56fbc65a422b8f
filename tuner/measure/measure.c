#include "measure.h"

#include "clock.h"
#include "screen.h"
#include "stats.h"
#include <math.h>
#include <string.h>

#define GRAPH_BELOW_US 100.0 /* shorter calls are captured */
#define GRAPH_US       1000.0
#define BURST_BELOW_US 1000.0 /* of shorter calls some are timed one after the other */
#define LOADING_US     1e6    /* the first call of a library may take so long that loads its kernels */
#define PREPARED_UNIT  256    /* bytes; the alignment of an allocation */
#define TRY_BELOW_US   2e4    /* a longer call is no short one that was disturbed */

/* Blocks of warming up. As SCREEN_STEADY of them must agree, a clock that rests for 150 ms on its way up from
 * idle is not taken for settled. What a power limit does over seconds shows in the longer blocks of long
 * runs. */
#define WARM_LEAST_US 50e3
#define WARM_MOST_US  750e3

enum { GRAPH_CALLS_MAX = 1024, RETRIES = 3, FIRST_TRIES = 3, BURSTS = 2, BURST_CALLS = 8 };

enum status stopwatch_open(struct device *device, struct stopwatch *watch)
{
    *watch = (struct stopwatch){.device = device};
    nvml_open(&watch->nvml, device->uuid);
    for (int i = 0; i <= MEASURE_BLOCKS_MAX; i++) {
        enum status st =
            device_check(cuda.EventCreate(&watch->event[i], CU_EVENT_DEFAULT), "creating an event");
        if (st) {
            stopwatch_close(watch);
            return st;
        }
    }
    return OK;
}

void stopwatch_close(struct stopwatch *watch)
{
    for (int i = 0; i <= MEASURE_BLOCKS_MAX; i++)
        if (watch->event[i]) cuda.EventDestroy(watch->event[i]);
    *watch = (struct stopwatch){0};
}

enum status stopwatch_mark(struct stopwatch *watch, int event)
{
    return device_check(cuda.EventRecord(watch->event[event], watch->device->stream), "recording an event");
}

enum status stopwatch_between(struct stopwatch *watch, int from, int to, double *us)
{
    float ms = 0;
    enum status st = device_check(cuda.EventElapsedTime(&ms, watch->event[from], watch->event[to]),
                                  "reading the time between two events");
    *us = fmax(1e3 * (double)ms, 1e-3); /* never 0 */
    return st;
}

/* At a multiple of what an allocation is aligned to. */
CUdeviceptr timed_prepared(const struct timed *t, int set)
{
    const size_t step = (t->kernel->prepared_bytes + PREPARED_UNIT - 1) / PREPARED_UNIT * PREPARED_UNIT;
    return t->kernel->prepare ? t->prepared.address + (CUdeviceptr)((size_t)set * step) : 0;
}

/* One for each set, so that it is as cold as the other operands. */
static enum status prepare_sets(struct timed *t)
{
    const int sets = t->work->layout.sets;
    if (!t->kernel->prepare) return OK;
    enum status st = device_allocate(&t->prepared, (size_t)(timed_prepared(t, sets) - timed_prepared(t, 0)));
    if (st && !device_lost()) st = fail(E_ABSENT, "prepared operands: %s", status_text());
    for (int set = 0; set < sets && !st; set++) {
        const struct operands operands = workload_operands(t->work, set);
        st = t->kernel->prepare(t->kernel->self, &operands, timed_prepared(t, set));
    }
    return st;
}

static enum status call(struct timed *t)
{
    const struct problem *p = &t->work->problem;
    struct operands operands = workload_operands(t->work, t->next_set);
    operands.prepared = timed_prepared(t, t->next_set);
    t->next_set = (t->next_set + 1) % t->work->layout.sets;
    if (t->sets_used < t->work->layout.sets) t->sets_used++;
    return t->kernel->launch(t->kernel->self, &operands, p->alpha, p->beta);
}

/* Captures a graph of calls that uses all sets equally often. */
static enum status capture(struct timed *t)
{
    CUstream stream = t->watch->device->stream;
    int sets = t->work->layout.sets;
    int calls = (int)fmin(ceil(GRAPH_US / t->call_us), GRAPH_CALLS_MAX);
    calls = (calls + sets - 1) / sets * sets;
    enum status st =
        device_check(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "starting a capture");
    if (st) return st;
    t->next_set = 0;
    for (int i = 0; i < calls && !st; i++) st = call(t);
    CUgraph graph = NULL;
    enum status ended = device_check(cuda.StreamEndCapture(stream, &graph), "ending a capture");
    if (!st) st = ended;
    if (!st) st = device_check(cuda.GraphInstantiate(&t->graph, graph, 0), "building a graph of calls");
    if (graph) cuda.GraphDestroy(graph);
    t->graph_calls = calls;
    return st;
}

/* Alone, a short call seems longer, because its launch is timed with it; in the graph it is not. */
static enum status estimate_from_graph(struct timed *t)
{
    CUstream stream = t->watch->device->stream;
    enum status st = device_check(cuda.GraphLaunch(t->graph, stream), "launching a graph of calls");
    if (!st) st = stopwatch_mark(t->watch, 0);
    if (!st) st = device_check(cuda.GraphLaunch(t->graph, stream), "launching a graph of calls");
    if (!st) st = stopwatch_mark(t->watch, 1);
    if (!st) st = device_check(cuda.EventSynchronize(t->watch->event[1]), "timing a graph of calls");
    if (!st) st = stopwatch_between(t->watch, 0, 1, &t->call_us);
    t->call_us /= t->graph_calls;
    return st;
}

/* The time of a call, of so many one after the other. */
static enum status time_calls(struct timed *t, int calls)
{
    enum status st = stopwatch_mark(t->watch, 0);
    for (int i = 0; i < calls && !st; i++) st = call(t);
    if (!st) st = stopwatch_mark(t->watch, 1);
    if (!st) st = device_check(cuda.EventSynchronize(t->watch->event[1]), "timing a first call");
    if (!st) st = stopwatch_between(t->watch, 0, 1, &t->call_us);
    t->call_us /= calls;
    return st;
}

/* The first call includes loading the code, and one of cuBLAS chooses its kernel in one of the next ones,
 * too. Alone, a short call seems longer, for its launch is timed with it; behind others it is not. The
 * shortest of some tries counts: a rival whose calls seem long would be timed with their launches, and others
 * without. */
static enum status time_first_calls(struct timed *t)
{
    double least_us = (double)INFINITY;
    enum status st = time_calls(t, 1);
    for (int i = 0, bursts = 0; i < FIRST_TRIES && bursts < BURSTS && !st; i++) {
        if (t->call_us >= (i == 0 ? LOADING_US : TRY_BELOW_US)) break;
        const bool burst = i > 0 && least_us < BURST_BELOW_US;
        st = time_calls(t, burst ? BURST_CALLS : 1);
        bursts += burst;
        t->call_us = least_us = fmin(least_us, t->call_us);
    }
    return st;
}

static bool wants_graph(const struct timed *t)
{
    return !t->graph && t->call_us < GRAPH_BELOW_US && !t->watch->one_by_one;
}

enum status timed_start(struct stopwatch *watch, const struct workload *work, const struct kernel *kernel,
                        struct timed *timed)
{
    struct timed t = {.watch = watch, .work = work, .kernel = kernel};
    enum status st = prepare_sets(&t);
    if (!st) st = time_first_calls(&t);
    if (!st && wants_graph(&t)) {
        st = capture(&t);
        if (!st) st = estimate_from_graph(&t);
    }
    if (st) timed_stop(&t);
    else *timed = t;
    return st;
}

void timed_stop(struct timed *timed)
{
    if (timed->graph) cuda.GraphExecDestroy(timed->graph);
    device_free(&timed->prepared);
    *timed = (struct timed){0};
}

/* With beta != 0, timing adds to C again and again: start from the problem's values. */
static enum status reset_c(struct timed *t)
{
    enum status st = OK;
    for (int set = 0; set < t->work->layout.sets && workload_feeds_back(t->work) && !st; set++)
        st = oracle_fill(t->work->kernels, workload_c(t->work, set), t->work->random.rule[OPERAND_C]);
    return st;
}

static enum status enqueue(struct timed *t, int launches)
{
    enum status st = OK;
    for (int i = 0; i < launches && !st; i++)
        st = t->graph ? device_check(cuda.GraphLaunch(t->graph, t->watch->device->stream),
                                     "launching a graph of calls")
                      : call(t);
    return st;
}

static enum status run_blocks(struct timed *t, int count, double block_us, double *samples_us, int64_t *calls,
                              struct gpu_state *state)
{
    int a_launch = t->graph ? t->graph_calls : 1;
    int launches = screen_calls(t->call_us * a_launch, block_us);
    enum status st = reset_c(t);
    if (!st) st = stopwatch_mark(t->watch, 0);
    for (int block = 0; block < count && !st; block++) {
        st = enqueue(t, launches);
        if (!st) st = stopwatch_mark(t->watch, block + 1);
    }
    nvml_read(&t->watch->nvml, state);
    if (!st) st = device_check(cuda.EventSynchronize(t->watch->event[count]), "timing blocks of calls");
    *calls = (int64_t)launches * a_launch;
    for (int block = 0; block < count && !st; block++) {
        st = stopwatch_between(t->watch, block, block + 1, &samples_us[block]);
        samples_us[block] /= (double)*calls;
    }
    if (!st) t->call_us = samples_us[count - 1];
    return st;
}

enum status timed_blocks(struct timed *timed, int count, double block_us, double *samples_us, int64_t *calls,
                         struct gpu_state *state)
{
    struct gpu_state now = {0};
    enum status st = OK;
    for (int attempt = 0; attempt <= RETRIES && !st; attempt++) {
        st = run_blocks(timed, count, block_us, samples_us, calls, &now);
        /* All first calls were disturbed, if the host was busy or much had to be loaded. */
        if (!st && wants_graph(timed)) st = capture(timed);
        else if (!(now.throttle_reasons & NVML_REASONS_REJECTED)) break;
    }
    if (state) *state = now;
    return st;
}

static double warm_block_us(double limit_s)
{
    const double wanted = fmin(WARM_MOST_US, fmax(WARM_LEAST_US, 1e6 * limit_s / 16));
    return fmin(wanted, 1e6 * limit_s / 5); /* within the limit, there is time for as many as must agree */
}

enum status timed_warm_up(struct timed *timed, double limit_s, double *medians, int room, int *count,
                          double *spent_s)
{
    enum { PARTS = 10 };
    const double start = now_s(), block_us = warm_block_us(limit_s);
    double kept[SCREEN_STEADY] = {0};
    const int parts = timed->call_us < SCREEN_LONG_US ? PARTS : 1; /* a part is a call at least */
    int blocks = 0;
    enum status st = OK;
    *count = 0;
    do {
        double samples[PARTS];
        int64_t calls;
        st = timed_blocks(timed, parts, block_us / parts, samples, &calls, NULL);
        if (st) break;
        memmove(kept, kept + 1, (SCREEN_STEADY - 1) * sizeof *kept);
        kept[SCREEN_STEADY - 1] = stats_median(samples, (size_t)parts);
        blocks++;
        if (*count == room && room > 0)
            memmove(medians, medians + 1, (size_t)(room - 1) * sizeof *medians), --*count;
        if (room > 0) medians[(*count)++] = kept[SCREEN_STEADY - 1];
    } while (!(blocks >= SCREEN_STEADY && screen_steady(kept, SCREEN_STEADY)) && now_s() - start < limit_s);
    *spent_s = now_s() - start;
    return st;
}
