#include "bench.h"

#include "rivals.h"

#include "print.h"
#include "stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_DEADLINE_S 300.0
#define FIRST_DEADLINE_S 300.0 /* a rival's first block: its own search */
#define BLOCK_DEADLINE_S 60.0
#define SEED             1 /* of the operands */

/* As in a race under load (budget.c); the energy's counter goes on in steps of 0.1 s. */
#define LOAD_LEAD_MS    500.0
#define LOAD_BLOCK_MS   1000.0
#define ENERGY_BLOCK_MS 2000.0
#define LOAD_ROUNDS     3

const char *const bench_names[BENCH_RUNNERS] = {"own", "cublas", "lt", "autotune", "bf16x9"};

/* ---- who runs ---- */

/* On all cores. */
static enum status build_known(struct children *children, struct bench_row *rows, size_t count)
{
    struct kernel_key *kernels = calloc(count, sizeof *kernels);
    struct build *builds = calloc(count, sizeof *builds);
    const int arch = children_worker(children, 0)->gpu.arch;
    int wanted = 0;
    enum status st = kernels && builds ? OK : fail(E_MEMORY, "out of memory for %zu kernels", count);
    for (size_t i = 0; i < count && !st; i++)
        if (rows[i].known) kernels[wanted++] = kernel_key_of(&rows[i].fastest.config, &rows[i].problem, arch);
    if (!st && wanted > 0) st = children_build_all(children, kernels, wanted, builds);
    for (size_t i = 0, at = 0; i < count && !st && wanted > 0; i++)
        if (rows[i].known) rows[i].build = builds[at++];
    free(kernels);
    free(builds);
    return st;
}

enum status bench_choose(struct children *children, struct db *db, struct winner_store *pretuned, bool cold,
                         struct bench_row *rows, size_t count)
{
    enum status st = OK;
    for (size_t i = 0; i < count && !st; i++) {
        st = fastest_find(db, pretuned, children_worker(children, 0), cold, &rows[i].problem,
                          &rows[i].fastest);
        rows[i].known = st == OK;
        if (st == E_ABSENT) st = OK;
    }
    return st ? st : build_known(children, rows, count);
}

/* ---- times ---- */

static enum status prepare(struct children *children, const struct bench_plan *plan, double warm_s,
                           struct bench_row *row, bool *cublas)
{
    json_t *answer = NULL, *request = request_prepare(&row->problem, plan->cold, SEED, warm_s, 0);
    json_object_set_new(request, "one_by_one", json_boolean(plan->one_by_one));
    enum status st = children_ask(children, 0, request, CHILDREN_PREPARE_S, &answer);
    *cublas = !st && json_number_value(json_object_get(answer, "anchor_us")) > 0;
    if (!st) accuracy_from_json(json_object_get(answer, "anchor_errors"), &row->rival_errors);
    json_decref(answer);
    return st;
}

static enum status judge(struct children *children, struct bench_row *row)
{
    json_t *answer = NULL;
    if (!row->build.built) {
        row->outcome = outcome_failed(row->build.verdict, "%s", row->build.detail);
        return OK;
    }
    enum status st = children_ask(children, 0, request_trial(&row->fastest.config, &row->build, 0, 0),
                                  TRIAL_DEADLINE_S, &answer);
    if (!st) st = outcome_from_json(json_object_get(answer, "outcome"), &row->outcome);
    json_decref(answer);
    return st;
}

static json_t *request_of(const struct bench_plan *plan, struct bench_row *row, int runner)
{
    return runner == BENCH_OWN
               ? request_block(&row->fastest.config, &row->build, plan->block_ms)
               : request_rival_block(runner == BENCH_CUBLAS ? "anchor" : bench_names[runner], plan->block_ms);
}

/* A block under load is long enough to be at the power limit, and so is what comes before it. */
static json_t *request_in(const struct bench_plan *plan, struct bench_row *row, int runner,
                          enum call_timing timing)
{
    json_t *request = request_with_timing(request_of(plan, row, runner), timing, LOAD_LEAD_MS);
    if (request && timing == TIMING_LOAD)
        json_object_set_new(request, "block_ms", json_real(plan->energy ? ENERGY_BLOCK_MS : LOAD_BLOCK_MS));
    return request;
}

static void note_state(struct children *children, struct bench_row *row, const json_t *state)
{
    const double limit_w = json_number_value(json_object_get(state, "power_limit_w")),
                 was_w = children_worker(children, 0)->power_limit_w;
    const json_int_t processes = json_integer_value(json_object_get(state, "processes"));
    if (processes > 1)
        snprintf(row->trouble, sizeof row->trouble, "%d other process%s used the GPU", (int)processes - 1,
                 processes == 2 ? "" : "es");
    if (limit_w > 0 && was_w > 0 && limit_w != was_w)
        snprintf(row->trouble, sizeof row->trouble, "the power limit changed from %.0f W to %.0f W", was_w,
                 limit_w);
}

struct sample {
    double time_us, joules, watts;
};

static enum status block(struct children *children, const struct bench_plan *plan, struct bench_row *row,
                         int runner, enum call_timing timing, double deadline_s, struct sample *sample)
{
    json_t *request = request_in(plan, row, runner, timing);
    json_t *answer = NULL;
    enum status st = request ? children_ask(children, 0, request, deadline_s, &answer)
                             : fail(E_MEMORY, "out of memory for a request");
    if (!st) {
        sample->time_us = json_number_value(json_object_get(answer, "time_us"));
        sample->joules = json_number_value(json_object_get(answer, "joules"));
        sample->watts = json_number_value(json_object_get(answer, "watts"));
        note_state(children, row, json_object_get(answer, "state"));
    }
    const char *detail = json_string_value(json_object_get(answer, "detail"));
    if (!st && detail)
        snprintf(row->times[runner].detail, sizeof row->times[runner].detail, "%.100s", detail);
    json_decref(answer);
    return st;
}

