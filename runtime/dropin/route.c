#include "route.h"

#include "device.h"
#include "lookup.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct route_rules route_rules;

static struct memo routes = {.key_bytes = sizeof(struct route_key)};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all below, adding routes, and preparing kernels */

/* What is known of the GPU of a context. */
struct knowledge {
    struct knowledge *next;
    CUcontext context;
    bool usable;
    struct known known;
};
static struct knowledge *knowledges;
static struct notices notices;
static struct gt_handle *library; /* opened when there is a winner to launch */

_Static_assert(sizeof(struct route_key) == sizeof(void *) + 10 * sizeof(int64_t) + 2 * sizeof(int32_t),
               "a key has no bytes that are nobody's");

/* ---- what is asked ---- */

static struct route_key make_key(const struct asked *x, CUcontext context, int alignment)
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
        .ops = x->op_a + 2 * x->op_b,
        .alignment = alignment,
    };
}

/* Column-major C[m,n] = op(A) op(B) is row-major C^T[n,m] = op(B)^T op(A)^T, and what is stored column-major
 * is stored transposed row-major: operands and sizes change places, ops stay with their operand. */
static bool name_problem(struct route *r)
{
    const struct route_key *k = &r->key;
    struct problem *p = &r->problem;
    if (k->m < 1 || k->n < 1 || k->k < 1 || k->batch < 1) return false;
    *p = problem_make(k->n, k->m, k->k);
    p->trans_a = k->ops & 2;
    p->trans_b = k->ops & 1;
    p->lda = k->ldb;
    p->ldb = k->lda;
    p->ldc = k->ldc;
    p->batch = k->batch;
    const bool many = k->batch > 1;
    p->stride_a = many ? k->stride_b : problem_rows_a(p) * p->lda;
    p->stride_b = many ? k->stride_a : problem_rows_b(p) * p->ldb;
    p->stride_c = many ? k->stride_c : p->m * p->ldc;
    /* With a stride of 0 the text form would mean another problem. */
    if (problem_check(p) || (many && (p->stride_a <= 0 || p->stride_b <= 0))) return false;
    problem_format(p, r->text);
    return true;
}

/* ---- deciding ---- */

static struct knowledge *learn(CUcontext context)
{
    struct knowledge *k = knowledges;
    while (k && k->context != context) k = k->next;
    if (k) return k;
    k = calloc(1, sizeof *k);
    if (!k) return NULL;
    if (!knowledges) notices_start(&notices, false);
    struct device device;
    enum status st = device_of_context(&device);
    if (!st) st = known_open(&k->known, &device.gpu, NULL, NULL, &notices);
    k->context = context;
    k->usable = st == OK;
    k->next = knowledges;
    knowledges = k;
    return k;
}

/* Share of cuBLAS's time that is expected to be won; below 0 if it is lost. */
static double expected_gain(const struct choice *c)
{
    return c->ratio > 0 ? c->ratio * (1 - c->loss) - 1 : -1;
}

static bool choose(struct knowledge *k, const struct route *r, struct choice *choice)
{
    struct choice others[CHOICES_MAX];
    int count = 0;
    enum status st = lookup_exact(&k->known, &r->problem, r->key.alignment, choice);
    if (!st) return true;
    if (!route_rules.nearest || lookup_others(&k->known, &r->problem, r->key.alignment, others, &count) ||
        count == 0 || others[0].source != GT_NEAREST)
        return false;
    *choice = others[0];
    return true;
}

static void decide(struct route *r)
{
    struct choice choice = {.cublas = true};
    struct knowledge *k = r->nameable ? learn((CUcontext)(uintptr_t)r->key.context) : NULL;
    const char *why = !r->nameable                  ? "no winner can be known for such a call"
                      : !k || !k->usable            ? "nothing is known of this GPU"
                      : !choose(k, r, &choice)      ? "no winner is known for this problem"
                      : choice.cublas               ? "cuBLAS won the race"
                      : expected_gain(&choice) <= 0 ? "the tuned kernel is not expected to be faster"
                                                    : NULL;
    atomic_init(&r->state, why ? ROUTE_PASS : ROUTE_TUNED);
    if (why) snprintf(r->why, sizeof r->why, "%s", why);
    else snprintf(r->why, sizeof r->why, "%.3f times as fast as cuBLAS, %.200s", choice.ratio, choice.why);
}

static struct route *make(const struct route_key *key, uint64_t hash)
{
    struct route *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->key = *key;
    r->nameable = name_problem(r);
    decide(r);
    return memo_add(&routes, &r->entry, &r->key, hash);
}

