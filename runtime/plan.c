#include "plan.h"

#include "relaxed.h"

#include <stdlib.h>
#include <string.h>

/* A choice that was refused when it was launched. */
static bool is_barred(const struct choice *choice, const struct way *ways)
{
    char text[CONFIG_TEXT_MAX] = "cublas";
    if (!choice->cublas) config_format(&choice->config, text);
    for (; ways; ways = ways->next)
        if (ways->barred && strcmp(text, ways->info.config) == 0) return true;
    return false;
}

struct wish {
    struct gt_handle *handle;
    struct place *place;
    const struct problem *problem;
    int alignment;
    bool scalars_on_device, without_workspace;
    const struct way *ways; /* of the plan, until now */
};

static bool needs_workspace(const struct choice *choice, const struct problem *problem)
{
    struct launch_plan plan = {.kernels = 0};
    if (!choice->cublas) choice->config.template->plan(&choice->config, problem, &plan);
    return plan.workspace_bytes > 0;
}

static enum status try_choice(const struct wish *w, const struct choice *choice, struct way **way)
{
    if (is_barred(choice, w->ways)) return fail(E_ABSENT, "it has been refused");
    if (w->without_workspace && needs_workspace(choice, w->problem))
        return fail(E_ABSENT, "it needs a workspace");
    enum status st =
        way_build(w->handle, w->place, w->problem, w->alignment, w->scalars_on_device, choice, way);
    bool told = st == E_COMPILER || choice->cublas; /* way_build has said it */
    if (st && st != E_MEMORY && !told && choice->source != GT_FALLBACK)
        notice(&w->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
    return st;
}

static enum status find_way(const struct wish *w, struct way **way)
{
    struct choice choices[CHOICES_MAX];
    int count;
    struct known *known = &w->place->known;
    pthread_mutex_lock(&w->place->lock);
    enum status st = lookup_exact(known, w->problem, w->alignment, &choices[0]);
    pthread_mutex_unlock(&w->place->lock);
    if (!st) st = try_choice(w, &choices[0], way);
    if (!st || st == E_MEMORY) return st;

    pthread_mutex_lock(&w->place->lock);
    st = lookup_others(known, w->problem, w->alignment, choices, &count);
    pthread_mutex_unlock(&w->place->lock);
    if (st) return st;
    char last[600] = "no configuration is legal for it";
    for (int i = 0; i < count; i++) {
        st = try_choice(w, &choices[i], way);
        if (!st || st == E_MEMORY) return st;
        snprintf(last, sizeof last, "%.590s", status_text());
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(w->problem, text);
    return fail(E_ABSENT, "nothing here can compute %s: %s", text, last);
}

/* Allocations and loading are allowed whoever captures. */
static enum status find_way_relaxed(const struct wish *w, struct way **way)
{
    CUstreamCaptureMode before = relaxed_begin();
    enum status st = find_way(w, way);
    relaxed_end(before);
    return st;
}

/* Nothing to compute: no choice is needed. */
static enum status make_empty(const struct wish *w, struct way **out)
{
    struct way *way = calloc(1, sizeof *way);
    if (!way) return fail(E_MEMORY, "out of memory while making a plan");
    way->problem = *w->problem;
    way->place = w->place;
    way->info.source = GT_EXACT;
    snprintf(way->info.why, sizeof way->info.why, "C has no elements: nothing is launched");
    *out = way;
    return OK;
}

enum status plan_make(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      const struct plan_traits *traits, struct gt_plan **out)
{
    const struct wish wish = {.handle = handle,
                              .place = place,
                              .problem = problem,
                              .alignment = traits->alignment,
                              .scalars_on_device = traits->scalars_on_device};
    struct way *way;
    bool empty = problem->m == 0 || problem->n == 0;
    enum status st = empty ? make_empty(&wish, &way) : find_way_relaxed(&wish, &way);
    if (st) return st;
    struct gt_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        way_free(way);
        return fail(E_MEMORY, "out of memory while making a plan");
    }
    plan->handle = handle;
    plan->place = place;
    plan->problem = *problem;
    plan->traits = *traits;
    plan->ways = way;
    pthread_mutex_init(&plan->lock, NULL);
    atomic_init(&plan->way, way);
    atomic_init(&plan->narrow, NULL);
    atomic_init(&plan->spare, NULL);
    atomic_init(&plan->twin, NULL);
    pthread_mutex_lock(&handle->lock);
    plan->next = handle->plans;
    plan->link = &handle->plans;
    if (plan->next) plan->next->link = &plan->next;
    handle->plans = plan;
    pthread_mutex_unlock(&handle->lock);
    *out = plan;
    return OK;
}

static void take_out(struct gt_plan *plan)
{
    pthread_mutex_lock(&plan->handle->lock);
    *plan->link = plan->next;
    if (plan->next) plan->next->link = plan->link;
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
    CUcontext popped;
    struct gt_plan *twin = atomic_load(&plan->twin);
    if (twin) plan_free(twin);
    if (plan->link) take_out(plan);
    CUstreamCaptureMode before = relaxed_begin();
    bool pushed = cuda.CtxPushCurrent(plan->place->device.context) == CUDA_SUCCESS;
    for (struct way *way = plan->ways, *next; way; way = next) {
        next = way->next;
        way_free(way);
    }
    if (pushed) cuda.CtxPopCurrent(&popped);
    relaxed_end(before);
    pthread_mutex_destroy(&plan->lock);
    free(plan);
}

/* Which of a plan's ways is wanted. */
struct gap {
    _Atomic(struct way *) *place;
    int alignment;
    bool without_workspace;
};

/* The way that is there, or a new one if there is none or it was refused. refused: that one was just now; may
 * be NULL. */
static enum status fill(struct gt_plan *plan, const struct gap *gap, struct way *refused, struct way **way)
{
    enum status st = OK;
    pthread_mutex_lock(&plan->lock);
    if (refused) refused->barred = true;
    *way = atomic_load(gap->place);
    if (!*way || (*way)->barred) {
        const struct wish wish = {.handle = plan->handle,
                                  .place = plan->place,
                                  .problem = &plan->problem,
                                  .alignment = gap->alignment,
                                  .scalars_on_device = plan->traits.scalars_on_device,
                                  .without_workspace = gap->without_workspace,
                                  .ways = plan->ways};
        st = find_way_relaxed(&wish, way);
        if (!st) {
            (*way)->next = plan->ways;
            plan->ways = *way;
            atomic_store(gap->place, *way);
        }
    }
    pthread_mutex_unlock(&plan->lock);
    return st;
}

enum way_result plan_launch_otherwise(struct gt_plan *plan, struct way *way, enum way_result result,
                                      const struct gemm_call *call)
{
    bool unaligned = (call->a | call->b | call->c) & (CUdeviceptr)(plan->traits.alignment - 1);
    struct gap gap = {unaligned ? &plan->narrow : &plan->way, unaligned ? 4 : plan->traits.alignment, false};
    for (int tries = 0; tries < CHOICES_MAX; tries++) {
        if (result == WAY_REFUSED)
            notice(&plan->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
        if (result == WAY_CROWDED) gap = (struct gap){&plan->spare, 4, true};
        if (fill(plan, &gap, result == WAY_REFUSED ? way : NULL, &way)) return WAY_BROKEN;
        result = way_launch(way, call);
        if (result != WAY_REFUSED && result != WAY_CROWDED) return result;
    }
    return WAY_BROKEN;
}
