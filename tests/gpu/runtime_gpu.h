/* runtime_gpu.h — the runtime library on a real GPU, for tests: operands, a folder with winners and a cache.
 */
#ifndef GT_RUNTIME_GPU_H
#define GT_RUNTIME_GPU_H

#include "gemmtune.h"
#include "gpu_tests.h"
#include "kernel_hash.h"
#include "public_problem.h"
#include "runtime_calls.h"
#include "template.h"

#include <inttypes.h>

static inline void assert_gt(enum gt_status status, const char *who)
{
    if (status) fail_msg("%s: %d, %s", who, (int)status, gt_error_text());
}

/* Without a compiler the cache is another, empty one: kernels that an earlier test compiled would be used. */
static inline struct gt_handle *open_handle(unsigned flags)
{
    struct gt_handle *handle;
    char no_cache[sizeof folder + 16];
    snprintf(no_cache, sizeof no_cache, "%s/no_cache", folder);
    const struct gt_options options = {.size = sizeof(struct gt_options),
                                       .database = "",
                                       .pretuned = folder,
                                       .cache = flags & GT_NO_COMPILER ? no_cache : folder,
                                       .flags = flags};
    assert_gt(gt_open(&handle, &options), "open");
    return handle;
}

static inline enum gt_status run(struct gt_handle *handle, const struct set *s, CUstream stream)
{
    struct gt_problem p = public_problem(&s->problem);
    float alpha = (float)s->problem.alpha, beta = (float)s->problem.beta;
    return gemm(handle, &p, &alpha, s->at[0], s->at[1], &beta, s->at[2], stream);
}

#define SPLIT         "sgemm:nt:64x64x4096" /* 16 parts, two kernels */
#define COUNTED_SMALL "sgemm:nn:256x256x1024"
#define COUNTED_LARGE "sgemm:nn:768x1024x512" /* 4 parts, added by the last block; needs more counters */

static inline CUstream new_stream(void)
{
    CUstream made = NULL;
    assert_int_equal(cuda.StreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return made;
}

static inline struct gt_plan *plan_of(struct gt_handle *handle, const struct set *s)
{
    struct gt_problem p = public_problem(&s->problem);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_open(handle, &p, &plan), "plan");
    gt_plan_describe(plan, &info);
    if (info.source != GT_EXACT || info.workspace_bytes == 0)
        fail_msg("%s was chosen for %s: %s", info.config, info.tuned_for, info.why);
    return plan;
}

static inline void launch_plan(struct gt_plan *plan, const struct set *s, CUstream stream)
{
    float alpha = (float)s->problem.alpha, beta = (float)s->problem.beta;
    assert_gt(launch(plan, &alpha, s->at[0], s->at[1], &beta, s->at[2], stream), "launch");
}

/* Writes winners that need a workspace for some of the problems above. */
static inline void write_winner(FILE *file, const char *problem, int split_k, int reduce)
{
    char text[CONFIG_TEXT_MAX];
    struct config config = {.template = template_find("simt")};
    const struct {
        const char *name;
        int value;
    } values[] = {{"BM", 64},        {"BN", 64},
                  {"BK", 16},        {"WM", 32},
                  {"WN", 32},        {"TM", 4},
                  {"TN", 8},         {"VA", 4},
                  {"VB", 4},         {"VC", 4},
                  {"STAGES", 2},     {"UNROLL", 16},
                  {"STORE_AT", 8},   {"SPLIT_K", split_k},
                  {"REDUCE", reduce}};
    for (int i = 0; i < config.template->param_count; i++) config.value[i] = config.template->params[i].least;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        config_set(&config, values[i].name, values[i].value);
    struct problem of;
    assert_ok(problem_parse(problem, &of));
    config_format(&config, text);
    fprintf(file,
            "{\"problem\": \"%s\", \"gpu\": \"%s\", \"arch\": %d, \"sm_count\": %d, "
            "\"config\": \"%s\", "
            "\"template_hash\": \"%016" PRIx64 "\", \"time_us\": 10}\n",
            problem, device.gpu.name, device.gpu.arch, device.gpu.sm_count, text,
            kernel_hash_of(&config, &of, device.gpu.arch));
}

/* open_gpu, with winners. */
static inline int open_tuned_gpu(void **state)
{
    if (open_gpu(state)) return -1;
    FILE *file = fopen(in_folder("test.jsonl"), "w");
    if (!file) return -1;
    write_winner(file, SPLIT, 16, 0);
    write_winner(file, COUNTED_SMALL, 4, 1);
    write_winner(file, COUNTED_LARGE, 4, 1);
    return fclose(file);
}

#endif
