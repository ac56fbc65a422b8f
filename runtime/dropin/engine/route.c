#include "route.h"

#include "background.h"
#include "exclude.h"
#include "template.h"
#include "verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Part of the table of routes that is reserved for problems that have a winner, which may come late. */
#define ROOM_FOR_TUNED(all) ((all) / 4)

/* Number of calls that pass after a failure before the next attempt; it doubles each time. */
enum { RETRY_CALLS = 256, RETRY_DOUBLINGS = 8 };

struct route_rules route_rules;

static struct memo routes = {.key_bytes = sizeof(struct route_key)};
static pthread_mutex_t adding =
    PTHREAD_MUTEX_INITIALIZER; /* for adding routes; never held while one is prepared */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* for changes of a route; held briefly */
static pthread_cond_t prepared = PTHREAD_COND_INITIALIZER;   /* a route is no longer preparing */
static struct verdicts untuned; /* keys without a winner that are no routes: none can exist or is listed, or
                                   there was no room */
static atomic_bool crowded;     /* there is only room for problems with a winner */

_Static_assert(sizeof(struct route_key) == 12 * sizeof(int64_t) + 2 * sizeof(int32_t),
               "a key has no bytes that are nobody's");

/* ---- the problem of a call ---- */

enum { FLAG_OP_A = 1, FLAG_OP_B = 2, FLAG_ADDS = 4, FLAG_POINTERS = 8, FLAG_TYPE = 16, FLAG_EPILOGUE = 256 };
_Static_assert(FLAG_TYPE *GEMM_TYPE_COUNT <= FLAG_EPILOGUE, "every type has its flags");

static int32_t flags_of(const struct blas_request *x, bool adds)
{
    return x->op_a * FLAG_OP_A + x->op_b * FLAG_OP_B + adds * FLAG_ADDS + x->pointers * FLAG_POINTERS +
           (int32_t)x->type * FLAG_TYPE + x->epilogue * FLAG_EPILOGUE;
}

static int64_t stride_bias_of(const struct blas_request *x)
{
    return x->batch > 1 ? x->stride_bias : 0;
}

static struct route_key make_key(const struct blas_request *x, bool adds, uint64_t context, int alignment)
{
    const bool many = x->batch > 1;
    return (struct route_key){
        .context = context,
        .m = x->m,
        .n = x->n,
        .k = x->k,
        .lda = x->lda,
        .ldb = x->ldb,
        .ldc = x->ldc,
        .batch = x->batch,
        .stride_a = many ? x->stride_a : 0,
        .stride_b = many ? x->stride_b : 0,
        .stride_c = many ? x->stride_c : 0,
        .stride_bias = stride_bias_of(x),
        .flags = flags_of(x, adds),
        .alignment = alignment,
    };
}

/* Column-major C[m,n] = op(A) op(B) is row-major C^T[n,m] = op(B)^T op(A)^T, and a column-major matrix is
 * stored as its transpose in row-major order: operands and sizes are exchanged, ops stay with their operand.
 * Returns why it is no problem of ours; NULL: it is one. */
static const char *describe(const struct route_key *k, struct problem *p)
{
    static const char invalid[] =
        "no winner can exist for it: a size or stride is beyond the limits, or matrices "
        "of C overlap";
    if (k->m < 1 || k->n < 1 || k->k < 1 || k->batch < 1) return invalid;
    const bool many = k->batch > 1;
    *p = (struct problem){.type = (enum gemm_type)(k->flags % FLAG_EPILOGUE / FLAG_TYPE),
                          .trans_a = k->flags & FLAG_OP_B,
                          .trans_b = k->flags & FLAG_OP_A,
                          .m = k->n,
                          .n = k->m,
                          .k = k->k,
                          .lda = k->ldb,
                          .ldb = k->lda,
                          .ldc = k->ldc,
                          .batch = k->batch,
                          .alpha = 1,
                          .beta = k->flags & FLAG_ADDS ? 1 : 0,
                          .epilogue = k->flags / FLAG_EPILOGUE,
                          .stride_bias = k->stride_bias};
    if (k->flags & FLAG_POINTERS) {
        const bool all = p->lda > 0 && p->ldb > 0 && p->ldc > 0; /* 0 is cuBLAS's to refuse */
        return all && problem_use_pointers(p) == OK && problem_check(p) == OK ? NULL : invalid;
    }
    if (many) p->stride_a = k->stride_b, p->stride_b = k->stride_a, p->stride_c = k->stride_c;
    if (problem_check(p)) return invalid;
    if (many) return NULL;
    p->stride_a = problem_rows_a(p) * p->lda;
    p->stride_b = problem_rows_b(p) * p->ldb;
    p->stride_c = p->m * p->ldc;
    return NULL;
}

