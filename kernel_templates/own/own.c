#include "own.h"

#include "cost_ffma.h"
#include "cost_tensor.h"
#include "gemm_type.h"
#include "kernel_hash.h"
#include "kernel_key.h"
#include "launch_limits.h"
#include "occupancy.h"
#include "operand_layout.h"
#include "outcome.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct own {
    struct template template;
    char name[OWN_NAME_MAX], summary[96];
    char *text;
    json_t *parts; /* has the texts of the sources */
    char *bare;
    struct source_text source[OWN_FILES_MAX + 2];
    struct param param[CONFIG_PARAMS_MAX];
    struct description d;
    /* How many leading parameters must be known: of each rule, and of what a launch needs. */
    int rule_needs[DESCRIBE_RULES_MAX], block_needs[LAUNCH_KERNELS_MAX], shared_needs[LAUNCH_KERNELS_MAX];
    bool rule_asks[DESCRIBE_RULES_MAX]; /* about the problem */
    bool takes_alpha, takes_beta, takes_batch, takes_ld[3];
};

static const struct own *own_of(const struct template *t)
{
    return (const struct own *)(const void *)t;
}

/* ---- values ---- */

/* The values of all names, for expressions. */
struct values {
    int64_t at[CONFIG_PARAMS_MAX + OWN_NAMES];
};

/* Of the first `known` parameters, and of a problem; NULL: without it. */
static void take_values(const struct config *config, int known, const struct problem *p, struct values *v)
{
    int64_t *const of = v->at + CONFIG_PARAMS_MAX;
    for (int i = 0; i < known; i++) v->at[i] = config->value[i];
    if (!p) {
        memset(of, 0, OWN_NAMES * sizeof *of);
        return;
    }
    of[OWN_M] = p->m;
    of[OWN_N] = p->n;
    of[OWN_K] = p->k;
    of[OWN_BATCH] = p->batch;
    of[OWN_LDA] = p->lda;
    of[OWN_LDB] = p->ldb;
    of[OWN_LDC] = p->ldc;
    of[OWN_STRIDE_A] = p->stride_a;
    of[OWN_STRIDE_B] = p->stride_b;
    of[OWN_STRIDE_C] = p->stride_c;
    of[OWN_TRANS_A] = p->trans_a;
    of[OWN_TRANS_B] = p->trans_b;
}

static bool asks_problem(const struct expression *e)
{
    return e->uses >> CONFIG_PARAMS_MAX != 0;
}

/* `otherwise` where there is no expression. */
static const char *value_of(const struct expression *e, const struct values *v, int64_t otherwise,
                            int64_t *value)
{
    *value = otherwise;
    return e->steps ? expression_evaluate(e, v->at, value) : NULL;
}

/* ---- rules ---- */

static const char *check_served(const struct own *own, const struct problem *p)
{
    if (!(own->d.types & GEMM_TYPE_BIT(p->type))) return "the kernel is not of this type";
    if (!own->d.op[p->trans_a][p->trans_b]) return "the kernel does not compute this op";
    if (p->epilogue) return "the kernel has no epilogue";
    if (p->pointers) return "the kernel takes no arrays of pointers";
    if (p->invariant) return "the kernel does not say that it is invariant";
    if (p->alpha != 1 && !own->takes_alpha) return "the kernel takes no alpha, which is then 1";
    if (p->beta != 0 && !own->takes_beta) return "the kernel takes no beta, which is then 0";
    if (!own->takes_ld[0] && p->lda != problem_cols_a(p))
        return "the kernel takes no lda, and lines of A are not close together";
    if (!own->takes_ld[1] && p->ldb != problem_cols_b(p))
        return "the kernel takes no ldb, and lines of B are not close together";
    if (!own->takes_ld[2] && p->ldc != p->n)
        return "the kernel takes no ldc, and lines of C are not close together";
    if (own->takes_batch && p->batch > INT32_MAX) return "the batch is longer than a launch's";
    return NULL;
}

