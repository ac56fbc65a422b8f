#include "record.h"

#include "dropin_handle.h"
#include "public_problem.h"

#include <stdlib.h>

/* Part of the table of plans that is reserved for problems that have a winner, which may come late. */
#define ROOM_FOR_TUNED(all) ((all) / 4)

bool record_all;
struct verdicts records_none;

static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER; /* never held while a kernel is prepared */
static _Atomic(struct record *) newest;
static atomic_bool crowded; /* there is only room for problems with a winner */

struct record *record_newest(void)
{
    return atomic_load(&newest);
}

/* ---- the key of a call ---- */

/* True if an address is no multiple of an element. */
static bool is_within_elements(const struct blas_request *request)
{
    const struct gemm_type_row *row = gemm_type_row(request->type);
    return ((uintptr_t)request->a | (uintptr_t)request->b) % (uintptr_t)element_bytes(row->a) ||
           ((uintptr_t)request->c | (uintptr_t)request->source) % (uintptr_t)element_bytes(row->c);
}

/* A key, written where it lies: it is made for every call. */
union asked {
    struct plan_key key;
    struct {
        uint64_t context;
        struct gt_problem problem;
    } of;
};
_Static_assert(offsetof(union asked, of.problem) == offsetof(struct plan_key, problem),
               "a key is a context and a problem");

static void add_epilogue(int code, struct gt_problem *p)
{
    if (epilogue_out_of_place(code)) p->flags |= GT_OUT_OF_PLACE;
    p->bias = (int32_t)epilogue_bias(code);
    p->activation = (int32_t)epilogue_activation(code);
}

/* Column-major C[m,n] = op(A) op(B) is row-major C^T[n,m] = op(B)^T op(A)^T, and a column-major matrix is
 * stored as its transpose in row-major order: operands and sizes are exchanged, ops stay with their operand.
 */
static inline void ask(const struct blas_request *x, const struct gpu_context *context, int alignment,
                       bool adds, union asked *asked)
{
    const bool many = x->batch > 1, strides = many && !x->pointers;
    asked->of.context = context->id;
    asked->of.problem = (struct gt_problem){
        .size = sizeof asked->of.problem,
        .flags = (x->pointers ? GT_POINTER_ARRAYS : 0) | (adds ? GT_ADDS_TO_C : 0),
        .type = (int32_t)x->type,
        .trans_a = x->op_b,
        .trans_b = x->op_a,
        .alignment = alignment,
        .m = x->n,
        .n = x->m,
        .k = x->k,
        .lda = x->ldb,
        .ldb = x->lda,
        .ldc = x->ldc,
        .batch = x->batch,
        .stride_a = strides ? x->stride_b : 0,
        .stride_b = strides ? x->stride_a : 0,
        .stride_c = strides ? x->stride_c : 0,
        .stride_bias = many ? x->stride_bias : 0,
    };
    if (x->epilogue) add_epilogue(x->epilogue, &asked->of.problem);
}

/* ---- new ones ---- */

/* Under the lock. NULL: no memory, or no room, which is remembered under `mark`. */
static struct record *make(struct gpu_context *context, const struct plan_key *key, uint64_t hash,
                           uint64_t mark)
{
    struct plans *plans = &context->handle->plans;
    struct plan_entry *unused;
    const uint64_t renewals = atomic_load(&plans->renewals);
    struct record *r = calloc(1, sizeof *r);
    if (!r || instead_open(context, key, &r->instead)) {
        free(r);
        return NULL;
    }
    const bool tuned = atomic_load(&r->instead.by) == BY_KERNEL;
    if (plans_room(plans) <= (tuned ? 0 : ROOM_FOR_TUNED(plans->most))) {
        atomic_store_explicit(&crowded, true, memory_order_relaxed);
        verdicts_add(&records_none, mark);
        instead_close(&r->instead);
        free(r);
        return NULL;
    }
    if (!r->instead.unnamed) problem_format(&r->instead.plan->problem, r->text);
    r->instead.plan->entry.hash = hash;
    r->older = atomic_load(&newest);
    plans_add(plans, &r->instead.plan->entry, true, &unused);
    atomic_store(&newest, r);
    if (atomic_load(&plans->renewals) != renewals) instead_renew(&r->instead); /* it was decided before */
    return r;
}

/* NULL: it is not among the plans. */
static inline struct record *find(struct gpu_context *context, const struct plan_key *key, uint64_t hash)
{
    const struct plan_entry *entry = plans_find(&context->handle->plans, key, hash);
    return entry ? (struct record *)(void *)entry->plan->instead : NULL;
}

/* There is no winner for it, as far as a quick check tells. */
static bool is_hopeless(struct gpu_context *context, const struct gt_problem *p, uint64_t mark)
{
    if (verdicts_hold(&records_none, mark)) return true;
    const bool none = !listed_has(listed_of(context), p);
    if (none) verdicts_add(&records_none, mark);
    return none;
}

static struct record *decided(struct gpu_context *context, const union asked *asked, uint64_t hash)
{
    const uint64_t mark = dropin_handle_hash(context->handle, hash);
    const bool only_tuned =
        !(record_all || instead_rules.nearest) || atomic_load_explicit(&crowded, memory_order_relaxed);
    if (only_tuned && is_hopeless(context, &asked->of.problem, mark)) return NULL;
    pthread_mutex_lock(&adding);
    struct record *r = find(context, &asked->key, hash);
    if (!r) r = make(context, &asked->key, hash, mark);
    pthread_mutex_unlock(&adding);
    return r;
}

struct record *record_find(const struct blas_request *request, struct gpu_context *context, bool adds)
{
    const int alignment = record_alignment(request);
    if (!alignment || (alignment == 2 && is_within_elements(request))) return NULL;
    union asked asked;
    ask(request, context, alignment, adds, &asked);
    struct record *r = request->last ? atomic_load_explicit(request->last, memory_order_acquire) : NULL;
    if (r && plan_key_equal(&r->instead.plan->entry.key, &asked.key)) return r;
    const uint64_t hash = plan_hash(&asked.key);
    r = find(context, &asked.key, hash);
    if (!r) r = decided(context, &asked, hash);
    if (request->last) atomic_store_explicit(request->last, r, memory_order_release);
    return r;
}
