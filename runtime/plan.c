#include "plan.h"

#include "arguments.h"
#include "compile.h"
#include "gpu_context.h"
#include "kernel.h"
#include "launch_walk.h"
#include "launcher.h"
#include "lookup.h"
#include "modules.h"
#include "relaxed.h"
#include "workspace.h"

#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct object_pool plan_pool = OBJECT_POOL(UINT64_C(0x67742d706c616e21), struct gt_plan);

/* A way that stands in for a better one tries that again after so many launches, at first and at most, each
 * time after twice as many. */
#define RETRY_FIRST 64
#define RETRY_MOST  65536

/* A way in the making. */
struct wanted {
    const struct gt_plan *plan;
    enum plan_case which;
    struct problem problem;
    int alignment;
    bool passing; /* something better fell away for a reason that may pass */
};

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
                                .element_c = p->type == GT_BF16 || p->type == GT_FP16 ? 2 : 4,
                                .scalars_on_device = p->flags & GT_SCALARS_ON_DEVICE,
                                .column_major = p->flags & GT_COLUMN_MAJOR,
                                .out_of_place = p->flags & GT_OUT_OF_PLACE,
                                .pointers = pointers,
                                .extended =
                                    p->flags & GT_OUT_OF_PLACE || p->bias || p->activation || pointers};
}

/* Make the problem one for a beta that is 0, or is not. If C is not read, it does not matter which matrix it
 * is: then the problem is that in place. */
static void set_beta(struct problem *p, const struct plan_traits *traits, bool adds_to_c)
{
    p->beta = adds_to_c;
    p->epilogue = epilogue_code(epilogue_bias(p->epilogue), epilogue_activation(p->epilogue),
                                traits->out_of_place && (adds_to_c || traits->scalars_on_device));
}

enum status plan_open(struct gt_handle *handle, uint64_t context_id, const struct gt_problem *request,
                      struct gt_plan **out)
{
    struct way *way;
    struct gt_plan *plan = object_make(&plan_pool);
    if (!plan) return fail(E_MEMORY, "out of memory while making a plan");
    plan->entry.plan = plan;
    plan->traits = traits_of(request);
    pthread_mutex_init(&plan->lock, NULL);
    enum status st = arguments_problem(request, &plan->problem);
    if (!st) st = gpu_context_of(handle, context_id, &plan->context);
    if (!st) {
        set_beta(&plan->problem, &plan->traits, plan->problem.beta != 0);
        plan->extents = extents_of(&plan->problem);
        st = plan_prepare(plan, PLAN_USUAL, &way);
    }
    if (st) plan_free(plan);
    else *out = plan;
    return st;
}

static void way_free(struct way *way)
{
    if (way->module) modules_release(way->module);
    blas_lt_close(&way->lt);
    prepared_forms_free(way->prepared);
    free(way);
}

void plan_free(struct gt_plan *plan)
{
    if (!object_close(&plan_pool, plan)) return;
    if (plan->context) plans_remove(&plan->context->handle->plans, &plan->entry);
    for (struct way *way = plan->ways, *next; way; way = next) {
        next = way->next;
        way_free(way);
    }
    pthread_mutex_destroy(&plan->lock);
    object_free(&plan_pool, plan);
}

/* ---- from a choice to a way ---- */

static void describe(const struct wanted *wanted, const struct choice *choice, struct way *way)
{
    static const int32_t source_of[] = {[CHOICE_EXACT] = GT_EXACT,
                                        [CHOICE_NEAREST] = GT_NEAREST,
                                        [CHOICE_PREDICTED] = GT_PREDICTED,
                                        [CHOICE_FALLBACK] = GT_FALLBACK};
    struct gt_plan_info *info = &way->info;
    *info = (struct gt_plan_info){.source = source_of[choice->source],
                                  .pretuned = choice->pretuned,
                                  .stale = choice->stale,
                                  .uses_cublas = way->cublas,
                                  .adds_to_c = wanted->problem.beta != 0,
                                  .time_us = choice->time_us,
                                  .ratio = choice->ratio,
                                  .loss = choice->loss,
                                  .workspace_bytes = way->need.bytes};
    if (way->need.bytes > 0) info->workspaces = wanted->plan->context->handle->workspaces;
    if (choice->cublas) snprintf(info->config, sizeof info->config, "cublas");
    else config_format(&choice->config, info->config);
    snprintf(info->tuned_for, sizeof info->tuned_for, "%.255s", choice->tuned_for);
    snprintf(info->when, sizeof info->when, "%s", choice->when);
    snprintf(info->why, sizeof info->why, "%s", choice->why);
    choice_checked(choice, &wanted->problem, info->checked);
}

