#include "ladder.h"

#include "cost_ffma.h"
#include "gemm_block.h"

#include <string.h>

/* Kinds of parameters, in the order in which every rung that has them lists them. */
#define SIZE(name, role, least, most, meaning)                                                               \
    {                                                                                                        \
        name, PARAM_COMPILE, role, least, most, meaning                                                      \
    }
#define TILE                                                                                                 \
    SIZE("BM", ROLE_TILE, 1, 256, "rows of C a block: reuse of B against blocks to fill the GPU"),           \
        SIZE("BN", ROLE_TILE, 1, 256, "columns of C a block: reuse of A against blocks to fill the GPU")
#define DEPTH SIZE("BK", ROLE_TILE, 1, 128, "depth of a step: fewer barriers against more shared memory")
#define WARP_TILE                                                                                            \
    SIZE("WM", ROLE_SIZE, 4, 256, "rows of C a warp: near a square, a warp reads the fewest floats"),        \
        SIZE("WN", ROLE_SIZE, 4, 256, "columns of C a warp: near a square, a warp reads the fewest floats")
#define THREAD_ROWS SIZE("TM", ROLE_THREAD, 1, 16, "rows of C a thread: fewer loads against more registers")
#define THREAD_COLUMNS                                                                                       \
    SIZE("TN", ROLE_THREAD, 1, 16, "columns of C a thread: fewer loads against more registers")
#define RESIDENCE                                                                                            \
    SIZE("MIN_BLOCKS", ROLE_DETAIL, 1, 8,                                                                    \
         "blocks an SM must hold: one computes while another waits, on fewer registers")

static const struct param element_params[] = {TILE};
static const struct param shared_params[] = {TILE, DEPTH};
static const struct param column_params[] = {TILE, DEPTH, THREAD_ROWS};
static const struct param piece_params[] = {TILE, DEPTH, THREAD_ROWS, THREAD_COLUMNS};
static const struct param buffer_params[] = {TILE, DEPTH, THREAD_ROWS, THREAD_COLUMNS, RESIDENCE};
static const struct param warp_params[] = {TILE, DEPTH, WARP_TILE, THREAD_ROWS, THREAD_COLUMNS, RESIDENCE};

/* What the rules and the host must know of a rung beyond its parameters: the constants that its text defines.
 */
struct rung {
    const struct template *template;
    int vector, buffers, lanes;
    int32_t defaults[8];
};
static const struct rung rungs[LADDER_RUNGS];

static const struct rung *rung_of(const struct template *t)
{
    const struct rung *rung = rungs;
    while (rung->template != t) rung++;
    return rung;
}

/* A rung's values under the names that ladder_rules.h uses. */
struct sizes {
    int bm, bn, bk, wm, wn, tm, tn, min_blocks, vector, buffers, lanes;
};

static int value_or(const struct config *config, const char *name, int otherwise)
{
    int i = template_param(config->template, name);
    return i < 0 ? otherwise : config->value[i];
}

static struct sizes sizes_of(const struct config *config)
{
    const struct rung *rung = rung_of(config->template);
    struct sizes s = {.bm = value_or(config, "BM", 1), .bn = value_or(config, "BN", 1)};
    s.bk = value_or(config, "BK", 0);
    s.wm = value_or(config, "WM", s.bm);
    s.wn = value_or(config, "WN", s.bn);
    s.tm = value_or(config, "TM", 1);
    s.tn = value_or(config, "TN", 1);
    s.min_blocks = value_or(config, "MIN_BLOCKS", 1);
    s.vector = rung->vector;
    s.buffers = rung->buffers;
    s.lanes = rung->lanes;
    return s;
}

#define LADDER_HOST
#define BM         s->bm
#define BN         s->bn
#define BK         s->bk
#define WM         s->wm
#define WN         s->wn
#define TM         s->tm
#define TN         s->tn
#define VECTOR     s->vector
#define BUFFERS    s->buffers
#define LANES      s->lanes
#define MIN_BLOCKS s->min_blocks

static const char *first_broken_rule(const struct sizes *s)
{
#define RULE(holds, why)                                                                                     \
    if (!(holds)) return why;
#include "ladder_rules.h"
    return NULL;
}

static int threads_of(const struct sizes *s)
{
    return THREADS;
}

static int64_t tiles_of(const struct sizes *s, const struct problem *p)
{
    return (p->m + BM - 1) / BM * ((p->n + BN - 1) / BN);
}

static const char *check(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    const struct template *t = config->template;
    for (int i = 0; i < t->param_count; i++)
        if (config->value[i] < t->params[i].least || config->value[i] > t->params[i].most)
            return "a tile size is outside its range";
    const struct sizes s = sizes_of(config);
    const char *why = first_broken_rule(&s);
    if (why) return why;
    if (gpu && gpu->arch < 75) return "the kernels need compute capability 7.5";
    if (!problem) return NULL;
    if (!(t->computes & GEMM_TYPE_BIT(problem->type))) return "the ladder shows sgemm";
    if (problem->epilogue) return "the ladder shows no epilogue";
    if (problem->pointers) return "the ladder takes no arrays of pointers";
    if (problem->trans_a || problem->trans_b || problem->batch != 1) return "the ladder shows nn, batch 1";
    if (tiles_of(&s, problem) > INT32_MAX) return "more tiles than a grid has blocks";
    return NULL;
}

