#include "nearest.h"

#include "answer.h"
#include "model.h"
#include "template.h"
#include "workspace.h"

#include <math.h>

struct problem nearest_as_aligned(const struct problem *problem, int alignment)
{
    struct problem p = *problem;
    if (p.pointers) return p; /* no alignment is expected of the items */
    const bool batch =
        p.batch > 1; /* longer rows could make batch items overlap; longer strides have the same effect */
    const struct gemm_type_row *row = gemm_type_row(p.type);
    const struct {
        int64_t *step;
        enum element element;
    } operands[] = {{batch ? &p.stride_a : &p.lda, row->a},
                    {batch ? &p.stride_b : &p.ldb, row->b},
                    {batch ? &p.stride_c : &p.ldc, row->c}};
    for (int i = 0; i < 3 && alignment < 16; i++) {
        const int bytes = element_bytes(operands[i].element),
                  elements = alignment < bytes ? 1 : alignment / bytes;
        if (*operands[i].step % (2 * elements) == 0) *operands[i].step += elements;
    }
    return p;
}

const char *nearest_illegal(const struct winner_store *store, const struct config *config,
                            const struct problem *problem, int alignment)
{
    const struct problem p = nearest_as_aligned(problem, alignment);
    const char *why = preferences_exclude(&store->preferences, problem, config)
                          ? "its user has excluded it for this problem"
                      : config->template->own && alignment < 16
                          ? "an own kernel is judged with operands that are aligned to 16 bytes"
                          : config->template->check(config, &p, &store->gpu);
    return why ? why : workspace_refuses(config, &p, store->workspace_bytes);
}

bool nearest_saves_work(const struct gpu *gpu, const struct problem *tuned, const struct config *config,
                        const struct problem *problem)
{
    if (!tuned->prepared || problem->prepared || !config) return false;
    return config->template->check(config, tuned, gpu) || template_reads_prepared(config, tuned);
}

/* Inserts by distance; the farthest entry is dropped from a full list. */
static int insert(struct neighbour *list, int count, int room, struct neighbour fresh)
{
    int at = count < room ? count : room - 1;
    if (count == room && list[at].distance <= fresh.distance) return count;
    for (; at > 0 && list[at - 1].distance > fresh.distance; at--) list[at] = list[at - 1];
    list[at] = fresh;
    return count < room ? count + 1 : count;
}

/* How full the last wave of blocks is. */
static double fullness(double waves)
{
    return waves > 0 ? waves / ceil(waves) : 1;
}

double nearest_cublas_us(const struct gpu *gpu, const struct stored_winner *w, const struct problem *problem)
{
    const struct problem *q = &w->base.problem;
    const double there = model_roofline_us(q, gpu_peak_tflops(gpu, q->type), gpu->memory_gb_per_s);
    const double here = model_roofline_us(problem, gpu_peak_tflops(gpu, q->type), gpu->memory_gb_per_s);
    return (w->config == CUBLAS_WON ? w->base.time_us : answer_rival_us(&w->base)) * here / there;
}

/* The expected time of a winner for another problem: the model's time, corrected by the model's error for the
 * winner's own problem; the correction shrinks with the distance. cuBLAS scales with the machine's limits. */
static void transfer(const struct winner_store *store, const struct problem *problem, struct neighbour *n)
{
    const struct stored_winner *w = n->winner;
    const struct gpu *gpu = &store->gpu;
    if (w->config == CUBLAS_WON) {
        n->time_us = nearest_cublas_us(gpu, w, problem);
        return;
    }
    const struct config *config = &store->set.configs[w->config];
    struct prediction there = model_predict(config, &w->base.problem, gpu, NULL);
    struct prediction here = model_predict(config, problem, gpu, NULL);
    n->distance += fabs(fullness(here.waves) - fullness(there.waves));
    n->time_us = here.time_us * pow(w->base.time_us / there.time_us, exp(-n->distance));
}

/* Measured on this GPU with the current kernels, and valid for problems other than its own. */
static bool serves_others(const struct stored_winner *w)
{
    return !w->base.predicted && !w->changed && !w->other_gpu && w->base.time_us > 0 &&
           (w->base.exact || w->config == CUBLAS_WON);
}

/* An algorithm of cublasLt serves its own problem only. */
static bool is_of_library(const struct winner_store *store, const struct stored_winner *w)
{
    return w->config != CUBLAS_WON && template_is_library(store->set.configs[w->config].template);
}