/* Of the operands, in bytes; 0: there is no current context, or no kernel takes them. */
static int alignment_of(const struct asked *asked, CUcontext *context)
{
    const uintptr_t bits = (uintptr_t)asked->a | (uintptr_t)asked->b | (uintptr_t)asked->c;
    *context = NULL;
    if ((bits & 3) || cuda.CtxGetCurrent(context) != CUDA_SUCCESS || !*context) return 0;
    return bits & 7 ? 4 : bits & 15 ? 8 : 16;
}

bool route_is_for(const struct route *route, const struct asked *asked)
{
    CUcontext context;
    return route->key.alignment == alignment_of(asked, &context) && route->key.context == context;
}

struct route *route_of(const struct asked *asked)
{
    CUcontext context;
    const int alignment = alignment_of(asked, &context);
    if (!alignment) return NULL;
    struct route *r = asked->last ? atomic_load_explicit(asked->last, memory_order_acquire) : NULL;
    if (r && r->key.context == context && r->key.alignment == alignment) return r;

    const struct route_key key = make_key(asked, context, alignment);
    const uint64_t hash = memo_hash(&key, sizeof key);
    r = memo_find(&routes, &key, hash);
    if (!r) {
        pthread_mutex_lock(&lock);
        r = memo_find(&routes, &key, hash);
        if (!r) r = make(&key, hash);
        pthread_mutex_unlock(&lock);
    }
    if (asked->last) atomic_store_explicit(asked->last, r, memory_order_release);
    return r;
}

struct route *route_newest(void)
{
    return (struct route *)(void *)atomic_load(&routes.entries);
}

/* ---- preparing ---- */

void route_give_up(struct route *route, const char *why)
{
    pthread_mutex_lock(&lock);
    snprintf(route->why, sizeof route->why, "%.250s", why);
    atomic_store(&route->state, ROUTE_PASS);
    pthread_mutex_unlock(&lock);
}

bool route_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    return cuda.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void route_why(struct route *route, char why[ROUTE_WHY_MAX])
{
    pthread_mutex_lock(&lock);
    memcpy(why, route->why, sizeof route->why);
    pthread_mutex_unlock(&lock);
}

static void refuse(struct route *r, const char *what, const char *why)
{
    snprintf(r->why, sizeof r->why, "%s: %.200s", what, why);
    atomic_store(&r->state, ROUTE_PASS);
}

/* The library may find at last that the winner cannot be used, and have another answer: not ours to give,
 * then. */
static struct gt_plan *prepare(struct route *r, bool scalars_on_device)
{
    const struct problem *p = &r->problem;
    struct gt_options options = gt_options_make();
    struct gt_problem problem = {.size = sizeof problem,
                                 .flags = scalars_on_device ? GT_SCALARS_ON_DEVICE : 0,
                                 .type = GT_SGEMM,
                                 .trans_a = p->trans_a,
                                 .trans_b = p->trans_b,
                                 .m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .lda = p->lda,
                                 .ldb = p->ldb,
                                 .ldc = p->ldc,
                                 .batch = p->batch,
                                 .stride_a = p->stride_a,
                                 .stride_b = p->stride_b,
                                 .stride_c = p->stride_c,
                                 .alignment = r->key.alignment};
    struct gt_plan *plan = NULL;
    struct gt_plan_info info = gt_plan_info_make();
    options.flags = GT_NO_CUBLAS;
    if (!library && gt_open(&library, &options)) {
        refuse(r, "the library cannot be opened", gt_error_text());
        return NULL;
    }
    if (gt_plan_open(library, &problem, &plan)) {
        refuse(r, "the tuned kernel cannot be prepared", gt_error_text());
        return NULL;
    }
    gt_plan_describe(plan, &info);
    const bool good = !info.uses_cublas && info.ratio > 0 &&
                      (info.source == GT_EXACT || (info.source == GT_NEAREST && route_rules.nearest));
    if (good) {
        snprintf(r->why, sizeof r->why, "%.3f times as fast as cuBLAS, %.40s, %.180s", info.ratio,
                 info.source == GT_EXACT ? "measured" : "measured for a similar problem", info.config);
        return plan;
    }
    refuse(r, "the tuned kernel cannot be used", info.why);
    gt_plan_close(plan);
    return NULL;
}

struct gt_plan *route_plan(struct route *route, bool scalars_on_device, CUstream stream)
{
    _Atomic(struct gt_plan *) *place = &route->plan[scalars_on_device];
    struct gt_plan *plan = atomic_load_explicit(place, memory_order_acquire);
    if (plan || route_is_captured(stream)) return plan;
    pthread_mutex_lock(&lock);
    plan = atomic_load(place);
    if (!plan && atomic_load(&route->state) == ROUTE_TUNED) {
        plan = prepare(route, scalars_on_device);
        atomic_store_explicit(place, plan, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return plan;
}
