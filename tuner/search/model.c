#include "model.h"

#include "cores.h"
#include "template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LAUNCH_US 1.7

struct prediction model_predict(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu, const struct kernel_facts *facts)
{
    if (problem->m == 0 || problem->n == 0 || problem->batch == 0)
        return (struct prediction){.overhead_us = LAUNCH_US, .time_us = LAUNCH_US};
    return config->template->predict(config, problem, gpu, facts);
}

bool model_is_possible(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                       double time_us, char why[OUTCOME_DETAIL_MAX])
{
    const double peak = gpu_peak_tflops(gpu, problem->type),
                 least_us = model_roofline_us(problem, peak, gpu->memory_gb_per_s);
    if (!(peak > 0 && gpu->memory_gb_per_s > 0) || time_us >= least_us) return true;
    snprintf(why, OUTCOME_DETAIL_MAX,
             "the model of the family %s predicts %.2f us (%.1f TFLOPS), and the GPU (%.1f TFLOPS, %.0f "
             "GB/s) needs "
             "%.2f us: its description is wrong",
             config->template->name, time_us, problem_flop(problem) / time_us * 1e-6, peak,
             gpu->memory_gb_per_s, least_us);
    return false;
}

struct ranked {
    double time_us;
    size_t index;
};

static int by_time(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->time_us != b->time_us) return a->time_us < b->time_us ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Bring candidates into the given order, which is used up, without a second copy of them all. */
static void permute(struct config *candidates, struct ranked *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (order[i].index == i) continue;
        struct config first = candidates[i];
        size_t hole = i;
        while (order[hole].index != i) {
            size_t from = order[hole].index;
            candidates[hole] = candidates[from];
            order[hole].index = hole;
            hole = from;
        }
        candidates[hole] = first;
        order[hole].index = hole;
    }
}

struct prediction_work {
    const struct config *candidates;
    const struct problem *problem;
    const struct gpu *gpu;
    struct ranked *order;
    size_t count;
};

enum { PIECE = 2048 }; /* candidates: some milliseconds */

static void predict_piece(void *self, size_t piece)
{
    const struct prediction_work *w = self;
    for (size_t i = piece * PIECE; i < w->count && i < (piece + 1) * PIECE; i++)
        w->order[i] = (struct ranked){model_predict(&w->candidates[i], w->problem, w->gpu, NULL).time_us, i};
}

enum status model_sort(struct config *candidates, size_t count, const struct problem *problem,
                       const struct gpu *gpu, double *predicted_us)
{
    struct ranked *order = malloc((count + 1) * sizeof *order);
    if (!order) return fail(E_MEMORY, "out of memory while sorting %zu candidates", count);
    struct prediction_work work = {candidates, problem, gpu, order, count};
    parallel_for((count + PIECE - 1) / PIECE, predict_piece, &work);
    qsort(order, count, sizeof *order, by_time);
    for (size_t i = 0; predicted_us && i < count; i++) predicted_us[i] = order[i].time_us;
    permute(candidates, order, count);
    free(order);
    return OK;
}

double model_roofline_us(const struct problem *problem, double tflops, double gb_per_s)
{
    double compute = problem_flop(problem) / (tflops * 1e6),
           memory = problem_bytes(problem) / (gb_per_s * 1e3);
    return fmax(compute, memory) + LAUNCH_US;
}