/* The last check of a kernel that multiplies pieces was made with its own K (accuracy_check.h): relative to
 * those of FP32, the errors of pieces grow as K falls, and beyond chance not as it rises (docs/accuracy.md).
 * FFMA is as accurate at any K. */
static bool is_as_accurate(const struct winner_store *store, const struct stored_winner *w,
                           const struct problem *problem)
{
    enum gemm_type computed;
    if (w->config == CUBLAS_WON || w->base.problem.k <= problem->k) return true;
    return !template_type(store->set.configs[w->config].template, problem->type, &computed) ||
           !gemm_type_has_limits(computed);
}

static bool saves_work(const struct winner_store *store, const struct stored_winner *w,
                       const struct problem *problem)
{
    const struct config *config = w->config == CUBLAS_WON ? NULL : &store->set.configs[w->config];
    return nearest_saves_work(&store->gpu, &w->base.problem, config, problem);
}

/* More than needed: some will be illegal, or farther away than they look. */
enum { LISTED = 4 * NEAREST_MAX };

static int list_read(const struct winner_store *store, const struct problem *problem,
                     const struct shape *shape, bool decides, struct neighbour list[LISTED])
{
    int listed = 0;
    for (size_t i = 0; i < store->set.count; i++) {
        const struct stored_winner *w = &store->set.winners[i];
        if (!serves_others(w) || is_of_library(store, w) || !shape_answers(&w->shape, shape) ||
            !is_as_accurate(store, w, problem) || saves_work(store, w, problem) ||
            gemm_type_decides((enum gemm_type)w->shape.type, (enum gemm_type)shape->type) != decides)
            continue;
        struct neighbour n = {w, shape_distance(&w->shape, shape) + 0.1 * !w->base.cold, 0, false};
        if (!(n.distance <= NEAREST_RADIUS)) continue;
        /* The user's own winner precedes an equal one. */
        if (w->pretuned) n.distance = nextafter(n.distance, INFINITY);
        listed = insert(list, listed, LISTED, n);
    }
    return listed;
}

/* Limit of further reads for one lookup: a part of the database that contains only predictions, or another
 * GPU's winners, is not read completely. */
#define READINGS_MAX 8

/* Finds the one that is the problem's bucket. */
static void mark_bucket(const struct problem *problem, struct neighbour *neighbours, int count)
{
    struct neighbour *bucket = NULL;
    for (int i = 0; i < count; i++) {
        const struct problem *tuned = &neighbours[i].winner->base.problem;
        struct problem like = *problem;
        if (!like.prepared) like.prepared = tuned->prepared; /* it saves no work, else it were not listed */
        if (tuned->m < problem->m || tuned->m >= 2 * problem->m || !problem_alike_but_m(tuned, &like))
            continue;
        if (!bucket || tuned->m < bucket->winner->base.problem.m) bucket = &neighbours[i];
    }
    if (bucket) bucket->bucket = true;
}

enum status nearest_find(struct winner_store *store, const struct problem *problem, int alignment,
                         bool decides, struct neighbour neighbours[NEAREST_MAX], int *count)
{
    struct neighbour list[LISTED];
    const struct shape shape = shape_of(problem);
    int listed = list_read(store, problem, &shape, decides, list);
    *count = 0;
    for (int reading = 0; reading < READINGS_MAX; reading++) {
        bool more;
        enum status st = winner_store_read_near(
            store, &shape, listed == LISTED ? list[LISTED - 1].distance : NEAREST_RADIUS, &more);
        if (st) return st;
        if (!more) break;
        listed = list_read(store, problem, &shape, decides, list);
    }
    for (int i = 0; i < listed; i++) {
        const struct stored_winner *w = list[i].winner;
        const struct config *config = w->config == CUBLAS_WON ? NULL : &store->set.configs[w->config];
        if (config && config->template->own)
            continue; /* its `only` says what it was written for, not what was judged */
        if (config && (nearest_illegal(store, config, problem, alignment) ||
                       config->template->check(config, &w->base.problem, &store->gpu)))
            continue;
        if (config && w->pretuned && winner_store_failed(store, &w->base.problem, config, w->base.when))
            continue;
        transfer(store, problem, &list[i]);
        *count = insert(neighbours, *count, NEAREST_MAX, list[i]);
    }
    mark_bucket(problem, neighbours, *count);
    return OK;
}