static struct resources resources(const struct config *config)
{
    /* The shared memory of a rung is static: the launch asks for none. */
    const struct sizes s = sizes_of(config);
    return (struct resources){.threads = threads_of(&s), .smem_bytes = 0, .accumulators = s.tm * s.tn};
}

static void plan(const struct config *config, const struct problem *p, struct launch_plan *out)
{
    const struct sizes s = sizes_of(config);
    const struct gemm_args args = gemm_args_of(p);
    launch_plan_clear(out);
    if (p->m == 0 || p->n == 0) return;
    gemm_args_put(out, p, &args);
    out->batch_per_launch = 1;
    out->kernels = 1;
    out->kernel[0] = (struct kernel_launch){
        .entry = "gemm", .grid = {(unsigned)tiles_of(&s, p), 1, 1}, .threads = (unsigned)threads_of(&s)};
}

/* As simt kernels without vectors and stages: none of it was fitted, and the order of the rungs is right. */
static struct prediction predict(const struct config *config, const struct problem *problem,
                                 const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct sizes s = sizes_of(config);
    const double depth = s.bk > 0 ? s.bk : 1;
    const struct ffma_kernel t = {.threads = threads_of(&s),
                                  .accumulators = s.tm * s.tn,
                                  .min_blocks = s.min_blocks,
                                  .bm = s.bm,
                                  .bn = s.bn,
                                  .bk = depth,
                                  .tm = s.tm,
                                  .tn = s.tn,
                                  .stages = 1,
                                  .unroll = depth,
                                  .teams = 1,
                                  .vc = 1,
                                  .a = {.vector = 1, .across = true},
                                  .b = {.vector = 1},
                                  .group = 1,
                                  .tiles = (double)tiles_of(&s, problem),
                                  .splits = 1,
                                  .k_block = (double)problem->k};
    return ffma_predict(&t, problem, gpu, facts);
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* One rung: its template row. */
#define RUNG(rung_name, about, rung_params)                                                                  \
    extern const struct source_text sources_##rung_name[];                                                   \
    extern const struct template template_ladder_##rung_name;                                                \
    const struct template template_ladder_##rung_name = {                                                    \
        .name = "ladder_" #rung_name,                                                                        \
        .summary = about,                                                                                    \
        .computes = GEMM_TYPES_FFMA,                                                                         \
        .params = rung_params,                                                                               \
        .param_count = COUNT(rung_params),                                                                   \
        .sources = sources_##rung_name,                                                                      \
        .resources = resources,                                                                              \
        .check = check,                                                                                      \
        .plan = plan,                                                                                        \
        .predict = predict,                                                                                  \
    };

RUNG(naive, "one thread an element, lanes down a column of C", element_params)
RUNG(coalesced, "one thread an element, lanes along a row of C", element_params)
RUNG(shared, "tiles of A and B in shared memory", shared_params)
RUNG(blocktile_1d, "a column of C a thread", column_params)
RUNG(blocktile_2d, "a piece of C a thread: outer products in registers", piece_params)
RUNG(vectorized, "A transposed in shared memory, everything by fours", piece_params)
RUNG(double_buffered, "the next tile loads while this one computes", buffer_params)
RUNG(warptiled, "a compact part of the tile for each warp", warp_params)

/* Defaults: those that the file of a rung argues for, at a size that fills a large GPU. */
static const struct rung rungs[LADDER_RUNGS] = {
    {&template_ladder_naive, 1, 1, 0, {32, 32}},
    {&template_ladder_coalesced, 1, 1, 0, {32, 32}},
    {&template_ladder_shared, 1, 1, 0, {32, 32, 32}},
    {&template_ladder_blocktile_1d, 1, 1, 0, {64, 64, 8, 8}},
    {&template_ladder_blocktile_2d, 1, 1, 0, {128, 128, 8, 8, 8}},
    {&template_ladder_vectorized, 4, 1, 0, {128, 128, 16, 8, 8}},
    {&template_ladder_double_buffered, 4, 2, 0, {128, 128, 16, 8, 8, 2}},
    {&template_ladder_warptiled, 4, 2, 32, {128, 128, 16, 32, 64, 8, 8, 2}},
};

const struct template *const ladder_rungs[LADDER_RUNGS] = {
    &template_ladder_naive,           &template_ladder_coalesced,    &template_ladder_shared,
    &template_ladder_blocktile_1d,    &template_ladder_blocktile_2d, &template_ladder_vectorized,
    &template_ladder_double_buffered, &template_ladder_warptiled,
};

const struct template *ladder_find(const char *name)
{
    static const char prefix[] = "ladder_";
    for (int i = 0; i < LADDER_RUNGS; i++) {
        const char *full = ladder_rungs[i]->name;
        if (strcmp(name, full) == 0 || strcmp(name, full + sizeof prefix - 1) == 0) return ladder_rungs[i];
    }
    return NULL;
}

void ladder_config(const struct template *rung, struct config *config)
{
    *config = (struct config){.template = rung};
    for (int i = 0; i < rung->param_count; i++) config->value[i] = rung_of(rung)->defaults[i];
}
