#include "instead.h"

#include "background.h"
#include "gpu_context.h"
#include "modules.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of calls that pass after a failure before the next attempt; it doubles each time. */
enum { RETRY_CALLS = 256, RETRY_DOUBLINGS = 8 };

struct instead_rules instead_rules;

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* for changes of one; held briefly */
static pthread_cond_t prepared = PTHREAD_COND_INITIALIZER;   /* one is no longer preparing */

/* ---- decision ---- */

static void count_change(const struct instead *x)
{
    atomic_fetch_add_explicit(&x->plan->context->handle->plans.changes, 1, memory_order_release);
}

/* The lock `changing` is held. */
static void give_up(struct instead *x, enum instead_failure failure, const char *why)
{
    const int doublings = x->failures < RETRY_DOUBLINGS ? x->failures : RETRY_DOUBLINGS;
    const int calls = RETRY_CALLS << doublings;
    if (failure == FAILS_FOR_NOW) {
        x->failures++;
        atomic_store(&x->calls_to_pass, calls);
        snprintf(x->state.why, sizeof x->state.why, "%.200s; it is tried again after %d calls", why, calls);
    } else {
        snprintf(x->state.why, sizeof x->state.why, "%.250s", why);
    }
    atomic_store(&x->by, failure == FAILS_FOR_NOW ? BY_KERNEL_LATER : BY_CUBLAS);
    count_change(x);
}

/* False: none is known; *held: perhaps because another program holds the database. */
static bool choose(const struct gt_plan *plan, struct choice *choice, bool *held)
{
    struct choice choices[CHOICES_MAX];
    int count = 0;
    *held = false;
    bool found = !plan_ask(plan, false, choices, &count, held) && count > 0;
    if (!found && instead_rules.nearest)
        found =
            !plan_ask(plan, true, choices, &count, held) && count > 0 && choices[0].source == CHOICE_NEAREST;
    if (found) *choice = choices[0];
    return found;
}

static bool is_excluded(const struct problem *problem)
{
    char text[PROBLEM_TEXT_MAX];
    if (!instead_rules.excludes) return false;
    problem_format(problem, text);
    return instead_rules.excludes(text);
}

/* Why no kernel computes it; NULL: that of the choice does. *later: that may change. */
static const char *why_not(const struct instead *x, struct choice *choice, bool *later)
{
    bool held;
    *choice = (struct choice){.cublas = true, .source = CHOICE_FALLBACK};
    *later = false;
    if (x->unnamed) return x->unnamed;
    if (!choose(x->plan, choice, &held)) {
        *later = held;
        return held ? "another program holds the database of winners" : "no winner is known for this problem";
    }
    if (choice->cublas) return choice->why;
    if (choice_replaces_cublas(choice))
        return is_excluded(&x->plan->problem) ? "excluded by GEMMTUNE_EXCLUDE" : NULL;
    return choice->pinned      ? "what is pinned was not measured for this problem with this kernel"
           : choice->ratio > 0 ? "the tuned kernel is not expected to be faster"
                               : "the tuned kernel was not compared with cuBLAS";
}

static bool won_by_rival(const struct choice *choice)
{
    return choice->source == CHOICE_EXACT && choice->ratio <= 1 && (choice->cublas || choice->ratio > 0);
}

/* The choice's kernel and its speed in a few words. */
static void describe(const struct choice *choice, char why[INSTEAD_WHY_MAX])
{
    char ratio[64] = "", config[CONFIG_TEXT_MAX];
    if (choice->ratio > 0) snprintf(ratio, sizeof ratio, "%.3f times as fast as cuBLAS, ", choice->ratio);
    config_format(&choice->config, config);
    snprintf(why, INSTEAD_WHY_MAX, "%s%s%s, %.180s", ratio, choice->pinned ? "pinned, " : "",
             choice->source == CHOICE_EXACT ? "measured" : "measured for a similar problem", config);
}

/* The winner from now on. False: no memory. By who prepares. */
static bool keep_choice(struct instead *x, const struct choice *choice)
{
    if (!x->choice && !(x->choice = malloc(sizeof *x->choice))) return false;
    *x->choice = *choice;
    return true;
}

