#include "plan.h"

#include "arguments.h"
#include "compile.h"
#include "gpu_context.h"
#include "kernel.h"
#include "launch_walk.h"
#include "launcher.h"
#include "modules.h"
#include "relaxed.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct object_pool plan_pool = OBJECT_POOL(UINT64_C(0x67742d706c616e21), struct gt_plan);

/* What stands in for a better one has that tried again after so many launches, at first and at most, each
 * time after twice as many. */
#define RETRY_FIRST 64
#define RETRY_MOST  65536

/* ---- from a choice to an executable ---- */

static void executable_free(struct executable *x)
{
    if (x->module) modules_release(x->module);
    blas_lt_close(&x->lt);
    prepared_forms_free(x->prepared);
    free(x->entries);
    free(x);
}

static void describe(const struct gt_plan *plan, const struct choice *choice, struct executable *x)
{
    static const int32_t source_of[] = {[CHOICE_EXACT] = GT_EXACT,
                                        [CHOICE_NEAREST] = GT_NEAREST,
                                        [CHOICE_PREDICTED] = GT_PREDICTED,
                                        [CHOICE_FALLBACK] = GT_FALLBACK};
    struct gt_plan_info *info = &x->info;
    *info = (struct gt_plan_info){.source = source_of[choice->source],
                                  .pretuned = choice->pretuned,
                                  .stale = choice->stale,
                                  .uses_cublas = x->cublas,
                                  .adds_to_c = plan->problem.beta != 0,
                                  .time_us = choice->time_us,
                                  .ratio = choice->ratio,
                                  .loss = choice->loss,
                                  .workspace_bytes = x->need.bytes};
    if (x->need.bytes > 0) info->workspaces = plan->context->handle->workspaces;
    if (choice->cublas) snprintf(info->config, sizeof info->config, "cublas");
    else config_format(&choice->config, info->config);
    snprintf(info->tuned_for, sizeof info->tuned_for, "%.255s", choice->tuned_for);
    snprintf(info->when, sizeof info->when, "%s", choice->when);
    snprintf(info->why, sizeof info->why, "%s", choice->why);
    choice_checked(choice, &plan->problem, info->checked);
}

/* True if it is one plain launch with a short argument, of which calls change pointers and scalars
 * alone. */
static bool is_one_launch(struct executable *x, bool epilogue)
{
    const struct launch_call nothing = {.alpha = 0};
    struct launch_walk walk;
    struct launch only, more;
    const int most = epilogue ? EXTENDED_ARGUMENT_MAX : PLAIN_ARGUMENT_MAX;
    const bool plain = x->form.views == 0 && x->form.argument_bytes <= most &&
                       !launch_has_attributes(&x->form.kernel[0]) && x->form.kernel[0].own.count == 0;
    launch_walk_start(&walk, &x->form, &nothing);
    const bool one = plain && launch_walk_next(&walk, &only) && !launch_walk_next(&walk, &more);
    if (one) {
        memcpy(x->only.grid, only.grid, sizeof only.grid);
        memcpy(x->only.argument, only.argument, (size_t)x->form.argument_bytes);
    }
    return one;
}

static enum status load_kernel(const struct gt_plan *plan, const struct config *config, bool *passing,
                               struct executable *x)
{
    struct gpu_context *context = plan->context;
    struct gt_handle *handle = context->handle;
    const struct gpu *gpu = &context->device.gpu;
    const struct kernel_key kernel = kernel_key_of(config, &plan->problem, gpu->arch);
    enum status st = modules_get(context, &kernel, &x->module, passing);
    if (st == E_COMPILER && !(handle->flags & GT_NO_COMPILER) && !atomic_load(&handle->no_compiler)) {
        char version[16];
        notice(&handle->notices, NOTICE_COMPILER, "tuned kernels cannot be compiled: %s", status_text());
        if (compile_load(version)) atomic_store(&handle->no_compiler, true); /* else it may be this kernel */
    }
    if (st) return st;
    config->template->plan(config, &plan->problem, &x->form);
    st = prepared_forms_make(config, &plan->problem, &x->prepared);
    if (st) return st;
    if (plan->traits.scalars_on_device && x->form.slots.alpha_device == LAUNCH_NOWHERE)
        return fail(E_ABSENT, "its kernels take no scalars from the device");
    if (x->form.workspace_bytes > 0)
        x->need = (struct workspace_need){4 * (size_t)x->form.counters, (size_t)x->form.workspace_bytes};
    if (config->template->own) {
        if (!(x->entries = malloc(sizeof *x->entries)))
            return fail(E_MEMORY, "out of memory while making a plan");
        if ((st = module_entries(x->module, &x->form, x->entries))) return st;
    }
    device_was_short_of_memory(); /* whatever it was about */
    st = kernel_bind(module_code(x->module), gpu, &x->form, x->function);
    *passing |= st && device_was_short_of_memory();
    if (!st) launcher_encode_ahead(&x->form);
    x->counted = !module_is_kept(x->module);
    const bool usual = x->need.bytes == 0 && !x->counted && is_one_launch(x, plan->problem.epilogue);
    x->usual = usual && !plan->problem.epilogue;
    x->usual_extended = usual && plan->problem.epilogue;
    return st;
}