static const char *check_block(const struct own_launch *l, const struct values *v)
{
    static const int64_t most[3] = {1024, 1024, 64};
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        int64_t size;
        if (value_of(&l->block[i], v, 1, &size)) return "a size of the block has no value";
        if (size < 1 || size > most[i]) return "a block has no threads, or more than 1024 x 1024 x 64";
        threads *= size;
    }
    return threads <= 1024 ? NULL : "a block holds at most 1024 threads";
}

static const char *check_shared(const struct own_launch *l, const struct values *v, const struct gpu *gpu)
{
    int64_t bytes;
    if (value_of(&l->shared, v, 0, &bytes)) return "the bytes of shared memory have no value";
    if (bytes < 0) return "the bytes of shared memory are below 0";
    return !gpu || bytes <= gpu->smem_per_block_bytes ? NULL : "a block has no such shared memory";
}

static const char *check_cluster(const struct own_launch *l, const struct values *v, const int64_t grid[3],
                                 const struct gpu *gpu)
{
    int64_t blocks = 1;
    if (l->cluster[0].steps == 0) return NULL;
    for (int i = 0; i < 3; i++) {
        int64_t size;
        if (value_of(&l->cluster[i], v, 1, &size)) return "a size of the cluster has no value";
        if (size < 1 || size > 8) return "a cluster has 1 to 8 blocks";
        if (grid[i] % size) return "the grid is no multiple of the cluster";
        blocks *= size;
    }
    if (gpu && gpu->arch < 90) return "clusters need compute capability 9.0";
    return blocks <= 8 ? NULL : "a cluster has 1 to 8 blocks";
}

static const char *grid_of(const struct own_launch *l, const struct values *v, int64_t grid[3])
{
    static const int64_t most[3] = {GRID_X_MAX, 65535, 65535};
    for (int i = 0; i < 3; i++) {
        if (value_of(&l->grid[i], v, 1, &grid[i])) return "a size of the grid has no value";
        if (grid[i] < 1) return "a size of the grid is below 1";
        if (grid[i] > most[i]) return "a grid has at most 2147483647 x 65535 x 65535 blocks";
    }
    return NULL;
}

/* All launches of a problem, once the configuration is whole. */
static const char *check_launches(const struct own *own, const struct values *v, const struct gpu *gpu)
{
    const struct description *d = &own->d;
    const char *why = NULL;
    int64_t bytes, value;
    for (int i = 0; i < d->launches && !why; i++) {
        int64_t grid[3];
        why = grid_of(&d->launch[i], v, grid);
        if (!why) why = check_block(&d->launch[i], v);
        if (!why) why = check_shared(&d->launch[i], v, gpu);
        if (!why) why = check_cluster(&d->launch[i], v, grid, gpu);
    }
    for (int i = 0; i < d->integers && !why; i++)
        if (value_of(&d->integer[i], v, 0, &value)) why = "an argument has no value";
    if (!why && value_of(&d->workspace, v, 0, &bytes)) why = "the bytes of the workspace have no value";
    else if (!why && (bytes < 0 || bytes > INT64_C(1) << 40))
        why = "the workspace has less than 0 bytes, or more than 2^40";
    return why;
}

/* From the first values: what was known before the last of them has been asked when there were fewer. A whole
 * configuration is asked everything. */
static const char *check_prefix(const struct config *config, int known, const struct problem *problem,
                                const struct gpu *gpu)
{
    const struct own *own = own_of(config->template);
    const struct description *d = &own->d;
    const int from = known < d->params ? known : 0;
    struct values v;
    const char *why = from ? NULL : template_check_ranges(config, known);
    if (!why && !from && problem) why = check_served(own, problem);
    if (why) return why;
    take_values(config, known, problem, &v);
    for (int i = 0; i < d->rules; i++) {
        const struct own_rule *const rule = &d->rule[i];
        int64_t holds = 0;
        if (own->rule_needs[i] > known || own->rule_needs[i] < from || (!problem && own->rule_asks[i]))
            continue;
        if (expression_evaluate(&rule->holds, v.at, &holds) || !holds) return rule->why;
    }
    for (int i = 0; i < d->launches; i++) {
        const struct own_launch *const l = &d->launch[i];
        if (own->block_needs[i] <= known && own->block_needs[i] >= from && (why = check_block(l, &v)))
            return why;
        if (own->shared_needs[i] <= known && own->shared_needs[i] >= from && (why = check_shared(l, &v, gpu)))
            return why;
    }
    const bool whole = known >= d->params && problem && problem->m > 0 && problem->n > 0;
    return whole ? check_launches(own, &v, gpu) : NULL;
}