/* The first block of each is its warm-up, a rival's search, and not counted. Who is not there sits out. */
static enum status contenders(struct children *children, const struct bench_plan *plan, struct bench_row *row,
                              bool cublas, int runners[BENCH_RUNNERS], int *count)
{
    *count = 0;
    for (int runner = 0; runner < BENCH_RUNNERS; runner++) {
        bool there = runner == BENCH_OWN ? row->known && outcome_usable(&row->outcome)
                     : runner == BENCH_CUBLAS
                         ? cublas
                         : cublas && plan->wanted[runner] && rival_for(bench_names[runner], &row->problem);
        if (!there) continue;
        struct sample ignored;
        enum status st = block(children, plan, row, runner, TIMING_REPEAT, FIRST_DEADLINE_S, &ignored);
        if (st == E_ABSENT) {
            snprintf(row->times[runner].detail, sizeof row->times[runner].detail, "%.119s", status_text());
            continue;
        }
        if (st) return st;
        runners[(*count)++] = runner;
    }
    return OK;
}

static void shuffle(int *order, int count, uint64_t *random)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)stats_random_below(random, (uint64_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static enum status run_rounds(struct children *children, const struct bench_plan *plan, struct bench_row *row,
                              enum call_timing timing, int rounds, int *runners, int count,
                              struct sample samples[BENCH_RUNNERS][BENCH_ROUNDS_MAX])
{
    uint64_t random = plan->seed;
    enum status st = OK;
    for (int round = 0; round < rounds && !st; round++) {
        shuffle(runners, count, &random);
        for (int i = 0; i < count && !st; i++)
            st =
                block(children, plan, row, runners[i], timing, BLOCK_DEADLINE_S, &samples[runners[i]][round]);
    }
    return st;
}

static void summarize(struct bench_times *times, const struct sample *own, const struct sample *samples,
                      int rounds)
{
    double us[BENCH_ROUNDS_MAX], ratios[BENCH_ROUNDS_MAX], joules[BENCH_ROUNDS_MAX], watts[BENCH_ROUNDS_MAX];
    const size_t n = (size_t)rounds;
    for (size_t i = 0; i < n; i++) {
        us[i] = samples[i].time_us;
        joules[i] = samples[i].joules;
        watts[i] = samples[i].watts;
        ratios[i] = own ? us[i] / own[i].time_us : 0;
    }
    times->time_us = stats_median(us, n);
    stats_median_interval(us, n, &times->low_us, &times->high_us);
    times->watts = stats_median(watts, n);
    times->joules = stats_median(joules, n);
    stats_median_interval(joules, n, &times->joules_low, &times->joules_high);
    if (!own) return;
    times->ratio = stats_median(ratios, n);
    stats_median_interval(ratios, n, &times->ratio_low, &times->ratio_high);
}

static enum status race_in(struct children *children, const struct bench_plan *plan, struct bench_row *row,
                           enum call_timing timing, int *runners, int count)
{
    struct sample samples[BENCH_RUNNERS][BENCH_ROUNDS_MAX];
    struct bench_times *times = timing == TIMING_REPEAT ? row->times : row->others[timing];
    const int rounds = timing == TIMING_LOAD && plan->rounds > LOAD_ROUNDS ? LOAD_ROUNDS : plan->rounds;
    enum status st = run_rounds(children, plan, row, timing, rounds, runners, count, samples);
    if (st == E_ABSENT && timing != TIMING_REPEAT) {
        snprintf(row->trouble, sizeof row->trouble, "%s: %.140s", timing_name(timing), status_text());
        return OK;
    }
    if (st) return st;
    bool own = false;
    for (int i = 0; i < count; i++) own |= runners[i] == BENCH_OWN;
    for (int i = 0; i < count; i++)
        summarize(&times[runners[i]], own ? samples[BENCH_OWN] : NULL, samples[runners[i]], rounds);
    if (timing == TIMING_LOAD && plan->energy && count > 0 && !(times[runners[0]].joules > 0))
        snprintf(row->trouble, sizeof row->trouble, "the driver counts no energy of this GPU");
    return OK;
}

static enum status race(struct children *children, const struct bench_plan *plan, struct bench_row *row,
                        bool cublas)
{
    int runners[BENCH_RUNNERS], count = 0;
    enum status st = contenders(children, plan, row, cublas, runners, &count);
    for (int timing = TIMING_REPEAT; timing < TIMING_COUNT && !st; timing++)
        if (timing == TIMING_REPEAT || plan->timing[timing])
            st = race_in(children, plan, row, (enum call_timing)timing, runners, count);
    return st;
}

enum status bench_run(struct children *children, const struct bench_plan *plan, double warm_s,
                      struct bench_row *row)
{
    bool cublas = false;
    enum status st = prepare(children, plan, warm_s, row, &cublas);
    if (!st && row->known) st = judge(children, row);
    if (st == E_CHILD && row->known) { /* the worker died of it and has been restarted */
        row->outcome = outcome_failed(VERDICT_CRASHED, "%s", status_text());
        st = prepare(children, plan, warm_s, row, &cublas);
    }
    return st ? st : race(children, plan, row, cublas);
}

double bench_mean(const struct bench_row *rows, size_t rows_count, enum bench_runner runner, size_t *count)
{
    double sum = 0;
    *count = 0;
    for (size_t i = 0; i < rows_count; i++) {
        if (!(rows[i].times[runner].ratio > 0)) continue;
        sum += log(rows[i].times[runner].ratio);
        ++*count;
    }
    return *count ? exp(sum / (double)*count) : (double)NAN;
}
