#include "plan.h"

#include "relaxed.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct object_pool plan_pool = OBJECT_POOL(UINT64_C(0x67742d706c616e21), struct gt_plan);

/* A way that stands in for a better one tries that again after so many launches, then after twice as many. */
#define RETRY_FIRST 64
#define RETRY_MOST  65536

/* Whether a choice was refused when it was launched. */
static enum way_bar bar_of(const struct choice *choice, const struct way *ways)
{
    char text[CONFIG_TEXT_MAX] = "cublas";
    if (!choice->cublas) config_format(&choice->config, text);
    for (; ways; ways = ways->next) {
        const enum way_bar bar = atomic_load(&ways->bar);
        if (bar != WAY_OPEN && strcmp(text, ways->info.config) == 0) return bar;
    }
    return WAY_OPEN;
}

struct wish {
    struct gt_handle *handle;
    struct place *place;
    const struct problem *problem;
    int alignment;
    bool scalars_on_device, without_workspace;
    const struct way *ways; /* of the plan, until now */
    bool passing;           /* out: a better choice fell away for a reason that may pass */
};

static bool needs_workspace(const struct choice *choice, const struct problem *problem)
{
    struct launch_plan plan = {.kernels = 0};
    if (!choice->cublas) choice->config.template->plan(&choice->config, problem, &plan);
    return plan.workspace_bytes > 0;
}