/* An algorithm that won. Of another version of cublasLt it would have to be judged again. */
static enum status load_algorithm(const struct gt_plan *plan, const struct config *config, bool *passing,
                                  struct executable *x)
{
    struct gpu_context *context = plan->context;
    const bool loaded = context->handle->flags & GT_NO_CUBLAS;
    if (loaded && !(context->handle->flags & GT_LOADED_CUBLASLT))
        return fail(E_ABSENT, "cuBLAS is not to be used");
    enum status st = blas_pool_open_lt(&context->blas, loaded);
    if (st) notice(&context->handle->notices, NOTICE_CUBLAS, "cublasLt cannot be used: %s", status_text());
    *passing |= st == E_GPU;
    if (!st)
        st =
            blas_pool_load_lt(&context->blas, &plan->problem, config, plan->traits.scalars_on_device, &x->lt);
    x->need.bytes = blas_lt_workspace(&x->lt);
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* Asks cublasLt for its first proposal, as the race did, within the limit of workspaces. */
static enum status load_lt(const struct gt_plan *plan, bool *passing, struct executable *x)
{
    struct gpu_context *context = plan->context;
    const size_t limit = (size_t)workspace_allowed(&plan->problem, context->handle->workspace_bytes);
    const struct blas_lt_wish wish = {.scalars_on_device = plan->traits.scalars_on_device,
                                      .alignment = plan->traits.alignment,
                                      .workspace_bytes = !plan_key_has_workspace(&plan->entry.key) ? 0
                                                         : limit < BLAS_LT_WORKSPACE_BYTES
                                                             ? limit
                                                             : BLAS_LT_WORKSPACE_BYTES};
    enum status st = blas_pool_make_lt(&context->blas, &plan->problem, &wish, &x->lt, passing);
    x->need.bytes = blas_lt_workspace(&x->lt);
    return st;
}

static enum status load_cublas(const struct gt_plan *plan, bool *passing, struct executable *x)
{
    struct gpu_context *context = plan->context;
    const struct problem *problem = &plan->problem;
    if (context->handle->flags & GT_NO_CUBLAS) return fail(E_ABSENT, "cuBLAS is not to be used");
    /* The arrays of A and B may be NULL then, and cuBLAS does not say that it leaves them alone. */
    if (problem->pointers && problem->k == 0)
        return fail(E_ABSENT, "cuBLAS is not asked for a product of pointers with k = 0");
    enum status st =
        problem->epilogue ? blas_pool_open_lt(&context->blas, false) : blas_pool_open(&context->blas);
    if (st) notice(&context->handle->notices, NOTICE_CUBLAS, "cuBLAS cannot be used: %s", status_text());
    *passing |= st == E_GPU;
    if (!st && problem->epilogue) return load_lt(plan, passing, x);
    if (!st && !blas_takes(problem)) st = fail(E_ABSENT, "this cuBLAS is too old for sizes above 2^31");
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* The choice is legal; NULL: C has no elements, and nothing is launched. E_ABSENT: it cannot be had (refused
 * by compiler or driver, no cuBLAS), with the reason. Errors: E_MEMORY, E_COMPILER, E_BUSY (modules.h). */
static enum status load(struct gt_plan *plan, const struct choice *choice, bool *passing,
                        struct executable **out)
{
    enum status st = OK;
    struct executable *x = calloc(1, sizeof *x);
    if (!x) return fail(E_MEMORY, "out of memory while making a plan");
    if (!choice) {
        x->info.source = GT_EXACT;
        snprintf(x->info.why, sizeof x->info.why, "C has no elements: nothing is launched");
    } else {
        const bool algorithm = !choice->cublas && template_is_library(choice->config.template);
        x->cublas = choice->cublas || algorithm;
        x->by_lt = algorithm || plan->problem.epilogue;
        /* cuBLAS looks at the addresses itself; an algorithm of cublasLt is chosen for them. */
        x->unaligned =
            (uintptr_t)(x->cublas && !x->by_lt ? plan->traits.element : plan->traits.alignment) - 1;
        st = choice->cublas ? load_cublas(plan, passing, x)
             : algorithm    ? load_algorithm(plan, &choice->config, passing, x)
                            : load_kernel(plan, &choice->config, passing, x);
        if (!st) describe(plan, choice, x);
    }
    if (!st && *passing) {
        x->provisional = true;
        x->usual = x->usual_extended = false;
        x->patience = RETRY_FIRST;
        atomic_store(&x->retry, RETRY_FIRST);
    }
    if (st) {
        executable_free(x);
        return st;
    }
    x->next = plan->made;
    plan->made = *out = x;
    return OK;
}

/* ---- from a key to a choice ---- */

/* What was made of the configuration before serves again, with its patience: what is refused again and again
 * takes no more memory, and is tried less and less. NULL: nothing was. Errors: E_ABSENT (it was refused when
 * it was launched). */
static enum status find_made(const struct gt_plan *plan, const struct choice *choice, bool *passing,
                             struct executable **made)
{
    char text[CONFIG_TEXT_MAX] = "cublas";
    if (!choice->cublas) config_format(&choice->config, text);
    *made = NULL;
    for (struct executable *x = plan->made; x; x = x->next) {
        if (strcmp(x->info.config, text) != 0) continue;
        const enum launch_refusal refusal = atomic_load(&x->refusal);
        *passing |= refusal == REFUSED_FOR_NOW;
        if (refusal) return fail(E_ABSENT, "it has been refused");
        if (x->provisional == *passing) *made = x;
    }
    return OK;
}

/* Where there is none, another measured kernel or cuBLAS takes the place of the measured winner, never a
 * predicted one. */
static bool is_for_workspace(const struct gt_plan *plan, const struct choice *choice)
{
    return choice->source == CHOICE_PREDICTED ||
           (!choice->cublas && workspace_of(&choice->config, &plan->problem) > 0);
}

/* E_ABSENT: it cannot be had, as load says, or was refused, or takes a workspace and must not. Other errors
 * say that no other choice is to be tried: memory is short, a kernel is not to be compiled now, or the
 * process or the context ends. */
static enum status take(struct gt_plan *plan, const struct choice *choice, bool *passing,
                        struct executable **out)
{
    enum status st = find_made(plan, choice, passing, out);
    if (st || *out) return st;
    if (!plan_key_has_workspace(&plan->entry.key) && is_for_workspace(plan, choice))
        return fail(E_ABSENT, "it needs a workspace");
    st = load(plan, choice, passing, out);
    if (!st || st == E_MEMORY || st == E_BUSY || st == E_INTERRUPTED) return st;
    if (st != E_COMPILER && !choice->cublas && choice->source != CHOICE_FALLBACK) /* else load has said it */
        notice(&plan->context->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s",
               status_text());
    return E_ABSENT;
}

enum status plan_take(struct gt_plan *plan, const struct choice *choice, bool *passing,
                      struct executable **out)
{
    const CUstreamCaptureMode before = relaxed_begin(); /* may allocate and load whoever captures */
    pthread_mutex_lock(&plan->lock);
    const enum status st = take(plan, choice, passing, out);
    pthread_mutex_unlock(&plan->lock);
    relaxed_end(before);
    return st;
}

enum status plan_ask(const struct gt_plan *plan, bool others, struct choice choices[CHOICES_MAX], int *count,
                     bool *held)
{
    struct gpu_context *context = plan->context;
    struct winner_store *store = &context->winners;
    pthread_mutex_lock(&context->lock);
    const int64_t allowed = store->workspace_bytes;
    if (others && !plan_key_has_workspace(&plan->entry.key))
        store->workspace_bytes = 1; /* so that the list is not full of what needs more */
    const enum status st = others
                               ? lookup_others(store, &plan->problem, plan->traits.alignment, choices, count)
                               : lookup_exact(store, &plan->problem, plan->traits.alignment, choices, count);
    store->workspace_bytes = allowed;
    *held |= store->held;
    pthread_mutex_unlock(&context->lock);
    return st;
}

/* The first choice that can be had; under the plan's lock, or while nobody else has the plan. What was
 * measured for the very problem is asked for first: the other question takes longer. firm: nothing is loaded
 * that would be provisional. */
static enum status decide(struct gt_plan *plan, bool firm, struct executable **out)
{
    struct choice choices[CHOICES_MAX];
    char why[600] = "no configuration is legal for it", text[PROBLEM_TEXT_MAX];
    bool passing = false; /* something better fell away for a reason that may pass */
    bool winner = false;  /* why is about the winner */
    enum status st = E_ABSENT;
    if (plan->problem.m == 0 || plan->problem.n == 0) {
        *out = plan->made;
        return *out ? OK : load(plan, NULL, &passing, out);
    }