/* True if the way is one plain launch with a short argument, of which calls change pointers and scalars
 * alone. */
static bool is_one_launch(struct way *way, bool epilogue)
{
    const struct launch_call nothing = {.alpha = 0};
    struct launch_walk walk;
    struct launch only, more;
    const int most = epilogue ? EXTENDED_ARGUMENT_MAX : PLAIN_ARGUMENT_MAX;
    const bool plain = way->form.views == 0 && way->form.argument_bytes <= most &&
                       !launch_has_attributes(&way->form.kernel[0]);
    launch_walk_start(&walk, &way->form, &nothing);
    const bool one = plain && launch_walk_next(&walk, &only) && !launch_walk_next(&walk, &more);
    if (one) {
        memcpy(way->only.grid, only.grid, sizeof only.grid);
        memcpy(way->only.argument, only.argument, (size_t)way->form.argument_bytes);
    }
    return one;
}

static enum status load_kernel(struct wanted *wanted, const struct config *config, struct way *way)
{
    struct gpu_context *context = wanted->plan->context;
    struct gt_handle *handle = context->handle;
    const struct gpu *gpu = &context->device.gpu;
    const struct kernel_key kernel = kernel_key_of(config, &wanted->problem, gpu->arch);
    enum status st = modules_get(context, &kernel, &way->module, &wanted->passing);
    if (st == E_COMPILER && !(handle->flags & GT_NO_COMPILER) && !atomic_load(&handle->no_compiler)) {
        char version[16];
        notice(&handle->notices, NOTICE_COMPILER, "tuned kernels cannot be compiled: %s", status_text());
        if (compile_load(version)) atomic_store(&handle->no_compiler, true); /* else it may be this kernel */
    }
    if (st) return st;
    config->template->plan(config, &wanted->problem, &way->form);
    st = prepared_forms_make(config, &wanted->problem, &way->prepared);
    if (st) return st;
    if (wanted->plan->traits.scalars_on_device && way->form.slots.alpha_device == LAUNCH_NOWHERE)
        return fail(E_ABSENT, "its kernels take no scalars from the device");
    if (way->form.workspace_bytes > 0)
        way->need =
            (struct workspace_need){4 * (size_t)way->form.counters, (size_t)way->form.workspace_bytes};
    device_was_short_of_memory(); /* whatever it was about */
    st = kernel_bind(module_code(way->module), gpu, &way->form, way->function);
    wanted->passing |= st && device_was_short_of_memory();
    if (!st) launcher_encode_ahead(&way->form);
    way->counted = !module_is_kept(way->module);
    const bool usual = way->need.bytes == 0 && !way->counted && is_one_launch(way, wanted->problem.epilogue);
    way->usual = usual && !wanted->problem.epilogue;
    way->usual_extended = usual && wanted->problem.epilogue;
    return st;
}

