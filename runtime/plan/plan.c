#include "plan.h"

#include "prepare.h"

#include <string.h>

struct object_pool plan_pool = OBJECT_POOL(UINT64_C(0x67742d706c616e21), struct gt_plan);

/* An executable that stands in for a better one tries that again after so many launches at most, each time
 * after twice as many. */
#define RETRY_MOST 65536

/* ---- make, free ---- */

static bool is_same(const struct executable *a, const struct executable *b)
{
    return a->unaligned == b->unaligned && a->provisional == b->provisional &&
           a->need.bytes == b->need.bytes && strcmp(a->info.config, b->info.config) == 0;
}

/* One that was made before serves again, with its patience: what is refused again and again takes no more
 * memory, and is tried less and less. */
static struct executable *install(struct gt_plan *plan, enum plan_case which, struct executable *executable)
{
    struct executable *earlier = plan->executables;
    while (earlier && !is_same(earlier, executable)) earlier = earlier->next;
    if (earlier) {
        executable_free(executable);
        executable = earlier;
    } else {
        executable->next = plan->executables;
        plan->executables = executable;
    }
    atomic_store(&plan->executable[which], executable);
    return executable;
}

enum status plan_make(struct gt_handle *handle, struct gpu_context *context, const struct problem *problem,
                      const struct plan_traits *traits, bool twin, struct gt_plan **out)
{
    struct executable *executable;
    struct gt_plan *plan = object_make(&plan_pool);
    if (!plan) return fail(E_MEMORY, "out of memory while making a plan");
    plan->handle = handle;
    plan->context = context;
    plan->problem = *problem;
    plan->traits = *traits;
    plan->extents = extents_of(problem);
    pthread_mutex_init(&plan->lock, NULL);
    const enum status st = prepare_executable(plan, PLAN_USUAL, &executable);
    if (st) {
        plan_free(plan);
        return st;
    }
    plan->executables = executable;
    atomic_store(&plan->executable[PLAN_USUAL], executable);
    *out = plan;
    if (!twin) {
        pthread_mutex_lock(&handle->lock);
        plan->next = handle->plans;
        plan->link = &handle->plans;
        if (plan->next) plan->next->link = &plan->next;
        handle->plans = plan;
        pthread_mutex_unlock(&handle->lock);
    }
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

void plan_problem_of_beta(struct problem *p, const struct plan_traits *traits, bool adds_to_c)
{
    p->beta = adds_to_c;
    p->epilogue = epilogue_code(epilogue_bias(p->epilogue), epilogue_activation(p->epilogue),
                                traits->out_of_place && (adds_to_c || traits->scalars_on_device));
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
        plan_problem_of_beta(&problem, &plan->traits, adds_to_c);
        st = plan_make(plan->handle, plan->context, &problem, &plan->traits, true, out);
        if (!st) atomic_store_explicit(&plan->twin, *out, memory_order_release);
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
    for (struct executable *executable = plan->executables, *next; executable; executable = next) {
        next = executable->next;
        executable_free(executable);
    }
    pthread_mutex_destroy(&plan->lock);
    object_free(&plan_pool, plan);
}

bool plan_is_counted(const struct gt_plan *plan)
{
    return atomic_load(&plan->executable[PLAN_USUAL])->counted;
}

/* ---- when a launch does not go as planned ---- */

static enum plan_case case_of(const struct gt_plan *plan, const struct gemm_call *call, bool without)
{
    const bool unaligned =
        (call->a | call->b | call->c | call->source) & (CUdeviceptr)(plan->traits.alignment - 1);
    return (unaligned ? PLAN_UNALIGNED : 0) | (without ? PLAN_WITHOUT : 0);
}

static struct executable *usable(const struct gt_plan *plan, enum plan_case which)
{
    struct executable *executable = atomic_load_explicit(&plan->executable[which], memory_order_acquire);
    return executable && atomic_load(&executable->refusal) == NOT_REFUSED ? executable : NULL;
}

/* The executable that is there, or a new one if there is none or it was refused. */
static enum status fill(struct gt_plan *plan, enum plan_case which, struct executable **executable)
{
    enum status st = OK;
    if ((*executable = usable(plan, which))) return OK;
    pthread_mutex_lock(&plan->lock);
    if (!(*executable = usable(plan, which))) {
        st = prepare_executable(plan, which, executable);
        if (!st) *executable = install(plan, which, *executable);
    }
    pthread_mutex_unlock(&plan->lock);
    return st;
}

/* Try again what was refused for lack of memory. */
static void improve(struct gt_plan *plan, enum plan_case which, struct executable *stand_in)
{
    struct executable *executable;
    pthread_mutex_lock(&plan->lock);
    for (struct executable *w = plan->executables; w; w = w->next)
        if (atomic_load(&w->refusal) == REFUSED_FOR_NOW) atomic_store(&w->refusal, NOT_REFUSED);
    if (!prepare_executable(plan, which, &executable)) {
        const bool better =
            strcmp(executable->info.config, stand_in->info.config) != 0 || !executable->provisional;
        if (better) install(plan, which, executable);
        else executable_free(executable);
    }
    if (stand_in->patience < RETRY_MOST) stand_in->patience *= 2;
    atomic_store(&stand_in->retry, stand_in->patience);
    pthread_mutex_unlock(&plan->lock);
}

enum launch_result plan_launch_otherwise(struct gt_plan *plan, struct executable *executable,
                                         enum launch_result result, const struct gemm_call *call)
{
    bool without = false;
    for (int tries = 0; tries < 2 * CHOICES_MAX; tries++) {
        const bool refused = result == LAUNCH_REFUSED || result == LAUNCH_REFUSED_FOR_NOW;
        if (refused) {
            notice(&plan->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
            atomic_store(&executable->refusal, result == LAUNCH_REFUSED ? REFUSED : REFUSED_FOR_NOW);
        }
        if (result == LAUNCH_NO_WORKSPACE && !without) {
            without = true;
            atomic_fetch_add_explicit(&plan->without, 1, memory_order_relaxed);
        }
        const enum plan_case which = case_of(plan, call, without);
        if (result == LAUNCH_RETRY_DUE) improve(plan, which, executable);
        if (fill(plan, which, &executable)) return LAUNCH_FAILED;
        result = executable_launch(executable, call);
        if (result == LAUNCH_DONE || result == LAUNCH_NO_CONTEXT || result == LAUNCH_FAILED) return result;
    }
    return LAUNCH_FAILED;
}

void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info)
{
    const struct executable *usual = atomic_load(&plan->executable[PLAN_USUAL]);
    *info = usual->info;
    info->provisional = usual->provisional;
    info->without_workspace = atomic_load(&plan->without);
    for (int i = PLAN_WITHOUT; i < PLAN_CASES && !info->instead[0]; i++) {
        const struct executable *executable = atomic_load(&plan->executable[i]);
        if (executable) memcpy(info->instead, executable->info.config, sizeof info->instead);
    }
}
