#include "trial_setup.h"

enum status trial_setup_open(struct device *device, const char *cache, struct trial_setup *setup)
{
    *setup = (struct trial_setup){.device = device, .cache = cache};
    enum status st = oracle_kernels_load(device, cache, GEMM_TYPE_DEFAULT, &setup->kernels);
    if (!st) st = stopwatch_open(device, &setup->watch);
    if (st) trial_setup_close(setup);
    return st;
}

void trial_setup_close(struct trial_setup *setup)
{
    trial_setup_clear(setup);
    stopwatch_close(&setup->watch);
    oracle_kernels_unload(&setup->kernels);
}

void trial_setup_clear(struct trial_setup *setup)
{
    oracle_close(&setup->oracle);
    workload_close(&setup->work);
    setup->ready = false;
}

/* Memory is divided before anything is allocated: at least two sets of operands, then answers, then more
 * sets. Some is left for the workspaces of the candidates and the rival. */
static enum status share_memory(const struct trial_setup *setup, const struct problem *problem,
                                struct oracle_limits *limits, int64_t *for_sets)
{
    size_t free_bytes = 0, total_bytes = 0;
    enum status st = device_check(cuda.MemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    if (st) return st;
    int64_t left = (int64_t)free_bytes, reserve = left / 16;
    if (reserve < INT64_C(256) << 20) reserve = INT64_C(256) << 20;
    int64_t room = left - reserve;
    const struct problem placed = workload_placed(problem, WORKLOAD_EXACT);
    double wanted = 2.0 * (problem_memory_bytes(&placed) + 32.0 * WORKLOAD_GUARD +
                           (problem->pointers ? 24.0 * (double)problem->batch : 0));
    if (wanted > (double)room) {
        char text[PROBLEM_TEXT_MAX];
        problem_format(problem, text);
        return fail(E_GPU, "%s needs at least %.2f GiB on the GPU, and %.2f of %.2f GiB are free", text,
                    (wanted + (double)reserve) / (1 << 30), (double)free_bytes / (1 << 30),
                    (double)total_bytes / (1 << 30));
    }
    int64_t two_sets = 8 * workload_layout(problem, false, 0, room).set_words;
    *limits = oracle_limits(&setup->device->gpu, room - two_sets,
                            setup->reference_s > 0 ? setup->reference_s : ORACLE_SECONDS);
    struct oracle_plan plan;
    oracle_plan(problem, limits, setup->seed, &plan);
    *for_sets = room - oracle_answer_bytes(&plan) - plan.partial_bytes;
    if (*for_sets < two_sets) *for_sets = two_sets;
    return OK;
}

/* The judge's kernels are compiled for the element types of A, B and C. */
static enum status load_judge(struct trial_setup *setup, enum gemm_type type)
{
    if (oracle_kernels_serve(&setup->kernels, type)) return OK;
    struct oracle_kernels kernels;
    enum status st = oracle_kernels_load(setup->device, setup->cache, type, &kernels);
    if (st) return st;
    oracle_kernels_unload(&setup->kernels);
    setup->kernels = kernels;
    return OK;
}

enum status trial_setup_prepare(struct trial_setup *setup, const struct problem *problem, bool cold,
                                uint64_t seed)
{
    trial_setup_clear(setup);
    setup->problem = *problem;
    setup->anchor_errors = accuracy_unknown();
    setup->cold = cold;
    setup->seed = seed;
    struct oracle_limits limits = {0};
    int64_t for_sets = 0;
    enum status st = load_judge(setup, problem->type);
    if (!st) st = share_memory(setup, problem, &limits, &for_sets);
    if (!st) st = workload_open(&setup->kernels, problem, cold, seed, for_sets, &setup->work);
    if (!st) st = oracle_open(&setup->work, seed, &limits, &setup->oracle);
    setup->ready = st == OK;
    if (st) trial_setup_clear(setup);
    return st;
}
