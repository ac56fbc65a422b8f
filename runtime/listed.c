#include "listed.h"

#include "handle.h"
#include "public_problem.h"

#include <limits.h>

/* Equal for problems that are as good (problem_alike). */
static uint64_t hash_of(const struct gt_problem *p)
{
    const uint32_t flags = p->flags & (GT_ADDS_TO_C | GT_OUT_OF_PLACE | GT_POINTER_ARRAYS);
    const bool many = p->batch > 1;
    const int64_t words[] = {flags,
                             p->type * 4 + p->trans_a * 2 + p->trans_b,
                             p->bias * 4 + p->activation,
                             p->m,
                             p->n,
                             p->k,
                             p->lda,
                             p->ldb,
                             p->ldc,
                             p->batch,
                             many ? p->stride_a : 0,
                             many ? p->stride_b : 0,
                             many ? p->stride_c : 0,
                             many ? p->stride_bias : 0};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) hash = plan_hash_step(hash, (uint64_t)words[i]);
    return hash;
}

/* A problem has two bits. */
static uint64_t bit_of(uint64_t hash, int which)
{
    return (which ? hash >> 32 : hash) & ((1 << LISTED_BITS) - 1);
}

struct adding {
    struct listed *to;
    unsigned types;
    uint64_t epilogues;
};

/* Under the types for which its winner decides. */
static bool add_problem(void *self, int64_t number, const struct problem *problem)
{
    struct adding *adding = self;
    struct gt_problem p = public_problem(problem);
    (void)number;
    if (problem->beta != 0) p.flags |= GT_ADDS_TO_C;
    adding->epilogues |= UINT64_C(1) << problem->epilogue;
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        if (!gemm_type_decides(problem->type, (enum gemm_type)type)) continue;
        adding->types |= GEMM_TYPE_BIT(type);
        p.type = type;
        const uint64_t hash = hash_of(&p);
        for (int i = 0; i < 2; i++)
            atomic_fetch_or(&adding->to->bits[bit_of(hash, i) / 64], UINT64_C(1) << bit_of(hash, i) % 64);
    }
    return true;
}

static void add_all(struct gpu_context *context)
{
    const struct winner_store *store = &context->winners;
    struct listed *l = &context->listed;
    struct adding adding = {.to = l};
    for (size_t i = 0; i < store->set.count; i++)
        add_problem(&adding, 0, &store->set.winners[i].base.problem);
    const bool known = !store->held && !(store->db && db_problems_each(store->db, add_problem, &adding));
    atomic_store(&l->types, known ? adding.types : UINT_MAX);
    atomic_store(&l->epilogues, known ? adding.epilogues : UINT64_MAX);
    atomic_store(&l->any, !known);
}

void listed_renew(struct gpu_context *context)
{
    if (atomic_load(&context->listed.made)) add_all(context);
}

const struct listed *listed_make(struct gpu_context *context)
{
    struct listed *l = &context->listed;
    pthread_mutex_lock(&context->lock);
    if (!atomic_load(&l->made)) {
        add_all(context);
        atomic_store_explicit(&l->made, true, memory_order_release);
    }
    pthread_mutex_unlock(&context->lock);
    return l;
}

bool listed_has(const struct listed *listed, const struct gt_problem *p)
{
    const uint64_t hash = hash_of(p);
    bool has = true;
    for (int i = 0; i < 2; i++) {
        const uint64_t bit = bit_of(hash, i);
        has &= atomic_load_explicit(&listed->bits[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
    }
    return has || atomic_load_explicit(&listed->any, memory_order_relaxed);
}
