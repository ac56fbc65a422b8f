/* A configuration's text, and what templates make of any values: lines "CONFIGURATION @ PROBLEM", the problem
 * left out or not one: a usual one. What the rules allow must launch within the limits of the hardware and of
 * gemm_args.h, and what they refuse must be refused whatever numbers it holds. */
#include "fuzz.h"
#include "fuzz_h200.h"
#include "gemm_block.h"
#include "kernel_key.h"
#include "launch_walk.h"
#include "template.h"

#include <stdio.h>
#include <string.h>

const char *const fuzz_words[] = {"simt",
                                  "skinny",
                                  "resident",
                                  "tall",
                                  "streamk",
                                  "ladder_naive",
                                  "ladder_warptiled",
                                  "streamk",
                                  " SMS=",
                                  " BM=",
                                  " BN=",
                                  " BK=",
                                  " WM=",
                                  " WN=",
                                  " TM=",
                                  " TN=",
                                  " WARPS_K=",
                                  " STAGES=",
                                  " LOADER=",
                                  " PACK=",
                                  " VA=",
                                  " VB=",
                                  " VC=",
                                  " UNROLL=",
                                  " STORE_AT=",
                                  " ORDER=",
                                  " MIN_BLOCKS=",
                                  " REDUCE=",
                                  " GROUP=",
                                  " SPLIT_K=",
                                  " SMS=",
                                  " @ ",
                                  "1x1x1",
                                  "0x0x0",
                                  ":batch=",
                                  "2147418112",
                                  ":pointers",
                                  ":epilogue=rowbias+gelu+out",
                                  ":batch=7:epilogue=bias:stride_bias=5",
                                  "tt:",
                                  " REDUCE=8 GROUP=1 SPLIT_K=8",
                                  " SPLIT_K=1024",
                                  NULL};

static const struct gpu gpus[] = {{.id = "t4",
                                   .arch = 75,
                                   .sm_count = 40,
                                   .threads_per_sm = 1024,
                                   .blocks_per_sm = 16,
                                   .registers_per_sm = 65536,
                                   .smem_per_sm_bytes = 65536,
                                   .smem_per_block_bytes = 65536},
                                  FUZZ_H200};

static bool inside(const float *at, int64_t span)
{
    return (uintptr_t)at % sizeof(float) == 0 &&
           (uintptr_t)at / sizeof(float) < (uintptr_t)(span > 0 ? span : 1);
}

static void check_launch(const char *text, const struct launch *l, const struct kernel_launch *k,
                         const struct problem *p, const struct gpu *gpu)
{
    struct gemm_args args;
    memcpy(&args, l->argument, sizeof args);
    PROMISE(strcmp(k->entry, "gemm") == 0 || strcmp(k->entry, "gemm_pack") == 0 ||
                strcmp(k->entry, "gemm_reduce") == 0 || strcmp(k->entry, "gemm_maxima") == 0,
            "%s", text);
    PROMISE(l->grid[0] >= 1 && l->grid[0] <= INT32_MAX, "%s: %s has %u blocks", text, k->entry, l->grid[0]);
    PROMISE(l->grid[1] >= 1 && l->grid[1] <= 65535, "%s: %s has %u splits", text, k->entry, l->grid[1]);
    PROMISE(l->grid[2] >= 1 && l->grid[2] <= 65535, "%s: %s takes %u items", text, k->entry, l->grid[2]);
    PROMISE(k->threads >= 1 && k->threads <= 1024, "%s: %s has %u threads", text, k->entry, k->threads);
    PROMISE(k->smem_bytes <= (unsigned)gpu->smem_per_block_bytes, "%s: %s takes %u bytes", text, k->entry,
            k->smem_bytes);
    const unsigned cluster = k->cluster[1];
    PROMISE(cluster <= 8 && (!cluster || (gpu->arch >= 90 && l->grid[1] % cluster == 0)), "%s", text);
    PROMISE(k->cluster[0] == k->cluster[2] && k->cluster[0] == (cluster > 0), "%s", text);
    PROMISE(args.m == p->m && args.n == p->n && args.k >= 0 && args.k <= p->k, "%s: k is %d", text, args.k);
    PROMISE(args.lda == p->lda && args.ldb == p->ldb && args.ldc == p->ldc, "%s", text);
    PROMISE(args.splits >= 1 && args.group >= 1, "%s: %d splits, groups of %d", text, args.splits,
            args.group);
    PROMISE(args.k_per_split >= 0 && (int64_t)args.splits * args.k_per_split >= args.k, "%s: %d splits of %d",
            text, args.splits, args.k_per_split);
    const int64_t array = 2 * p->batch; /* words of the addresses */
    PROMISE(inside(args.a, p->pointers ? array : problem_span_a(p)) &&
                inside(args.b, p->pointers ? array : problem_span_b(p)) &&
                inside(args.c, p->pointers ? array : problem_span_c(p)),
            "%s: beyond an operand", text);
    PROMISE(!p->epilogue ||
                (inside(args.source, problem_span_c(p)) && inside(args.bias, problem_span_bias(p))),
            "%s: beyond the bias, or what is added", text);
}

