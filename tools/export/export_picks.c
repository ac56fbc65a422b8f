#include "export_picks.h"

#include "export_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picking {
    struct answers *answers;
    struct picks *picks;
    const struct pick_rules *rules;
    size_t room, left_out_room;
    enum status st;
};

/* One more element at the end of an array; NULL out of memory. */
static void *append(void **array, int *count, size_t bytes)
{
    void *grown = realloc(*array, ((size_t)*count + 1) * bytes);
    if (!grown) return NULL;
    *array = grown;
    return (char *)grown + (size_t)(*count)++ * bytes;
}

/* Number of the GPU; -1 out of memory. */
static int number_gpu(struct picks *picks, const struct gpu *gpu)
{
    for (int i = 0; i < picks->gpu_count; i++)
        if (gpu_same_name(picks->gpus[i].name, gpu->name) && picks->gpus[i].arch == gpu->arch &&
            picks->gpus[i].sm_count == gpu->sm_count)
            return i;
    void *list = picks->gpus;
    struct gpu *added = append(&list, &picks->gpu_count, sizeof *added);
    if (!added) return -1;
    *added = *gpu;
    picks->gpus = list;
    return picks->gpu_count - 1;
}

static int number_source(struct picks *picks, const struct db_winner *w)
{
    for (int i = 0; i < picks->source_count; i++) {
        const struct pick_source *s = &picks->sources[i];
        if (s->predicted == w->base.predicted && s->cold == w->base.cold &&
            strcmp(s->driver, w->driver) == 0 && strcmp(s->nvrtc, w->nvrtc) == 0 &&
            strcmp(s->cublas, w->cublas) == 0)
            return i;
    }
    void *list = picks->sources;
    struct pick_source *added = append(&list, &picks->source_count, sizeof *added);
    if (!added) return -1;
    *added = (struct pick_source){.predicted = w->base.predicted, .cold = w->base.cold};
    memcpy(added->driver, w->driver, sizeof added->driver);
    memcpy(added->nvrtc, w->nvrtc, sizeof added->nvrtc);
    memcpy(added->cublas, w->cublas, sizeof added->cublas);
    picks->sources = list;
    return picks->source_count - 1;
}

/* kind: as in struct left_out. False: out of memory. */
static bool leave_out(struct picking *p, const struct problem *problem, const char *gpu, const char *why,
                      const char *kind)
{
    struct picks *picks = p->picks;
    if (picks->left_out_count == p->left_out_room) {
        const size_t room = p->left_out_room ? 2 * p->left_out_room : 64;
        struct left_out *grown = realloc(picks->left_out, room * sizeof *grown);
        if (!grown) {
            p->st = fail(E_MEMORY, "out of memory for %zu winners", picks->read);
            return false;
        }
        picks->left_out = grown;
        p->left_out_room = room;
    }
    struct left_out *l = &picks->left_out[picks->left_out_count++];
    problem_format(problem, l->problem);
    snprintf(l->gpu, sizeof l->gpu, "%s", gpu);
    snprintf(l->why, sizeof l->why, "%s", why);
    l->kind = kind;
    return true;
}

/* Why a winner does not go into a header whatever else is there, or NULL. */
static const char *unwanted(const struct db_winner *w, const struct pick_rules *rules)
{
    if (w->unusable) return w->why;
    if (w->base.problem.alpha == 0) return "tuned with alpha = 0, where neither A nor B is read";
    if (w->base.problem.pointers)
        return "it takes arrays of pointers, which a header's kernels are not given";
    if (w->base.problem.prepared)
        return "its times leave out the preparation of an operand, which a header's launcher does not know";
    if (w->base.problem.invariant)
        return "it is for calls that ask for rows whose bits do not depend on M, which a header's cannot";
    if (rules->measured_only && w->base.predicted) return "predicted, and measured ones are asked for";
    if (rules->no_cublas && answer_is_cublas(w)) return "cuBLAS is the fastest, and asked to be left out";
    if (!answer_is_cublas(w) && template_is_library(w->config.template))
        return "it is an algorithm of NVIDIA's library, which a header does not contain";
    if (!answer_is_cublas(w) && w->config.template->own)
        return "it is of an own kernel, which a header does not contain";
    return NULL;
}