/* The lock is held, or nobody else has x. */
static void describe_choice(struct instead *x, const struct choice *choice)
{
    describe(choice, x->state.why);
    x->state.family = choice->config.template->name;
    x->state.ratio = choice->ratio;
    x->state.time_us = choice->time_us;
    x->state.rival_won = false;
}

/* False: cuBLAS computes it, for now or for good. By who prepares, or while nobody else has x. */
static bool decide(struct instead *x)
{
    struct choice choice;
    bool later;
    const char *why = why_not(x, &choice, &later);
    if (!why && !keep_choice(x, &choice)) why = "out of memory", later = true;
    pthread_mutex_lock(&changing);
    if (why) {
        x->state.rival_won = won_by_rival(&choice);
        give_up(x, later ? FAILS_FOR_NOW : FAILS, why);
    } else {
        describe_choice(x, &choice);
        atomic_store(&x->by, BY_KERNEL);
    }
    pthread_mutex_unlock(&changing);
    return !why;
}

/* ---- open, close ---- */

/* A member that is 0 has a default in the library, and is cuBLAS's to refuse. */
static bool has_all_members(const struct gt_problem *p)
{
    return p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0 && p->lda > 0 && p->ldb > 0 && p->ldc > 0;
}

enum status instead_open(struct gpu_context *context, const struct plan_key *key, struct instead *x)
{
    const struct gt_problem asked = plan_key_problem(key);
    enum status st = plan_make(context->handle, key, &x->plan);
    if (st && st != E_INPUT) {
        plan_free(x->plan);
        return st;
    }
    x->plan->context = context;
    x->plan->instead = x;
    if (st || !has_all_members(&asked))
        x->unnamed = "no winner can exist for it: a size or stride is beyond the limits, or matrices "
                     "of C overlap";
    else if (context->device.gpu.arch < gemm_type_row(x->plan->problem.type)->least_arch)
        x->unnamed = "the GPU has no units for its type";
    decide(x);
    return OK;
}

void instead_close(struct instead *x)
{
    plan_free(x->plan);
    free(x->choice);
}

/* ---- state ---- */

void instead_give_up(struct instead *x, const struct executable *kernel, enum instead_failure failure,
                     const char *why)
{
    pthread_mutex_lock(&changing);
    const bool computes = kernel == atomic_load(&x->kernels[0]) || kernel == atomic_load(&x->kernels[1]);
    if (computes && instead_is_kernel(x)) give_up(x, failure, why);
    pthread_mutex_unlock(&changing);
}

bool instead_is_due(struct instead *x)
{
    int by = atomic_load_explicit(&x->by, memory_order_relaxed);
    if (by != BY_KERNEL_LATER) return by == BY_KERNEL;
    if (atomic_fetch_sub_explicit(&x->calls_to_pass, 1, memory_order_relaxed) != 1) return false;
    return atomic_compare_exchange_strong(&x->by, &by, BY_KERNEL); /* cuBLAS may be faster by now */
}

bool instead_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    return cuda.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void instead_state(struct instead *x, struct instead_state *state)
{
    pthread_mutex_lock(&changing);
    *state = x->state;
    pthread_mutex_unlock(&changing);
}

/* ---- preparation ---- */

/* The lock `changing` is held. */
static void end_preparing(struct instead *x)
{
    atomic_store(&x->compiling, false);
    x->preparing = false;
    pthread_cond_broadcast(&prepared);
}

/* The plan for scalars there; NULL: no memory. By who prepares; the second becomes known with its executable.
 */
static struct gt_plan *plan_for(struct instead *x, bool scalars_on_device)
{
    struct plan_key key = x->plan->entry.key;
    struct gt_problem p = plan_key_problem(&key);
    if (!scalars_on_device || x->on_device) return instead_plan(x, scalars_on_device);
    p.flags |= GT_SCALARS_ON_DEVICE;
    key = plan_key_of(key.context, &p);
    struct gt_plan *plan;
    if (plan_make(x->plan->context->handle, &key, &plan)) {
        plan_free(plan);
        return NULL;
    }
    atomic_store(&plan->next, atomic_load(&x->plan->next));
    atomic_store(&x->plan->next, plan); /* is freed with it */
    return x->on_device = plan;
}