/* ---- the launch ---- */

/* What launches take their parameters from. The kernel says whether an integer has 4 or 8 bytes: the first 4
 * of 8 are the same number where it fits, which is compared before a launch (tuner/gpu/entries.h). */
struct pool {
    uint64_t a, b, c, workspace;
    float alpha, beta;
    int64_t integer[KERNEL_PARAMETERS_MAX];
};
_Static_assert(sizeof(struct pool) <= LAUNCH_ARGUMENT_MAX, "it is the argument of the plan");

static uint16_t place_of(const struct own_argument *a)
{
    switch (a->kind) {
    case OWN_INTEGER:
        return (uint16_t)(offsetof(struct pool, integer) + 8 * (size_t)a->integer);
    case OWN_A:
        return offsetof(struct pool, a);
    case OWN_B:
        return offsetof(struct pool, b);
    case OWN_C:
        return offsetof(struct pool, c);
    case OWN_WORKSPACE:
        return offsetof(struct pool, workspace);
    case OWN_ALPHA:
        return offsetof(struct pool, alpha);
    case OWN_BETA:
        return offsetof(struct pool, beta);
    }
    return 0;
}

static void plan_launch(const struct own_launch *l, const struct values *v, struct kernel_launch *k)
{
    int64_t size[3] = {0}, bytes;
    *k = (struct kernel_launch){.entry = l->name, .walks_items = true, .threads = 1};
    for (int i = 0; i < 3; i++) {
        value_of(&l->grid[i], v, 1, &size[i]);
        k->grid[i] = (unsigned)size[i];
    }
    for (int i = 0; i < 3; i++) {
        value_of(&l->block[i], v, 1, &size[i]);
        k->threads *= (unsigned)size[i];
        if (i > 0) k->own.block[i - 1] = (uint16_t)size[i];
    }
    for (int i = 0; i < 3 && l->cluster[0].steps; i++) {
        value_of(&l->cluster[i], v, 1, &size[i]);
        k->cluster[i] = (unsigned)size[i];
        k->cluster_at_launch = true;
    }
    value_of(&l->shared, v, 0, &bytes);
    k->smem_bytes = (unsigned)bytes;
    k->own.count = (uint8_t)l->arguments;
    for (int i = 0; i < l->arguments; i++) k->own.at[i] = place_of(&l->argument[i]);
}

static void plan(const struct config *config, const struct problem *p, struct launch_plan *out)
{
    const struct own *own = own_of(config->template);
    const struct description *d = &own->d;
    struct pool pool = {.a = 0};
    struct values values, *const v = &values;
    launch_plan_clear(out);
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;
    take_values(config, d->params, p, v);
    for (int i = 0; i < d->launches; i++) plan_launch(&d->launch[i], v, &out->kernel[i]);
    for (int i = 0; i < d->integers; i++) value_of(&d->integer[i], v, 0, &pool.integer[i]);
    value_of(&d->workspace, v, 0, &out->workspace_bytes);
    out->kernels = d->launches;
    out->batch = p->batch;
    out->k = p->k;
    out->batch_per_launch = own->takes_batch ? p->batch : 1;
    for (int i = 0; i < OPERANDS; i++) {
        const struct operand_layout x = operand_layout(p, (enum operand)i);
        out->batch_step_bytes[i] = element_bytes(x.element) * x.stride;
        out->slots.at[i] = LAUNCH_NOWHERE;
    }
    out->slots.at[OPERAND_A] = offsetof(struct pool, a);
    out->slots.at[OPERAND_B] = offsetof(struct pool, b);
    out->slots.at[OPERAND_C] = offsetof(struct pool, c);
    out->slots.workspace = offsetof(struct pool, workspace);
    out->slots.alpha_device = out->slots.beta_device = out->slots.k = out->slots.items = LAUNCH_NOWHERE;
    out->slots.alpha = offsetof(struct pool, alpha);
    out->slots.beta = offsetof(struct pool, beta);
    out->argument_bytes = (int)(offsetof(struct pool, integer) + 8 * (size_t)d->integers);
    memcpy(out->argument, &pool, (size_t)out->argument_bytes);
}