    const CUstreamCaptureMode before = relaxed_begin(); /* may allocate and load whoever captures */
    for (int others = 0; others < 2 && st == E_ABSENT && !(firm && passing); others++) {
        int count = 0;
        st = plan_ask(plan, others, choices, &count, &passing);
        if (!st) st = E_ABSENT; /* until one can be loaded */
        for (int c = 0; c < count && st == E_ABSENT && !(firm && passing); c++) {
            st = take(plan, &choices[c], &passing, out);
            if (st && !winner) snprintf(why, sizeof why, "%.590s", status_text());
            winner |= choices[c].source == CHOICE_EXACT && !choices[c].cublas;
        }
    }
    relaxed_end(before);
    if (st == E_ABSENT) {
        problem_format(&plan->problem, text);
        st = fail(E_ABSENT, "nothing here can compute %s: %s", text, why);
    }
    return st;
}

/* ---- open, free ---- */

/* The traits of a caller's problem, whose type may be unknown. */
static struct plan_traits traits_of(const struct gt_problem *p)
{
    const bool pointers = p->flags & GT_POINTER_ARRAYS;
    const int element = element_bytes_of(p->type);
    return (struct plan_traits){.alignment = pointers       ? element
                                             : p->alignment ? p->alignment
                                                            : 16,
                                .element = element,
                                .element_c = element_bytes_of_c(p->type),
                                .scalars_on_device = p->flags & GT_SCALARS_ON_DEVICE,
                                .column_major = p->flags & GT_COLUMN_MAJOR,
                                .out_of_place = p->flags & GT_OUT_OF_PLACE,
                                .pointers = pointers};
}

enum status plan_make(struct gt_handle *handle, const struct plan_key *key, struct gt_plan **out)
{
    const struct gt_problem request = plan_key_problem(key);
    struct gt_plan *plan = *out = object_make(&plan_pool);
    if (!plan) return fail(E_MEMORY, "out of memory while making a plan");
    plan->entry.plan = plan;
    plan->entry.key = *key;
    plan->traits = traits_of(&request);
    pthread_mutex_init(&plan->lock, NULL);
    enum status st = arguments_problem(&request, &plan->problem);
    if (!st) st = gpu_context_of(handle, key->context & ~KEY_WITHOUT_WORKSPACE, &plan->context);
    if (st) return st;
    plan->traits.extended = plan->problem.epilogue || plan->traits.pointers;
    plan->extents = extents_of(&plan->problem);
    return OK;
}

enum status plan_open(struct gt_handle *handle, const struct plan_key *key, struct gt_plan **out)
{
    struct executable *first;
    struct gt_plan *plan;
    enum status st = plan_make(handle, key, &plan);
    if (!st) {
        /* If C is not read, it does not matter which matrix it is: then the problem is that in place. */
        struct problem *const p = &plan->problem;
        if (p->beta == 0 && !plan->traits.scalars_on_device && p->epilogue & EPILOGUE_OUT) {
            p->epilogue &= ~EPILOGUE_OUT;
            plan->extents = extents_of(p);
        }
        st = decide(plan, false, &first);
    }
    if (st) plan_free(plan);
    else {
        atomic_store(&plan->now, first);
        *out = plan;
    }
    return st;
}

void plan_free(struct gt_plan *plan)
{
    if (!object_close(&plan_pool, plan)) return;
    if (plan->context) plans_remove(&plan->context->handle->plans, &plan->entry);
    for (struct executable *x = plan->made, *next; x; x = next) {
        next = x->next;
        executable_free(x);
    }
    struct gt_plan *other = atomic_load(&plan->next);
    pthread_mutex_destroy(&plan->lock);
    object_free(&plan_pool, plan);
    if (other) plan_free(other);
}

/* ---- the executable of a plan ---- */

/* NULL: it was refused. */
static struct executable *usable(const struct gt_plan *plan)
{
    struct executable *now = atomic_load_explicit(&plan->now, memory_order_acquire);
    return atomic_load(&now->refusal) == NOT_REFUSED ? now : NULL;
}

enum status plan_ready(struct gt_plan *plan, struct executable **out)
{
    enum status st = OK;
    if ((*out = usable(plan))) return OK;
    pthread_mutex_lock(&plan->lock);
    if (!(*out = usable(plan)) && !(st = decide(plan, false, out)))
        atomic_store_explicit(&plan->now, *out, memory_order_release);
    pthread_mutex_unlock(&plan->lock);
    return st;
}

void plan_retry(struct gt_plan *plan)
{
    struct executable *better;
    pthread_mutex_lock(&plan->lock);
    struct executable *const now = atomic_load(&plan->now);
    for (struct executable *x = plan->made; x; x = x->next)
        if (atomic_load(&x->refusal) == REFUSED_FOR_NOW) atomic_store(&x->refusal, NOT_REFUSED);
    if (!decide(plan, !now->provisional, &better))
        atomic_store_explicit(&plan->now, better, memory_order_release);
    if (now->provisional && atomic_load(&now->retry) <= 0) {
        if (now->patience < RETRY_MOST) now->patience *= 2;
        atomic_store(&now->retry, now->patience);
    }
    pthread_mutex_unlock(&plan->lock);
}

void plan_renew(struct gt_plan *plan)
{
    for (; plan; plan = atomic_load(&plan->next)) plan_retry(plan);
}

/* ---- the plans of a caller's plan ---- */

static struct gt_plan *find_other(struct gt_plan *plan, const struct plan_key *key)
{
    while (plan && memcmp(&plan->entry.key, key, sizeof *key) != 0)
        plan = atomic_load_explicit(&plan->next, memory_order_acquire);
    return plan;
}

enum status plan_other(struct gt_plan *own, const struct plan_key *key, struct gt_plan **out)
{
    enum status st = OK;
    if ((*out = find_other(own, key))) return OK;
    pthread_mutex_lock(&own->lock);
    if (!(*out = find_other(own, key)) && !(st = plan_open(own->context->handle, key, out))) {
        atomic_store(&(*out)->next, atomic_load(&own->next));
        atomic_store_explicit(&own->next, *out, memory_order_release);
    }
    pthread_mutex_unlock(&own->lock);
    return st;
}

/* What computes launches without a workspace is told of those that are aligned, if there were any. */
void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info)
{
    const struct executable *now = atomic_load(&plan->now);
    *info = now->info;
    info->provisional = now->provisional;
    for (const struct gt_plan *o = atomic_load(&plan->next); o; o = atomic_load(&o->next)) {
        if (plan_key_has_workspace(&o->entry.key) || o->problem.beta != plan->problem.beta) continue;
        info->without_workspace += atomic_load(&o->launches);
        if (!info->instead[0] || o->traits.alignment == plan->traits.alignment)
            memcpy(info->instead, atomic_load(&o->now)->info.config, sizeof info->instead);
    }
}