/* Names the problem where its only choice falls away. */
static void say_absent(const struct problem *problem)
{
    char why[600], text[PROBLEM_TEXT_MAX];
    snprintf(why, sizeof why, "%.590s", status_text());
    problem_format(problem, text);
    fail(E_ABSENT, "nothing here can compute %s: %s", text, why);
}

enum loaded { LOADED, NOT_NOW, NOT_AT_ALL, UNBUILT /* it must be compiled, and may not be here */ };

/* Loads the kernel of the choice, and of no other. Compiles if necessary, and allowed. */
static enum loaded load(struct instead *x, const struct choice *choice, bool scalars_on_device,
                        bool may_compile, struct executable **kernel, char why[INSTEAD_WHY_MAX])
{
    struct gt_plan *plan = plan_for(x, scalars_on_device);
    bool passing = false;
    enum status st = plan ? OK : E_MEMORY;
    if (!may_compile) modules_no_compiling_begin();
    if (!st) gpu_context_begin_kernels(plan->context);
    if (!st) st = plan_take(plan, choice, &passing, kernel);
    if (!may_compile && modules_no_compiling_end() && st) return UNBUILT;
    if (!st) return LOADED;
    if (st == E_ABSENT) say_absent(&plan->problem);
    snprintf(why, INSTEAD_WHY_MAX, "the tuned kernel cannot be prepared: %.200s", status_text());
    return (st == E_MEMORY || passing) && !device_lost() ? NOT_NOW : NOT_AT_ALL;
}

/* False: the kernel must be compiled, and may not be here; then it is still preparing. */
static bool prepare(struct instead *x, bool scalars_on_device, bool may_compile)
{
    struct executable *kernel = NULL;
    char why[INSTEAD_WHY_MAX];
    const bool decided = x->choice || decide(x); /* it may have been decided without the database */
    enum loaded loaded = NOT_AT_ALL;
    if (decided) loaded = load(x, x->choice, scalars_on_device, may_compile, &kernel, why);
    if (loaded == UNBUILT) return false;
    pthread_mutex_lock(&changing);
    if (loaded == LOADED) {
        x->tried = true;
        atomic_store_explicit(&x->kernels[scalars_on_device], kernel, memory_order_release);
        count_change(x);
    } else if (decided) {
        give_up(x, loaded == NOT_NOW ? FAILS_FOR_NOW : FAILS, why);
    }
    end_preparing(x);
    pthread_mutex_unlock(&changing);
    return true;
}

static void drop(void *item)
{
    pthread_mutex_lock(&changing);
    end_preparing(item);
    pthread_mutex_unlock(&changing);
}

/* New winners came while its kernel was being compiled. */
static bool must_decide_again(struct instead *x)
{
    pthread_mutex_lock(&changing);
    const bool again = x->again && !x->preparing;
    if (again) x->again = false, x->preparing = true;
    pthread_mutex_unlock(&changing);
    return again;
}

static void decide_again(struct instead *x);

/* In the thread of background.c, preparing. Without its context nobody will call it again. */
static void prepare_apart(void *item)
{
    struct instead *x = item;
    if (!gpu_context_enter(x->plan->context)) {
        drop(x);
        return;
    }
    if (instead_is_compiling(x)) {
        prepare(x, x->for_device, true);
    } else {
        decide_again(x);
        drop(x);
    }
    while (must_decide_again(x)) {
        decide_again(x);
        drop(x);
    }
    gpu_context_leave();
}

static bool hand_over(struct instead *x)
{
    return background_add(x->plan->context->device.gpu.arch, prepare_apart, drop, x);
}

/* Has the kernel compiled while calls go to cuBLAS; where that cannot be, here. */
static void compile_meanwhile(struct instead *x, bool scalars_on_device)
{
    pthread_mutex_lock(&changing);
    x->for_device = scalars_on_device;
    atomic_store(&x->compiling, true);
    pthread_cond_broadcast(&prepared); /* who waited goes on with cuBLAS */
    pthread_mutex_unlock(&changing);
    if (!hand_over(x)) prepare(x, scalars_on_device, true);
}