/* ---- what is compiled ---- */

/* A name expression with values in place of names. False: it does not fit. */
static bool substitute(const struct own *own, const struct kernel_key *key, const char *entry, char *text,
                       size_t room)
{
    const struct gemm_type_row *const type = gemm_type_row(key->type);
    const struct {
        const char *name, *value;
    } words[] = {{"TRANS_A", key->trans_a ? "1" : "0"},  {"TRANS_B", key->trans_b ? "1" : "0"},
                 {"TYPE_A", element_cuda_name(type->a)}, {"TYPE_B", element_cuda_name(type->b)},
                 {"TYPE_C", element_cuda_name(type->c)}, {"TYPE_SUM", element_cuda_name(type->sum)}};
    size_t used = 0;
    for (const char *at = entry; *at;) {
        size_t length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_') length++;
        char value[64] = "";
        if (length > 0 && length < sizeof value) {
            for (int i = 0; i < own->d.params; i++)
                if (strlen(own->d.param[i]) == length && strncmp(own->d.param[i], at, length) == 0)
                    snprintf(value, sizeof value, "%" PRId32, key->config.value[i]);
            for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strlen(words[i].name) == length && strncmp(words[i].name, at, length) == 0)
                    snprintf(value, sizeof value, "%s", words[i].value);
        }
        if (length == 0) length = 1;
        const int put = value[0] ? snprintf(text + used, room - used, "%s", value)
                                 : snprintf(text + used, room - used, "%.*s", (int)length, at);
        if (put < 0 || (size_t)put >= room - used) return false;
        used += (size_t)put;
        at += length;
    }
    return true;
}

/* Kernels that are no templates are compiled as they are. */
static bool expression_of(const struct kernel_key *key, int number, char *text, size_t room)
{
    const struct own *own = own_of(key->config.template);
    for (int i = 0; i < own->d.launches; i++)
        if (own->d.launch[i].is_template && number-- == 0)
            return substitute(own, key, own->d.launch[i].entry, text, room);
    return false;
}

/* ---- the model ---- */

static int64_t or_else(const struct expression *e, const struct values *v, int64_t otherwise)
{
    int64_t value;
    const bool bad = asks_problem(e) || value_of(e, v, otherwise, &value) || value < 0 || value > INT32_MAX;
    return bad ? otherwise : value;
}

static struct resources resources(const struct config *config)
{
    const struct own *own = own_of(config->template);
    const struct own_launch *const l = &own->d.launch[0];
    struct values v;
    take_values(config, own->d.params, NULL, &v);
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) threads *= or_else(&l->block[i], &v, 1);
    return (struct resources){.threads = threads > 1024 ? 1024 : (int)threads,
                              .smem_bytes = (int)or_else(&l->shared, &v, 0),
                              .accumulators = (int)or_else(&own->d.registers, &v, 0)};
}

static struct tile tile(const struct config *config)
{
    const struct description *d = &own_of(config->template)->d;
    struct values v;
    take_values(config, d->params, NULL, &v);
    return (struct tile){.m = (int)or_else(&d->tile[0], &v, 0),
                         .n = (int)or_else(&d->tile[1], &v, 0),
                         .k = (int)or_else(&d->tile[2], &v, 0)};
}

/* What is known of a block. */
struct block {
    struct launch_plan plan;
    struct tile tile;
    int threads, smem_bytes, sums;
    double blocks;
};