static bool take(void *self, const struct answer *answer)
{
    struct picking *p = self;
    const struct db_winner *const w = answer_elsewhere(answer);
    struct picks *picks = p->picks;
    const char *why = unwanted(w, p->rules);
    picks->read++;
    picks->instead += w != answer->winner;
    if (why) return leave_out(p, &w->base.problem, w->gpu.name, why, NULL);
    if (picks->count == p->room) {
        size_t room = p->room ? 2 * p->room : 256;
        struct pick *grown = realloc(picks->list, room * sizeof *grown);
        if (!grown) goto out_of_memory;
        picks->list = grown;
        p->room = room;
    }
    struct pick *pick = &picks->list[picks->count];
    const bool cublas = answer_is_cublas(w);
    *pick =
        (struct pick){.base.problem = w->base.problem,
                      .config = cublas ? (struct config){.template = NULL} : w->config,
                      .gpu = number_gpu(picks, &w->gpu),
                      .source = number_source(picks, w),
                      .base.time_us = cublas && w->config.template ? answer_us(&w->base) : w->base.time_us,
                      .base.ratio = w->base.ratio,
                      .base.ratio_low = w->base.ratio_low,
                      .base.ratio_high = w->base.ratio_high};
    memcpy(pick->base.when, w->base.when, sizeof pick->base.when);
    const struct gt_winner_shape shape = plan_shape(&w->base.problem);
    pick->align = gt_winner_align(&shape);
    pick->shared = gt_winner_shared(&shape);
    if (pick->gpu < 0 || pick->source < 0) goto out_of_memory;
    picks->count++;
    return true;
out_of_memory:
    p->st = fail(E_MEMORY, "out of memory for %zu winners", picks->count);
    return false;
}

/* ---- order ---- */

static int compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* What a lookup asks for. */
static int compare_key(const struct pick *x, const struct pick *y)
{
    const int64_t pairs[][2] = {{x->base.problem.epilogue, y->base.problem.epilogue},
                                {x->gpu, y->gpu},
                                {(int64_t)x->base.problem.type, (int64_t)y->base.problem.type},
                                {x->base.problem.trans_a, y->base.problem.trans_a},
                                {x->base.problem.trans_b, y->base.problem.trans_b},
                                {x->base.problem.m, y->base.problem.m},
                                {x->base.problem.n, y->base.problem.n},
                                {x->base.problem.k, y->base.problem.k},
                                {x->base.problem.batch, y->base.problem.batch},
                                {x->align, y->align},
                                {x->base.problem.beta != 0, y->base.problem.beta != 0},
                                {x->shared, y->shared}};
    int order = 0;
    for (size_t i = 0; !order && i < sizeof pairs / sizeof *pairs; i++)
        order = compare(pairs[i][0], pairs[i][1]);
    return order;
}

/* Of several with one key the first is taken: measured, cold, without padding and scalars, then by text. */
static int compare_picks(const void *a, const void *b, void *of)
{
    const struct pick *x = a, *y = b;
    const struct pick_source *sources = of;
    int order = compare_key(x, y);
    if (!order) order = compare(sources[x->source].predicted, sources[y->source].predicted);
    if (!order) order = compare(!sources[x->source].cold, !sources[y->source].cold);
    if (order) return order;
    char xt[PROBLEM_TEXT_MAX], yt[PROBLEM_TEXT_MAX];
    problem_format(&x->base.problem, xt);
    problem_format(&y->base.problem, yt);
    order = compare((int64_t)strlen(xt), (int64_t)strlen(yt));
    return order ? order : strcmp(xt, yt);
}

/* Of each key the first one, the list being sorted. */
static enum status keep_first(struct picking *p)
{
    struct picks *picks = p->picks;
    size_t kept = 1;
    for (size_t i = 1; i < picks->count; i++) {
        const struct pick *taken = &picks->list[kept - 1], *pick = &picks->list[i];
        char why[sizeof picks->left_out->why], problem[PROBLEM_TEXT_MAX];
        if (compare_key(taken, pick)) {
            picks->list[kept++] = *pick;
            continue;
        }
        const struct pick_source *source = &picks->sources[taken->source];
        problem_format(&taken->base.problem, problem);
        snprintf(why, sizeof why, "its shape is there as %s, %s for a %s cache", problem,
                 source->predicted ? "predicted" : "measured", source->cold ? "cold" : "hot");
        if (!leave_out(p, &pick->base.problem, picks->gpus[pick->gpu].name, why,
                       "another winner has their shape: they differ in leading dimensions, scalars or cache"))
            return p->st;
    }
    picks->count = kept;
    return OK;
}

static enum status take_all(void *self, const struct db_filter *filter)
{
    struct picking *p = self;
    struct picks *picks = p->picks;
    const size_t before = picks->read;
    const enum status st = answers_own(p->answers, filter, take, p);
    if (!st && !p->st && filter->problem && picks->read == before) {
        picks->read++;
        picks->unknown++;
        leave_out(p, filter->problem, filter->gpu ? filter->gpu : "any GPU", NO_WINNER, NULL);
    }
    return st ? st : p->st;
}

enum status picks_read(struct answers *answers, const struct db_filter *filter,
                       const struct problem_list *problems, const struct pick_rules *rules,
                       struct picks *picks)
{
    *picks = (struct picks){.count = 0};
    struct picking picking = {.answers = answers, .picks = picks, .rules = rules};
    enum status st = problem_list_each(problems, *filter, take_all, &picking);
    if (st || picks->count == 0) return st;
    qsort_r(picks->list, picks->count, sizeof *picks->list, compare_picks, picks->sources);
    return keep_first(&picking);
}

void picks_free(struct picks *picks)
{
    free(picks->list);
    free(picks->gpus);
    free(picks->sources);
    free(picks->left_out);
    *picks = (struct picks){.count = 0};
}