static enum status try_choice(struct wish *w, const struct choice *choice, struct way **way)
{
    bool passing = false;
    const enum way_bar bar = bar_of(choice, w->ways);
    if (bar == WAY_BARRED_FOR_NOW) w->passing = true;
    if (bar != WAY_OPEN) return fail(E_ABSENT, "it has been refused");
    if (w->without_workspace && needs_workspace(choice, w->problem))
        return fail(E_ABSENT, "it needs a workspace");
    enum status st =
        way_build(w->handle, w->place, w->problem, w->alignment, w->scalars_on_device, choice, way, &passing);
    bool told = st == E_COMPILER || choice->cublas; /* way_build has said it */
    if (st && st != E_MEMORY && !told && choice->source != CHOICE_FALLBACK)
        notice(&w->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
    w->passing = w->passing || passing;
    return st;
}

static enum status look_up_exact(struct wish *w, struct choice *choice)
{
    pthread_mutex_lock(&w->place->lock);
    enum status st = lookup_exact(&w->place->known, w->problem, w->alignment, choice);
    w->passing = known_is_held(&w->place->known);
    pthread_mutex_unlock(&w->place->lock);
    return st;
}

static enum status look_up_others(const struct wish *w, struct choice choices[CHOICES_MAX], int *count)
{
    struct known *known = &w->place->known;
    pthread_mutex_lock(&w->place->lock);
    const int64_t allowed = known->workspace_bytes;
    if (w->without_workspace)
        known->workspace_bytes = 1; /* so that the list is not full of what needs more */
    enum status st = lookup_others(known, w->problem, w->alignment, choices, count);
    known->workspace_bytes = allowed;
    pthread_mutex_unlock(&w->place->lock);
    return st;
}

static enum status find_way(struct wish *w, struct way **way)
{
    struct choice choices[CHOICES_MAX];
    int count;
    enum status st = look_up_exact(w, &choices[0]);
    if (!st) st = try_choice(w, &choices[0], way);
    if (!st || st == E_MEMORY) return st;
    st = look_up_others(w, choices, &count);
    if (st) return st;
    char last[600] = "no configuration is legal for it";
    for (int i = 0; i < count; i++) {
        /* In place of what was measured comes what was measured, or what anybody would have used. */
        if (w->without_workspace && choices[i].source == CHOICE_PREDICTED) continue;
        st = try_choice(w, &choices[i], way);
        if (!st || st == E_MEMORY) return st;
        snprintf(last, sizeof last, "%.590s", status_text());
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(w->problem, text);
    return fail(E_ABSENT, "nothing here can compute %s: %s", text, last);
}

/* Allocations and loading are allowed whoever captures. */
static enum status find_way_relaxed(struct wish *w, struct way **way)
{
    CUstreamCaptureMode before = relaxed_begin();
    enum status st = find_way(w, way);
    relaxed_end(before);
    if (st || !w->passing) return st;
    (*way)->provisional = true;
    (*way)->usual = false;
    (*way)->patience = RETRY_FIRST;
    atomic_store(&(*way)->retry, RETRY_FIRST);
    return OK;
}

/* Nothing to compute: no choice is needed. */
static enum status make_empty(const struct wish *w, struct way **out)
{
    struct way *way = calloc(1, sizeof *way);
    if (!way) return fail(E_MEMORY, "out of memory while making a plan");
    way->problem = *w->problem;
    way->handle = w->handle;
    way->place = w->place;
    way->info.source = GT_EXACT;
    snprintf(way->info.why, sizeof way->info.why, "C has no elements: nothing is launched");
    *out = way;
    return OK;
}

enum status plan_make(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      const struct plan_traits *traits, struct gt_plan **out)
{
    struct wish wish = {.handle = handle,
                        .place = place,
                        .problem = problem,
                        .alignment = traits->alignment,
                        .scalars_on_device = traits->scalars_on_device};
    struct way *way;
    bool empty = problem->m == 0 || problem->n == 0;
    enum status st = empty ? make_empty(&wish, &way) : find_way_relaxed(&wish, &way);
    if (st) return st;
    struct gt_plan *plan = object_make(&plan_pool);
    if (!plan) {
        way_free(way);
        return fail(E_MEMORY, "out of memory while making a plan");
    }
    plan->handle = handle;
    plan->place = place;
    plan->problem = *problem;
    plan->traits = *traits;
    atomic_init(&plan->twin, NULL);
    plan->ways = way;
    pthread_mutex_init(&plan->lock, NULL);
    for (int i = 0; i < PLAN_CASES; i++) atomic_init(&plan->way[i], i == PLAN_USUAL ? way : NULL);
    pthread_mutex_lock(&handle->lock);
    plan->next = handle->plans;
    plan->link = &handle->plans;
    if (plan->next) plan->next->link = &plan->next;
    handle->plans = plan;
    pthread_mutex_unlock(&handle->lock);
    *out = plan;
    return OK;
}

/* Its neighbours' coming and going changes its link. */
static void take_out(struct gt_plan *plan)
{
    pthread_mutex_lock(&plan->handle->lock);
    if (plan->link) *plan->link = plan->next;
    if (plan->link && plan->next) plan->next->link = plan->link;
    plan->link = NULL;
    pthread_mutex_unlock(&plan->handle->lock);
}

enum status plan_of_beta(struct gt_plan *plan, bool adds_to_c, struct gt_plan **out)
{
    enum status st = OK;
    *out = plan;
    if ((plan->problem.beta != 0) == adds_to_c) return OK;
    *out = atomic_load_explicit(&plan->twin, memory_order_acquire);
    if (*out) return OK;
    pthread_mutex_lock(&plan->lock);
    *out = atomic_load(&plan->twin);
    if (!*out) {
        struct problem problem = plan->problem;
        problem.beta = adds_to_c;
        st = plan_make(plan->handle, plan->place, &problem, &plan->traits, out);
        if (!st) {
            take_out(*out); /* it goes with this one */
            atomic_store_explicit(&plan->twin, *out, memory_order_release);
        }
    }
    pthread_mutex_unlock(&plan->lock);
    return st;
}

void plan_free(struct gt_plan *plan)
{
    if (!object_close(&plan_pool, plan)) return;
    struct gt_plan *twin = atomic_load(&plan->twin);
    if (twin) plan_free(twin);
    take_out(plan);
    for (struct way *way = plan->ways, *next; way; way = next) {
        next = way->next;
        way_free(way);
    }
    pthread_mutex_destroy(&plan->lock);
    object_free(&plan_pool, plan);
}

bool plan_is_counted(const struct gt_plan *plan)
{
    return atomic_load(&plan->way[PLAN_USUAL])->counted;
}

static enum plan_case case_of(const struct gt_plan *plan, const struct gemm_call *call, bool without)
{
    const bool unaligned = (call->a | call->b | call->c) & (CUdeviceptr)(plan->traits.alignment - 1);
    if (without) return unaligned ? PLAN_UNALIGNED_WITHOUT : PLAN_WITHOUT;
    return unaligned ? PLAN_UNALIGNED : PLAN_USUAL;
}

/* The lock is held. */
static enum status prepare(struct gt_plan *plan, enum plan_case which, struct way **way)
{
    const bool unaligned = which == PLAN_UNALIGNED || which == PLAN_UNALIGNED_WITHOUT;
    struct wish wish = {.handle = plan->handle,
                        .place = plan->place,
                        .problem = &plan->problem,
                        .alignment = unaligned ? 4 : plan->traits.alignment,
                        .scalars_on_device = plan->traits.scalars_on_device,
                        .without_workspace = which == PLAN_WITHOUT || which == PLAN_UNALIGNED_WITHOUT,
                        .ways = plan->ways};
    return find_way_relaxed(&wish, way);
}

static bool is_same(const struct way *a, const struct way *b)
{
    return a->unaligned == b->unaligned && a->provisional == b->provisional &&
           strcmp(a->info.config, b->info.config) == 0;
}

/* One that was made before serves again, with its patience: what is refused again and again takes no more
 * memory, and is tried less and less. */
static struct way *install(struct gt_plan *plan, enum plan_case which, struct way *way)
{
    struct way *known = plan->ways;
    while (known && !is_same(known, way)) known = known->next;
    if (known) {
        way_free(way);
        way = known;
    } else {
        way->next = plan->ways;
        plan->ways = way;
    }
    atomic_store(&plan->way[which], way);
    return way;
}

static struct way *open_way(const struct gt_plan *plan, enum plan_case which)
{
    struct way *way = atomic_load_explicit(&plan->way[which], memory_order_acquire);
    return way && atomic_load(&way->bar) == WAY_OPEN ? way : NULL;
}

/* The way that is there, or a new one if there is none or it was refused. */
static enum status fill(struct gt_plan *plan, enum plan_case which, struct way **way)
{
    enum status st = OK;
    if ((*way = open_way(plan, which))) return OK;
    pthread_mutex_lock(&plan->lock);
    if (!(*way = open_way(plan, which))) {
        st = prepare(plan, which, way);
        if (!st) *way = install(plan, which, *way);
    }
    pthread_mutex_unlock(&plan->lock);
    return st;
}

/* Try again what was refused for lack of memory. */
static void improve(struct gt_plan *plan, enum plan_case which, struct way *stand_in)
{
    struct way *way;
    pthread_mutex_lock(&plan->lock);
    for (struct way *w = plan->ways; w; w = w->next)
        if (atomic_load(&w->bar) == WAY_BARRED_FOR_NOW) atomic_store(&w->bar, WAY_OPEN);
    if (!prepare(plan, which, &way)) {
        const bool better = strcmp(way->info.config, stand_in->info.config) != 0 || !way->provisional;
        if (better) install(plan, which, way);
        else way_free(way);
    }
    if (stand_in->patience < RETRY_MOST) stand_in->patience *= 2;
    atomic_store(&stand_in->retry, stand_in->patience);
    pthread_mutex_unlock(&plan->lock);
}

enum way_result plan_launch_otherwise(struct gt_plan *plan, struct way *way, enum way_result result,
                                      const struct gemm_call *call)
{
    bool without = false;
    for (int tries = 0; tries < 2 * CHOICES_MAX; tries++) {
        const bool refused = result == WAY_REFUSED || result == WAY_REFUSED_NOW;
        if (refused) {
            notice(&plan->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
            atomic_store(&way->bar, result == WAY_REFUSED ? WAY_BARRED : WAY_BARRED_FOR_NOW);
        }
        if (result == WAY_CROWDED && !without) {
            without = true;
            atomic_fetch_add_explicit(&plan->without, 1, memory_order_relaxed);
        }
        const enum plan_case which = case_of(plan, call, without);
        if (result == WAY_DUE) improve(plan, which, way);
        if (fill(plan, which, &way)) return WAY_BROKEN;
        result = way_launch(way, call);
        if (result == WAY_DONE || result == WAY_NO_CONTEXT || result == WAY_BROKEN) return result;
    }
    return WAY_BROKEN;
}

void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info)
{
    const struct way *usual = atomic_load(&plan->way[PLAN_USUAL]);
    *info = usual->info;
    info->provisional = usual->provisional;
    info->without_workspace = atomic_load(&plan->without);
    for (int i = PLAN_WITHOUT; i <= PLAN_UNALIGNED_WITHOUT && !info->instead[0]; i++) {
        const struct way *way = atomic_load(&plan->way[i]);
        if (way) memcpy(info->instead, way->info.config, sizeof info->instead);
    }
}