static void block_of(const struct config *config, const struct problem *problem, struct block *b)
{
    plan(config, problem, &b->plan);
    const struct kernel_launch *const k = &b->plan.kernel[0];
    b->tile = tile(config);
    b->threads = (int)k->threads;
    b->smem_bytes = (int)k->smem_bytes;
    b->sums = resources(config).accumulators;
    if (b->sums == 0) b->sums = (int)ceil((double)b->tile.m * b->tile.n / b->threads);
    const double launches = own_of(config->template)->takes_batch ? 1 : (double)problem->batch;
    b->blocks = (double)k->grid[0] * k->grid[1] * k->grid[2] * launches;
}

static double least_us(const struct problem *p, const struct gpu *gpu)
{
    const double peak = gpu_peak_tflops(gpu, p->type), memory = gpu->memory_gb_per_s;
    const double compute_us = peak > 0 ? problem_flop(p) / peak * 1e-6 : 0,
                 memory_us = memory > 0 ? problem_bytes(p) / memory * 1e-3 : 0;
    return fmax(compute_us, memory_us) + 2;
}

/* FP32 as what is known of families by FFMA, with loads of four floats. */
static struct prediction predict_ffma(const struct block *b, const struct problem *p, const struct gpu *gpu,
                                      const struct kernel_facts *facts)
{
    const double side = sqrt(fmax(1, b->sums));
    const struct ffma_kernel t = {.threads = b->threads,
                                  .smem_bytes = b->smem_bytes,
                                  .accumulators = b->sums,
                                  .min_blocks = 1,
                                  .bm = b->tile.m,
                                  .bn = b->tile.n,
                                  .bk = b->tile.k,
                                  .tm = side,
                                  .tn = side,
                                  .stages = 1,
                                  .unroll = b->tile.k,
                                  .teams = 1,
                                  .vc = 1,
                                  .a = {.vector = 4, .across = true},
                                  .b = {.vector = 4},
                                  .group = 1,
                                  .tiles = b->blocks,
                                  .splits = 1,
                                  .k_block = (double)p->k};
    return ffma_predict(&t, p, gpu, facts);
}

/* Others by what steps must bring in and multiply: an order, not a time. */
static struct prediction predict_tensor(const struct block *b, const struct problem *p, const struct gpu *gpu,
                                        const struct kernel_facts *facts)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    const double m = b->tile.m, n = b->tile.n, k = b->tile.k;
    const struct tensor_kernel t = {
        .threads = b->threads,
        .smem_bytes = b->smem_bytes,
        .min_blocks = 1,
        .needed = b->sums + 40,
        .blocks = b->blocks,
        .sms = gpu->sm_count,
        .steps = ceil((double)p->k / k),
        .step_k = k,
        .products = m * n * k,
        .rate = tensor_rate(gpu, p->type, 0.8),
        .full_warps = 8,
        .wait_cycles = 400,
        .arrival = (m + n) * k * element_bytes(type->a),
        .arrival_rate = 48,
        .wave_us = 1,
        .store = m * n * element_bytes(type->c),
        .store_rate = 32,
        .memory_us = gpu->memory_gb_per_s > 0 ? problem_bytes(p) / gpu->memory_gb_per_s * 1e-3 : 0,
        .overhead_us = 2};
    return tensor_predict(&t, gpu, facts);
}

/* Without a tile nothing is known but how full the GPU is. Which of equals comes first is chance, and the
 * same each time: else a search would begin with one corner of the space. */
static struct prediction predict_blindly(const struct block *b, const struct config *config,
                                         const struct problem *p, const struct gpu *gpu,
                                         const struct kernel_facts *facts)
{
    const int at_once =
        blocks_at_once(gpu, b->threads, facts && facts->registers ? facts->registers : 64, b->smem_bytes);
    const double slots = (double)gpu->sm_count * at_once, waves = b->blocks / slots;
    const double chance = (double)(XXH64(config->value, sizeof config->value, 0) >> 11) * 0x1p-53;
    struct prediction out = {.blocks_per_sm = at_once, .waves = waves, .overhead_us = 2};
    out.compute_us = least_us(p, gpu) * fmax(1, ceil(waves) / fmax(waves, 1e-3)) * (1 + 0.01 * chance);
    out.time_us = out.compute_us + out.overhead_us;
    return out;
}