/* An algorithm that won. Of another version of cublasLt it would have to be judged again. */
static enum status load_algorithm(struct wanted *wanted, const struct config *config, struct way *way)
{
    struct gpu_context *context = wanted->plan->context;
    const bool loaded = context->handle->flags & GT_NO_CUBLAS;
    if (loaded && !(context->handle->flags & GT_LOADED_CUBLASLT))
        return fail(E_ABSENT, "cuBLAS is not to be used");
    enum status st = blas_pool_open_lt(&context->blas, loaded);
    if (st) notice(&context->handle->notices, NOTICE_CUBLAS, "cublasLt cannot be used: %s", status_text());
    wanted->passing |= st == E_GPU;
    if (!st)
        st = blas_pool_load_lt(&context->blas, &wanted->problem, config,
                               wanted->plan->traits.scalars_on_device, &way->lt);
    way->need.bytes = blas_lt_workspace(&way->lt);
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* Asks cublasLt for its first proposal, as the race did, within the limit of workspaces. */
static enum status load_lt(struct wanted *wanted, struct way *way)
{
    struct gpu_context *context = wanted->plan->context;
    const size_t limit = (size_t)workspace_allowed(&wanted->problem, context->handle->workspace_bytes);
    const struct blas_lt_wish wish = {.scalars_on_device = wanted->plan->traits.scalars_on_device,
                                      .alignment = wanted->alignment,
                                      .workspace_bytes = wanted->which & PLAN_WITHOUT ? 0
                                                         : limit < BLAS_LT_WORKSPACE_BYTES
                                                             ? limit
                                                             : BLAS_LT_WORKSPACE_BYTES};
    enum status st = blas_pool_make_lt(&context->blas, &wanted->problem, &wish, &way->lt, &wanted->passing);
    way->need.bytes = blas_lt_workspace(&way->lt);
    return st;
}

static enum status load_cublas(struct wanted *wanted, struct way *way)
{
    struct gpu_context *context = wanted->plan->context;
    const struct problem *problem = &wanted->problem;
    if (context->handle->flags & GT_NO_CUBLAS) return fail(E_ABSENT, "cuBLAS is not to be used");
    /* The arrays of A and B may be NULL then, and cuBLAS does not say that it leaves them alone. */
    if (problem->pointers && problem->k == 0)
        return fail(E_ABSENT, "cuBLAS is not asked for a product of pointers with k = 0");
    enum status st =
        problem->epilogue ? blas_pool_open_lt(&context->blas, false) : blas_pool_open(&context->blas);
    if (st) notice(&context->handle->notices, NOTICE_CUBLAS, "cuBLAS cannot be used: %s", status_text());
    wanted->passing |= st == E_GPU;
    if (!st && problem->epilogue) return load_lt(wanted, way);
    if (!st && !blas_takes(problem)) st = fail(E_ABSENT, "this cuBLAS is too old for sizes above 2^31");
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* The choice is legal; NULL: C has no elements, and nothing is launched. E_ABSENT: it cannot be had (refused
 * by compiler or driver, no cuBLAS), with the reason. Errors: E_MEMORY, E_COMPILER, E_BUSY (modules.h). */
static enum status load(struct wanted *wanted, const struct choice *choice, struct way **out)
{
    enum status st = OK;
    struct way *way = calloc(1, sizeof *way);
    if (!way) return fail(E_MEMORY, "out of memory while making a plan");
    if (!choice) {
        way->info.source = GT_EXACT;
        snprintf(way->info.why, sizeof way->info.why, "C has no elements: nothing is launched");
    } else {
        const bool algorithm = !choice->cublas && template_is_library(choice->config.template);
        way->cublas = choice->cublas || algorithm;
        way->by_lt = algorithm || wanted->problem.epilogue;
        /* cuBLAS looks at the addresses itself; an algorithm of cublasLt is chosen for them. */
        way->unaligned =
            (uintptr_t)(way->cublas && !way->by_lt ? wanted->plan->traits.element : wanted->alignment) - 1;
        st = choice->cublas ? load_cublas(wanted, way)
             : algorithm    ? load_algorithm(wanted, &choice->config, way)
                            : load_kernel(wanted, &choice->config, way);
        if (!st) describe(wanted, choice, way);
    }
    if (st) way_free(way);
    else *out = way;
    return st;
}

/* ---- from a problem to a choice ---- */

/* True if no other choice is to be tried: memory is short, a kernel is not to be compiled now, or the process
 * or the context ends. */
static bool stops(enum status st)
{
    return st == E_MEMORY || st == E_BUSY || st == E_INTERRUPTED;
}

/* Errors: as load; E_ABSENT also if it was refused, when it was launched, or takes a workspace and must not.
 */
static enum status try_choice(struct wanted *wanted, const struct choice *choice, struct way **way)
{
    const bool adds_to_c = wanted->problem.beta != 0;
    const struct way *earlier = wanted->plan->ways;
    char text[CONFIG_TEXT_MAX] = "cublas";
    if (!choice->cublas) config_format(&choice->config, text);
    while (earlier && (atomic_load(&earlier->refusal) == NOT_REFUSED ||
                       earlier->info.adds_to_c != adds_to_c || strcmp(text, earlier->info.config) != 0))
        earlier = earlier->next;
    wanted->passing |= earlier && atomic_load(&earlier->refusal) == REFUSED_FOR_NOW;
    if (earlier) return fail(E_ABSENT, "it has been refused");
    /* If the measured winner needs a workspace that it may not use, fall back to another measured kernel or
     * to cuBLAS, never to a predicted one. */
    if ((wanted->which & PLAN_WITHOUT) &&
        (choice->source == CHOICE_PREDICTED ||
         (!choice->cublas && workspace_of(&choice->config, &wanted->problem) > 0)))
        return fail(E_ABSENT, "it needs a workspace");
    const enum status st = load(wanted, choice, way);
    const bool told = st == E_COMPILER || choice->cublas; /* load has said it */
    if (st && !stops(st) && !told && choice->source != CHOICE_FALLBACK)
        notice(&wanted->plan->context->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s",
               status_text());
    return st;
}

/* Looks up the choices: the exact ones, or the others. Errors: E_MEMORY. */
static enum status ask(struct wanted *wanted, bool others, struct choice choices[CHOICES_MAX], int *count)
{
    struct gpu_context *context = wanted->plan->context;
    struct winner_store *store = &context->winners;
    pthread_mutex_lock(&context->lock);
    const int64_t allowed = store->workspace_bytes;
    if (others && (wanted->which & PLAN_WITHOUT))
        store->workspace_bytes = 1; /* so that the list is not full of what needs more */
    const enum status st = others ? lookup_others(store, &wanted->problem, wanted->alignment, choices, count)
                                  : lookup_exact(store, &wanted->problem, wanted->alignment, choices, count);
    store->workspace_bytes = allowed;
    wanted->passing |= store->held;
    pthread_mutex_unlock(&context->lock);
    return st;
}

/* The first choice that can be loaded. What was measured for the very problem is asked for first: the other
 * question takes longer. */
static enum status make_way(struct wanted *wanted, struct way **way)
{
    struct choice choices[CHOICES_MAX];
    char why[600] = "no configuration is legal for it", text[PROBLEM_TEXT_MAX];
    bool winner = false; /* why is about the winner */
    enum status st = E_ABSENT;
    *way = NULL;
    if (wanted->problem.m == 0 || wanted->problem.n == 0) return load(wanted, NULL, way);