static void check_plan(const char *text, const struct config *config, const struct problem *p,
                       const struct gpu *gpu)
{
    enum { LAUNCHES_MAX = 60 }; /* of very long ones the first */
    struct launch_plan plan;
    struct launch_walk walk;
    struct launch launch;
    memset(&plan, 0x5a, sizeof plan);
    config->template->plan(config, p, &plan);
    PROMISE(plan.kernels >= 0 && plan.kernels <= LAUNCH_KERNELS_MAX, "%s: %d kernels", text, plan.kernels);
    PROMISE(plan.kernels > 0 || p->m == 0 || p->n == 0, "%s: there is something to do", text);
    launch_walk_start(&walk, &plan, &(struct launch_call){.alpha = 1});
    if (plan.kernels > 0) {
        PROMISE(plan.counters >= 0 && plan.workspace_bytes >= 4 * (int64_t)plan.counters,
                "%s: %d counters in %lld bytes", text, plan.counters, (long long)plan.workspace_bytes);
        PROMISE(plan.workspace_bytes <= INT64_C(1) << 30, "%s: %lld bytes of workspace", text,
                (long long)plan.workspace_bytes);
    }
    int launches = 0;
    double done = 0; /* items times k */
    for (; launches < LAUNCHES_MAX && launch_walk_next(&walk, &launch); launches++) {
        PROMISE(launch.index >= 0 && launch.index < plan.kernels, "%s: kernel %d", text, launch.index);
        check_launch(text, &launch, &plan.kernel[launch.index], p, gpu);
        if (strcmp(plan.kernel[launch.index].entry, "gemm") != 0) continue;
        done += (double)launch.grid[2] * (double)launch.k;
    }
    if (launches == LAUNCHES_MAX || plan.kernels == 0) return;
    PROMISE(done == (double)p->batch * (double)p->k, "%s: %g of the products are computed", text, done);
}

static void check_values(const char *text, const struct config *config, const struct problem *p)
{
    const struct template *t = config->template;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++) {
        const char *why = t->check(config, p, &gpus[g]);
        if (why) continue;
        fuzz_accept();
        PROMISE(!t->check(config, NULL, &gpus[g]), "%s on %s: legal for a problem only", text, gpus[g].id);
        for (int i = 0; i < t->param_count; i++)
            PROMISE(config->value[i] >= t->params[i].least && config->value[i] <= t->params[i].most,
                    "%s on %s: %s=%d is allowed", text, gpus[g].id, t->params[i].name, config->value[i]);
        check_plan(text, config, p, &gpus[g]);
    }
}

/* What the first values refuse, all of them refuse. */
static void check_prefixes(const char *text, const struct config *config, const struct problem *p)
{
    const struct template *t = config->template;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus && t->check_prefix; g++) {
        const char *why = t->check(config, p, &gpus[g]);
        PROMISE(t->check_prefix(config, t->param_count, p, &gpus[g]) == why, "%s on %s", text, gpus[g].id);
        for (int known = 0; known < t->param_count; known++) {
            const char *early = t->check_prefix(config, known, p, &gpus[g]);
            PROMISE(!early || why, "%s on %s: the first %d values are refused: %s", text, gpus[g].id, known,
                    early);
        }
    }
}

static void check_text(const struct config *config)
{
    char text[CONFIG_TEXT_MAX], definitions[1024];
    const char *options[KERNEL_DEFINITIONS_MAX];
    const struct problem problem = problem_make(1, 1, 1);
    const struct kernel_key kernel = kernel_key_of(config, &problem, 90);
    struct config again;
    config_format(config, text);
    PROMISE(config_parse(text, &again) == OK, "'%s': %s", text, status_text());
    PROMISE(config_equal(config, &again) && config_hash(config) == config_hash(&again), "'%s'", text);
    PROMISE(config_same_kernel(config, &again), "'%s'", text);
    PROMISE(
        kernel_key_definitions(&kernel, options, KERNEL_DEFINITIONS_MAX, definitions, sizeof definitions) > 0,
        "'%s'", text);
}

/* Values that no text can hold: each of the template's parameters from the bytes of the input. */
static void check_wild_values(const struct config *config, const struct problem *p, const char *seed)
{
    struct config wild = *config;
    uint32_t hash = 2166136261u;
    for (const char *c = seed; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (int i = 0; i < wild.template->param_count; i++) {
        hash = hash * 1664525u + 1013904223u;
        if (hash >> 29) continue; /* most stay as they are */
        wild.value[i] = (int32_t)((hash >> 4 & 1 ? hash * 2654435761u : 0u - (hash >> 8 & 3)));
    }
    check_values("with wild values", &wild, p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *at = strstr(text, " @ ");
    struct config config;
    struct problem problem = problem_make(1000, 4096, 999);
    char line[CONFIG_TEXT_MAX];
    if (at) {
        *at = '\0';
        struct problem named;
        if (problem_parse(at + 3, &named) == OK) problem = named;
    }
    snprintf(line, sizeof line, "%s", text);
    if (config_parse(text, &config)) {
        PROMISE(status_text()[0], "no sentence for '%s'", text);
        return 0;
    }
    check_text(&config);
    check_values(line, &config, &problem);
    check_prefixes(line, &config, &problem);
    check_wild_values(&config, &problem, line);
    return 0;
}