static struct prediction predict(const struct config *config, const struct problem *problem,
                                 const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct block b;
    block_of(config, problem, &b);
    const bool has_tile = b.tile.m > 0 && b.tile.n > 0 && b.tile.k > 0;
    const struct gemm_type_row *const type = gemm_type_row(problem->type);
    struct prediction p = !has_tile                ? predict_blindly(&b, config, problem, gpu, facts)
                          : type->a == ELEMENT_F32 ? predict_ffma(&b, problem, gpu, facts)
                                                   : predict_tensor(&b, problem, gpu, facts);
    p.time_us = fmax(p.time_us, least_us(problem, gpu)); /* a description may say anything */
    return p;
}

/* ---- the table ---- */

void own_free(struct template *made)
{
    struct own *const own = (struct own *)(void *)made;
    if (!own) return;
    if (own->parts) json_decref(own->parts);
    free(own->text);
    free(own->bare);
    free(own);
}

/* What texts consist of: {"file": "my.cu", "sources": [["my.cu", TEXT], ["my.cuh", TEXT], ...], "tune": TEXT
 * or null}. */
static enum status take_parts(struct own *own, const char **file, const char **beside)
{
    json_error_t error;
    own->parts = json_loads(own->text, 0, &error);
    json_t *const sources = json_object_get(own->parts, "sources");
    *file = json_string_value(json_object_get(own->parts, "file"));
    *beside = json_string_value(json_object_get(own->parts, "tune"));
    const size_t count = json_array_size(sources);
    free(own->text); /* in one line, whatever it was */
    own->text = own->parts ? json_dumps(own->parts, JSON_COMPACT) : NULL;
    if (!own->text || !*file || !**file || count == 0 || count > OWN_FILES_MAX)
        return fail(E_INPUT, "this is not the text of an own kernel");
    for (size_t i = 0; i < count; i++) {
        const json_t *const pair = json_array_get(sources, i);
        own->source[i].name = json_string_value(json_array_get(pair, 0));
        own->source[i].text = json_string_value(json_array_get(pair, 1));
        if (!own->source[i].name || !own->source[i].text)
            return fail(E_INPUT, "this is not the text of an own kernel: source %zu is none", i);
    }
    own->source[count] = (struct source_text){"gemmtune description", own->bare};
    return OK;
}

static void name_it(struct own *own, const char *file)
{
    const char *const slash = strrchr(file, '/'), *const base = slash ? slash + 1 : file;
    char stem[OWN_NAME_MAX - 10];
    size_t length = 0;
    for (; base[length] && base[length] != '.' && length + 1 < sizeof stem; length++)
        stem[length] = isalnum((unsigned char)base[length]) || base[length] == '-' ? base[length] : '_';
    stem[length] = '\0';
    snprintf(own->name, sizeof own->name, "%s@%08" PRIx32, length ? stem : "kernel",
             (uint32_t)(kernel_source_hash(&own->template) >> 32));
    snprintf(own->summary, sizeof own->summary, "own kernel of %.60s", file);
}

static int needs(const struct expression *list, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++) {
        const int one =
            asks_problem(&list[i]) ? CONFIG_PARAMS_MAX + 1 : expression_needs(&list[i], CONFIG_PARAMS_MAX);
        most = one > most ? one : most;
    }
    return most;
}

static bool integers_use(const struct description *d, enum own_name name)
{
    for (int i = 0; i < d->integers; i++)
        if (d->integer[i].uses >> (CONFIG_PARAMS_MAX + name) & 1) return true;
    return false;
}