/* ---- decision ---- */

static atomic_uint generation;

unsigned route_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_acquire);
}

static void count_change(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

/* The lock `changing` is held. */
static void give_up(struct route *r, enum tuned_result result, const char *why)
{
    const int doublings = r->failures < RETRY_DOUBLINGS ? r->failures : RETRY_DOUBLINGS;
    const int calls = RETRY_CALLS << doublings;
    if (result == TUNED_LATER) {
        r->failures++;
        atomic_store(&r->calls_to_pass, calls);
        snprintf(r->why, sizeof r->why, "%.200s; it is tried again after %d calls", why, calls);
    } else {
        snprintf(r->why, sizeof r->why, "%.250s", why);
    }
    atomic_store(&r->state, result == TUNED_LATER ? ROUTE_LATER : ROUTE_PASS);
    count_change();
}

/* Why no tuned kernel answers; NULL: the chosen one does. *later: that may change. */
static const char *why_not(const struct route *r, struct context *context, struct choice *choice, bool *later)
{
    bool held;
    *later = false;
    if (r->unnamed) return r->unnamed;
    if (!contexts_choose(context, &r->problem, r->key.alignment, route_rules.nearest, choice, &held)) {
        *later = held;
        return held ? "another program holds the database of winners" : "no winner is known for this problem";
    }
    if (choice->cublas) return choice->why;
    if (choice_replaces_cublas(choice)) return exclude_has(r->text) ? "excluded by GEMMTUNE_EXCLUDE" : NULL;
    return choice->pinned      ? "what is pinned was not measured for this problem with this kernel"
           : choice->ratio > 0 ? "the tuned kernel is not expected to be faster"
                               : "the tuned kernel was not compared with cuBLAS";
}

static void decide(struct route *r, struct context *context)
{
    struct choice choice = {.cublas = true, .source = CHOICE_FALLBACK};
    bool later;
    const char *why = why_not(r, context, &choice, &later);
    if (why) {
        r->rival_won =
            choice.source == CHOICE_EXACT && choice.ratio <= 1 && (choice.cublas || choice.ratio > 0);
        give_up(r, later ? TUNED_LATER : TUNED_NEVER, why); /* no other thread uses it yet */
        return;
    }
    tuned_describe(&choice, r->why);
    r->family = choice.config.template->name;
    r->ratio = choice.ratio;
    r->time_us = choice.time_us;
    atomic_store(&r->by_library, template_is_library(choice.config.template));
    atomic_store(&r->state, ROUTE_TUNED);
}

/* NULL: no memory, or no room, which is remembered. */
static struct route *make(const struct route_key *key, uint64_t hash, struct context *context)
{
    if (route_rules.routes_max) routes.entries_max = route_rules.routes_max;
    const size_t all = routes.entries_max ? routes.entries_max : MEMO_ENTRIES_MAX;
    struct route *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->key = *key;
    r->unnamed = describe(key, &r->problem);
    if (!r->unnamed && context->store.gpu.arch < gemm_type_row(r->problem.type)->least_arch)
        r->unnamed = "the GPU has no units for its type";
    if (!r->unnamed) {
        r->extents = extents_of(&r->problem);
        problem_format(&r->problem, r->text);
    }
    decide(r, context);
    if (memo_room(&routes) <= (atomic_load(&r->state) == ROUTE_TUNED ? 0 : ROOM_FOR_TUNED(all))) {
        atomic_store_explicit(&crowded, true, memory_order_relaxed);
        verdicts_add(&untuned, hash);
        free(r);
        return NULL;
    }
    return memo_add(&routes, &r->entry, &r->key, hash);
}

/* There is no winner for it, as far as a quick check tells. */
static bool is_hopeless(const struct route_key *key, uint64_t hash, const struct context *context)
{
    struct problem problem;
    if (verdicts_hold(&untuned, hash)) return true;
    const bool none = describe(key, &problem) || !contexts_may_know(context, &problem);
    if (none) verdicts_add(&untuned, hash);
    return none;
}

static struct route *decided(const struct route_key *key, uint64_t hash)
{
    struct context *context = contexts_get(key->context);
    const bool only_tuned =
        !(route_rules.all || route_rules.nearest) || atomic_load_explicit(&crowded, memory_order_relaxed);
    if (!context || (only_tuned && is_hopeless(key, hash, context))) return NULL;
    pthread_mutex_lock(&adding);
    struct route *r = memo_find(&routes, key, hash);
    if (!r) r = make(key, hash, context);
    pthread_mutex_unlock(&adding);
    return r;
}

/* True if an address is no multiple of an element. */
static bool is_within_elements(const struct blas_request *request)
{
    const struct gemm_type_row *row = gemm_type_row(request->type);
    return ((uintptr_t)request->a | (uintptr_t)request->b) % (uintptr_t)element_bytes(row->a) ||
           ((uintptr_t)request->c | (uintptr_t)request->source) % (uintptr_t)element_bytes(row->c);
}

/* Alignment of the operands in bytes; 0: no kernel takes them. Of arrays of pointers only they themselves can
 * be looked at: their matrices are aligned to an element. */
static int alignment_of(const struct blas_request *request)
{
    const uintptr_t bits =
        (uintptr_t)request->a | (uintptr_t)request->b | (uintptr_t)request->c | (uintptr_t)request->source;
    if (request->pointers) return bits & 7 ? 0 : element_bytes(gemm_type_row(request->type)->a);
    return bits & 1 ? 0 : bits & 3 ? 2 : bits & 7 ? 4 : bits & 15 ? 8 : 16;
}

uint64_t route_place(const struct blas_request *request)
{
    const int alignment = alignment_of(request);
    const uint64_t context = alignment ? contexts_current() : 0;
    return context && contexts_get(context) ? 32 * context + (uint64_t)alignment : 0;
}

uint64_t route_epilogues(uint64_t place)
{
    const struct context *context = contexts_find(place / 32);
    return context ? contexts_known(context)->epilogues : 0;
}

unsigned route_types(uint64_t place)
{
    const struct context *context = contexts_find(place / 32);
    return context ? contexts_known(context)->types : 0;
}

/* A quick check that spares programs of another type than the winners' the rest. */
static bool is_of_no_winner(uint64_t id, enum gemm_type type)
{
    const struct context *context = route_rules.all ? NULL : contexts_find(id);
    return context && !(contexts_known(context)->types & GEMM_TYPE_BIT(type));
}

struct route *route_of(const struct blas_request *request, bool adds)
{
    const int alignment = alignment_of(request);
    const uint64_t context = alignment ? contexts_current() : 0;
    if (!context || (alignment == 2 && is_within_elements(request))) return NULL;
    struct route *r = request->last ? atomic_load_explicit(request->last, memory_order_acquire) : NULL;
    if (r && r->key.context == context && r->key.alignment == alignment &&
        r->key.flags == flags_of(request, adds) && r->key.stride_bias == stride_bias_of(request))
        return r;
    if (is_of_no_winner(context, request->type)) return NULL;

    const struct route_key key = make_key(request, adds, context, alignment);
    const uint64_t hash = memo_hash(&key, sizeof key);
    r = memo_find(&routes, &key, hash);
    if (!r) r = decided(&key, hash);
    if (request->last) atomic_store_explicit(request->last, r, memory_order_release);
    return r;
}

struct route *route_newest(void)
{
    return (struct route *)(void *)atomic_load(&routes.entries);
}

/* ---- preparation ---- */

void route_give_up(struct route *route, enum tuned_result result, const char *why)
{
    pthread_mutex_lock(&changing);
    give_up(route, result, why);
    pthread_mutex_unlock(&changing);
}

bool route_is_due(struct route *route)
{
    const int state = atomic_load_explicit(&route->state, memory_order_relaxed);
    if (state != ROUTE_LATER) return state == ROUTE_TUNED;
    if (atomic_fetch_sub_explicit(&route->calls_to_pass, 1, memory_order_relaxed) != 1) return false;
    atomic_store(&route->state, ROUTE_TUNED);
    return true;
}

bool route_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    return cuda.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void route_speeds(struct route *route, double *ratio, double *time_us)
{
    pthread_mutex_lock(&changing);
    *ratio = route->ratio;
    *time_us = route->time_us;
    pthread_mutex_unlock(&changing);
}

void route_why(struct route *route, char why[ROUTE_WHY_MAX])
{
    pthread_mutex_lock(&changing);
    memcpy(why, route->why, sizeof route->why);
    pthread_mutex_unlock(&changing);
}

/* The lock `changing` is held. */
static void end_preparing(struct route *r)
{
    atomic_store(&r->compiling, false);
    r->preparing = false;
    pthread_cond_broadcast(&prepared);
}

static void decide_again(struct route *r, struct context *context);

/* False: the kernel must be compiled, and may not be here; then the route is still preparing. */
static bool prepare(struct route *r, bool scalars_on_device, bool may_compile)
{
    struct choice choice;
    const struct tuned_wish wish = {.context = contexts_find(r->key.context),
                                    .problem = &r->problem,
                                    .alignment = r->key.alignment,
                                    .scalars_on_device = scalars_on_device,
                                    .may_compile = may_compile,
                                    .choice = &choice};
    struct gt_plan *plan = NULL;
    char why[TUNED_WHY_MAX];
    bool later;
    /* The decision may have been made without the database; a kernel is built only if it is still wanted. */
    const char *other = why_not(r, wish.context, &choice, &later);
    enum tuned_result result = later ? TUNED_LATER : TUNED_NEVER;
    if (other) snprintf(why, sizeof why, "%s", other);
    else result = tuned_prepare(&wish, &plan, why);
    if (result == TUNED_UNBUILT) return false;
    pthread_mutex_lock(&changing);
    if (result == TUNED_READY) {
        snprintf(r->why, sizeof r->why, "%s", why);
        config_format(&choice.config, r->config);
        /* Whichever of the two plans is one: what an algorithm may not answer goes to cuBLAS. */
        if (template_is_library(choice.config.template)) atomic_store(&r->by_library, true);
        atomic_store_explicit(&r->plan[scalars_on_device], plan, memory_order_release);
        count_change();
    } else {
        give_up(r, result, why);
    }
    end_preparing(r);
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
static bool must_decide_again(struct route *r)
{
    pthread_mutex_lock(&changing);
    const bool again = r->again && !r->preparing;
    if (again) r->again = false, r->preparing = true;
    pthread_mutex_unlock(&changing);
    return again;
}

/* In the thread of background.c. Without its context nobody will call it again. */
static void compile(void *item)
{
    struct route *r = item;
    struct context *context = contexts_find(r->key.context);
    if (!contexts_enter(context)) {
        drop(r);
        return;
    }
    prepare(r, r->for_device, true);
    while (must_decide_again(r)) {
        decide_again(r, context);
        drop(r);
    }
    contexts_leave();
}

/* Has the kernel compiled while calls go to cuBLAS; where that cannot be, here. */
static void compile_meanwhile(struct route *r, bool scalars_on_device)
{
    pthread_mutex_lock(&changing);
    r->for_device = scalars_on_device;
    atomic_store(&r->compiling, true);
    pthread_cond_broadcast(&prepared); /* who waited goes on with cuBLAS */
    pthread_mutex_unlock(&changing);
    const int arch = contexts_find(r->key.context)->store.gpu.arch;
    if (!background_add(arch, compile, drop, r)) prepare(r, scalars_on_device, true);
}

/* ---- new winners ---- */

/* A plan of what was chosen now, in place of another or of none. The old one stays: a thread may be launching
 * it. */
static void replace(struct route *r, const struct choice *choice, struct gt_plan *const plan[2],
                    const char *why)
{
    const bool library = template_is_library(choice->config.template);
    pthread_mutex_lock(&changing);
    if (library) atomic_store(&r->by_library, true); /* before a call can find it */
    for (int i = 0; i < 2; i++)
        if (plan[i]) atomic_store_explicit(&r->plan[i], plan[i], memory_order_release);
    if (!library) atomic_store(&r->by_library, false);
    snprintf(r->why, sizeof r->why, "%s", why);
    config_format(&choice->config, r->config);
    r->family = choice->config.template->name;
    r->ratio = choice->ratio;
    r->time_us = choice->time_us;
    r->rival_won = false;
    r->failures = 0;
    atomic_store(&r->state, ROUTE_TUNED);
    count_change();
    pthread_mutex_unlock(&changing);
}

/* Nothing else prepares it meanwhile: r->preparing. */
static void decide_again(struct route *r, struct context *context)
{
    struct choice choice = {.cublas = true, .source = CHOICE_FALLBACK};
    char text[CONFIG_TEXT_MAX], why[TUNED_WHY_MAX];
    bool later;
    const bool tuned = atomic_load(&r->state) == ROUTE_TUNED;
    const char *other = why_not(r, context, &choice, &later);
    if (other) {
        if (!tuned || later) return;
        pthread_mutex_lock(&changing);
        r->rival_won = choice.source == CHOICE_EXACT;
        give_up(r, TUNED_NEVER, other);
        r->config[0] = '\0';
        pthread_mutex_unlock(&changing);
        return;
    }
    config_format(&choice.config, text);
    if (strcmp(text, r->config) == 0) return; /* it is used, or could not be */
    struct gt_plan *plan[2] = {NULL, NULL};
    struct tuned_wish wish = {.context = context,
                              .problem = &r->problem,
                              .alignment = r->key.alignment,
                              .may_compile = true,
                              .choice = &choice};
    for (int i = 0; i < 2; i++) {
        wish.scalars_on_device = i;
        const bool wanted = atomic_load(&r->plan[i]) || (i == 0 && !atomic_load(&r->plan[1]));
        const enum tuned_result got = wanted ? tuned_prepare(&wish, &plan[i], why) : TUNED_READY;
        if (got == TUNED_READY) continue;
        if (got == TUNED_NEVER) snprintf(r->config, sizeof r->config, "%s", text); /* once is enough */
        return;
    }
    replace(r, &choice, plan, why);
}

static void renew(struct route *r)
{
    struct context *context = contexts_find(r->key.context);
    if (r->unnamed || !context || !contexts_enter(context)) return;
    pthread_mutex_lock(&changing);
    const bool ours = !r->preparing;
    r->preparing = true;
    if (!ours) r->again = true;
    pthread_mutex_unlock(&changing);
    if (ours) {
        decide_again(r, context);
        pthread_mutex_lock(&changing);
        end_preparing(r);
        pthread_mutex_unlock(&changing);
    }
    contexts_leave();
}

void routes_renew(void)
{
    for (int i = 0; i < 1 << VERDICTS_BITS; i++)
        atomic_store_explicit(&untuned.slots[i], 0, memory_order_relaxed);
    count_change(); /* calls without a winner may have one now */
    for (struct route *r = route_newest(); r; r = (struct route *)(void *)r->entry.older) renew(r);
}

/* A graph keeps what computes it when it is captured, so what is being prepared is waited for. */
static struct gt_plan *plan_for_graph(struct route *route, _Atomic(struct gt_plan *) *place)
{
    pthread_mutex_lock(&changing);
    while (route->preparing && !atomic_load(place)) pthread_cond_wait(&prepared, &changing);
    pthread_mutex_unlock(&changing);
    return atomic_load(place);
}

struct gt_plan *route_plan(struct route *route, bool scalars_on_device, CUstream stream)
{
    _Atomic(struct gt_plan *) *place = &route->plan[scalars_on_device];
    struct gt_plan *plan = atomic_load_explicit(place, memory_order_acquire);
    if (plan) return plan;
    if (route_is_captured(stream)) return plan_for_graph(route, place);
    if (route_is_compiling(route)) return NULL;
    pthread_mutex_lock(&changing);
    while (route->preparing && !route_is_compiling(route)) pthread_cond_wait(&prepared, &changing);
    const bool ours = !route->preparing && !atomic_load(place) && atomic_load(&route->state) == ROUTE_TUNED;
    if (ours) route->preparing = true;
    pthread_mutex_unlock(&changing);
    if (ours && !prepare(route, scalars_on_device, route_rules.wait))
        compile_meanwhile(route, scalars_on_device);
    return atomic_load(place);
}