    const CUstreamCaptureMode before = relaxed_begin(); /* may allocate and load whoever captures */
    for (int others = 0; others < 2 && st && !stops(st); others++) {
        int count = 0;
        st = ask(wanted, others, choices, &count);
        if (!st) st = E_ABSENT; /* until one can be loaded */
        for (int c = 0; c < count && st && !stops(st); c++) {
            st = try_choice(wanted, &choices[c], way);
            if (st && !winner) snprintf(why, sizeof why, "%.590s", status_text());
            winner |= choices[c].source == CHOICE_EXACT && !choices[c].cublas;
        }
    }
    relaxed_end(before);
    if (*way && wanted->passing) {
        (*way)->provisional = true;
        (*way)->usual = (*way)->usual_extended = false;
        (*way)->patience = RETRY_FIRST;
        atomic_store(&(*way)->retry, RETRY_FIRST);
    }
    if (st && !stops(st)) {
        problem_format(&wanted->problem, text);
        st = fail(E_ABSENT, "nothing here can compute %s: %s", text, why);
    }
    return st;
}

static struct wanted want(const struct gt_plan *plan, enum plan_case which)
{
    struct wanted wanted = {.plan = plan, .which = which, .problem = plan->problem};
    wanted.alignment = which & PLAN_UNALIGNED ? plan->traits.element : plan->traits.alignment;
    if (which & PLAN_OTHER_BETA) set_beta(&wanted.problem, &plan->traits, plan->problem.beta == 0);
    return wanted;
}

/* ---- the ways of a plan ---- */

static bool is_same(const struct way *a, const struct way *b)
{
    return a->unaligned == b->unaligned && a->provisional == b->provisional &&
           a->info.adds_to_c == b->info.adds_to_c && a->need.bytes == b->need.bytes &&
           strcmp(a->info.config, b->info.config) == 0;
}

/* Installs a way. One that was made before serves again, with its patience: a way that is refused again and
 * again takes no more memory, and is tried less and less. */
static struct way *install(struct gt_plan *plan, enum plan_case which, struct way *way)
{
    struct way *earlier = plan->ways;
    while (earlier && !is_same(earlier, way)) earlier = earlier->next;
    if (earlier) {
        way_free(way);
        way = earlier;
    } else {
        way->next = plan->ways;
        plan->ways = way;
    }
    atomic_store_explicit(&plan->way[which], way, memory_order_release);
    return way;
}

static struct way *usable(const struct gt_plan *plan, enum plan_case which)
{
    struct way *way = atomic_load_explicit(&plan->way[which], memory_order_acquire);
    return way && atomic_load(&way->refusal) == NOT_REFUSED ? way : NULL;
}

enum status plan_prepare(struct gt_plan *plan, enum plan_case which, struct way **way)
{
    enum status st = OK;
    if ((*way = usable(plan, which))) return OK;
    pthread_mutex_lock(&plan->lock);
    if (!(*way = usable(plan, which))) {
        struct wanted wanted = want(plan, which);
        st = make_way(&wanted, way);
        if (!st) *way = install(plan, which, *way);
    }
    pthread_mutex_unlock(&plan->lock);
    return st;
}

void plan_improve(struct gt_plan *plan, enum plan_case which, struct way *stand_in)
{
    struct way *way;
    pthread_mutex_lock(&plan->lock);
    for (struct way *w = plan->ways; w; w = w->next)
        if (w->info.adds_to_c == stand_in->info.adds_to_c && atomic_load(&w->refusal) == REFUSED_FOR_NOW)
            atomic_store(&w->refusal, NOT_REFUSED);
    struct wanted wanted = want(plan, which);
    make_way(&wanted, &way);
    if (way) {
        const bool better = strcmp(way->info.config, stand_in->info.config) != 0 || !way->provisional;
        if (better) install(plan, which, way);
        else way_free(way);
    }
    if (stand_in->patience < RETRY_MOST) stand_in->patience *= 2;
    atomic_store(&stand_in->retry, stand_in->patience);
    pthread_mutex_unlock(&plan->lock);
}

/* The first choice as it is now; false: there is none, or it cannot be asked for. */
static bool first_choice(struct wanted *wanted, char text[CONFIG_TEXT_MAX])
{
    struct choice choices[CHOICES_MAX];
    int count = 0;
    enum status st = ask(wanted, false, choices, &count);
    if (!st && count == 0) st = ask(wanted, true, choices, &count);
    if (st || count == 0 || wanted->passing) return false;
    if (choices[0].cublas) snprintf(text, CONFIG_TEXT_MAX, "cublas");
    else config_format(&choices[0].config, text);
    return true;
}

/* Under the plan's lock. What cannot be loaded is tried once. */
static void renew(struct gt_plan *plan, enum plan_case which)
{
    char text[CONFIG_TEXT_MAX];
    struct wanted wanted = want(plan, which);
    const struct way *now = atomic_load(&plan->way[which]);
    struct way *way = NULL;
    if (!now || now->provisional || !first_choice(&wanted, text)) return;
    const uint64_t hash = XXH3_64bits(text, strlen(text));
    if (strcmp(text, now->info.config) == 0 || hash == plan->wanted[which]) return;
    plan->wanted[which] = hash;
    if (make_way(&wanted, &way)) return;
    if (way->provisional || strcmp(way->info.config, now->info.config) == 0) way_free(way);
    else install(plan, which, way);
}

void plan_renew(struct gt_plan *plan)
{
    if (plan->problem.m == 0 || plan->problem.n == 0) return;
    for (int which = 0; which < PLAN_CASES; which++) {
        pthread_mutex_lock(&plan->lock);
        renew(plan, (enum plan_case)which);
        pthread_mutex_unlock(&plan->lock);
    }
}

void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info)
{
    const struct way *usual = atomic_load(&plan->way[PLAN_USUAL]);
    *info = usual->info;
    info->provisional = usual->provisional;
    info->without_workspace = atomic_load(&plan->without);
    for (int i = PLAN_WITHOUT; i < PLAN_OTHER_BETA && !info->instead[0]; i++) {
        const struct way *way = atomic_load(&plan->way[i]);
        if (way) memcpy(info->instead, way->info.config, sizeof info->instead);
    }
}

const struct blas_lt_choice *plan_algorithm(const struct gt_plan *plan)
{
    const struct way *usual = atomic_load_explicit(&plan->way[PLAN_USUAL], memory_order_acquire);
    return usual->by_lt && usual->lt.needs_alignment ? &usual->lt.promised : NULL;
}

struct workspace_need plan_need(const struct gt_plan *plan)
{
    return atomic_load_explicit(&plan->way[PLAN_USUAL], memory_order_acquire)->need;
}