static void understand(struct own *own)
{
    const struct description *d = &own->d;
    bool grid_batch = false;
    for (int i = 0; i < d->rules; i++)
        own->rule_needs[i] = expression_needs(&d->rule[i].holds, CONFIG_PARAMS_MAX);
    for (int i = 0; i < d->launches; i++) {
        const struct own_launch *const l = &d->launch[i];
        own->block_needs[i] = needs(l->block, 3);
        own->shared_needs[i] = needs(&l->shared, 1);
        for (int j = 0; j < 3; j++) grid_batch |= l->grid[j].uses >> (CONFIG_PARAMS_MAX + OWN_BATCH) & 1;
        for (int j = 0; j < l->arguments; j++) {
            own->takes_alpha |= l->argument[j].kind == OWN_ALPHA;
            own->takes_beta |= l->argument[j].kind == OWN_BETA;
        }
    }
    own->takes_batch = grid_batch || integers_use(d, OWN_BATCH);
    for (int i = 0; i < 3; i++) own->takes_ld[i] = integers_use(d, (enum own_name)(OWN_LDA + i));
}

static void make_template(struct own *own)
{
    const struct description *d = &own->d;
    bool expressions = false;
    for (int i = 0; i < d->launches; i++) expressions |= d->launch[i].is_template;
    for (int i = 0; i < d->params; i++)
        own->param[i] = (struct param){.name = d->param[i],
                                       .kind = PARAM_COMPILE,
                                       .role = ROLE_NAMED,
                                       .least = 0,
                                       .most = INT32_MAX,
                                       .meaning = "of an own kernel"};
    own->template = (struct template){
        .name = own->name,
        .summary = own->summary,
        .params = own->param,
        .param_count = d->params,
        .computes = d->types,
        .own = own->text,
        .bare = expressions,
        .entry = d->launch[0].name,
        .expression = expression_of,
        .macros = !expressions && __builtin_popcount(d->types) > 1 ? TEMPLATE_MACRO_TYPE : 0,
        .sources = own->source,
        .resources = resources,
        .check = template_check_all,
        .check_prefix = check_prefix,
        .plan = plan,
        .tile = tile,
        .predict = predict};
}

enum status own_make(const char *text, struct template **made)
{
    const char *file = NULL, *beside = NULL;
    struct own *own = calloc(1, sizeof *own);
    if (!own || !(own->text = strdup(text))) {
        free(own);
        return fail(E_MEMORY, "out of memory for an own kernel");
    }
    enum status st = take_parts(own, &file, &beside);
    if (!st)
        st = describe_read(file, beside ? beside : own->source[0].text, beside != NULL, &own->d, &own->bare);
    if (!st) {
        for (int i = 0; i <= OWN_FILES_MAX; i++)
            if (own->source[i].name && !own->source[i].text) own->source[i].text = own->bare;
        understand(own);
        make_template(own);
        name_it(own, file);
        *made = &own->template;
    } else own_free(&own->template);
    return st;
}

enum status own_add(const char *text, const struct template **added)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct template *made;
    enum status st = own_make(text, &made);
    if (st) return st;
    pthread_mutex_lock(&lock);
    *added = template_find(made->name);
    if (!*added && !(st = template_add(made))) *added = made;
    else own_free(made);
    pthread_mutex_unlock(&lock);
    return st;
}

enum status own_take(const char *text)
{
    const struct template *added;
    return own_add(text, &added);
}

const struct description *own_description(const struct template *t)
{
    return t->own ? &own_of(t)->d : NULL;
}

/* Lines have a limit: eight values each. */
static void write_values(const char *name, const int32_t *values, int count, FILE *f)
{
    for (int i = 0; i < count; i++)
        fprintf(f, "%s%s %" PRId32 "%s",
                i == 0       ? name
                : i % 8 == 0 ? "\n "
                             : "",
                i == 0 ? " =" : "", values[i], i + 1 == count ? "\n" : "");
}

char *own_space(const struct template *t, const int32_t *fixed)
{
    const struct description *d = own_description(t);
    char *text = NULL;
    size_t length = 0;
    FILE *f = d ? open_memstream(&text, &length) : NULL;
    if (!f) return NULL;
    fprintf(f, "[%s]\n", t->name);
    for (int p = 0; p < d->params; p++) {
        const bool one = fixed && fixed[p] >= 0;
        write_values(d->param[p], one ? &fixed[p] : d->value[p], one ? 1 : d->values[p], f);
    }
    return fclose(f) ? NULL : text;
}