/* In a call. */
static void prepare_here(struct instead *x, bool scalars_on_device)
{
    if (!prepare(x, scalars_on_device, instead_rules.wait)) {
        compile_meanwhile(x, scalars_on_device);
    } else if (must_decide_again(x) && !hand_over(x)) {
        decide_again(x);
        drop(x);
    }
}

/* A graph keeps what computes it when it is captured, so what is being prepared is waited for. */
static struct executable *kernel_for_graph(struct instead *x, _Atomic(struct executable *) *place)
{
    pthread_mutex_lock(&changing);
    while (x->preparing && !atomic_load(place)) pthread_cond_wait(&prepared, &changing);
    pthread_mutex_unlock(&changing);
    return atomic_load(place);
}

struct executable *instead_kernel(struct instead *x, bool scalars_on_device, CUstream stream)
{
    _Atomic(struct executable *) *place = &x->kernels[scalars_on_device];
    struct executable *kernel = atomic_load_explicit(place, memory_order_acquire);
    if (kernel) return kernel;
    if (instead_is_captured(stream)) return kernel_for_graph(x, place);
    if (instead_is_compiling(x)) return NULL;
    pthread_mutex_lock(&changing);
    while (x->preparing && !instead_is_compiling(x)) pthread_cond_wait(&prepared, &changing);
    const bool ours = !x->preparing && !atomic_load(place) && atomic_load(&x->by) == BY_KERNEL;
    if (ours) x->preparing = true;
    pthread_mutex_unlock(&changing);
    if (ours) prepare_here(x, scalars_on_device);
    return atomic_load(place);
}

/* ---- new winners ---- */

/* The kernels of what was chosen now, in place of others or of none. The old ones stay: a thread may be
 * launching one. */
static void replace(struct instead *x, const struct choice *choice, struct executable *const kernels[2])
{
    pthread_mutex_lock(&changing);
    describe_choice(x, choice);
    x->tried = true;
    for (int i = 0; i < 2; i++)
        if (kernels[i]) atomic_store_explicit(&x->kernels[i], kernels[i], memory_order_release);
    x->failures = 0;
    atomic_store(&x->by, BY_KERNEL);
    count_change(x);
    pthread_mutex_unlock(&changing);
}

/* Nothing else prepares it meanwhile: x->preparing. */
static void decide_again(struct instead *x)
{
    struct choice choice;
    struct executable *kernels[2] = {NULL, NULL};
    char why[INSTEAD_WHY_MAX];
    bool later;
    const char *other = why_not(x, &choice, &later);
    if (other) {
        if (!instead_is_kernel(x) || later) return;
        pthread_mutex_lock(&changing);
        x->state.rival_won = choice.source == CHOICE_EXACT;
        give_up(x, FAILS, other);
        x->tried = false;
        pthread_mutex_unlock(&changing);
        free(x->choice);
        x->choice = NULL;
        return;
    }
    if (x->tried && config_equal(&choice.config, &x->choice->config)) return; /* used, or could not be */
    for (int i = 0; i < 2; i++) {
        const bool wanted = atomic_load(&x->kernels[i]) || (i == 0 && !atomic_load(&x->kernels[1]));
        const enum loaded got = wanted ? load(x, &choice, i, true, &kernels[i], why) : LOADED;
        if (got == LOADED) continue;
        if (got == NOT_AT_ALL) x->tried = keep_choice(x, &choice); /* once is enough */
        return;
    }
    if (keep_choice(x, &choice)) replace(x, &choice, kernels);
}

void instead_renew(struct instead *x)
{
    if (x->unnamed) return;
    pthread_mutex_lock(&changing);
    const bool ours = !x->preparing;
    x->preparing = true;
    if (!ours) x->again = true;
    pthread_mutex_unlock(&changing);
    if (!ours) return;
    decide_again(x);
    drop(x);
}
