#include "listed.h"

#include "public_problem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

static int by_value(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static bool add_hash(struct listed *l, uint64_t hash)
{
    if (l->count == l->room) {
        const size_t room = l->room ? 2 * l->room : 64;
        uint64_t *grown = realloc(l->hashes, room * sizeof *grown);
        l->complete = grown;
        if (!grown) return false;
        l->hashes = grown;
        l->room = room;
    }
    l->hashes[l->count++] = hash;
    return true;
}

/* Under the types for which its winner decides. */
static bool add_problem(void *self, int64_t number, const struct problem *problem)
{
    struct listed *l = self;
    struct gt_problem p = public_problem(problem);
    (void)number;
    if (problem->beta != 0) p.flags |= GT_ADDS_TO_C;
    l->epilogues |= UINT64_C(1) << problem->epilogue;
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        p.type = type;
        if (!gemm_type_decides(problem->type, (enum gemm_type)type)) continue;
        l->types |= GEMM_TYPE_BIT(type);
        if (!add_hash(l, hash_of(&p))) return false;
    }
    return true;
}

void listed_free(struct listed *newest)
{
    for (struct listed *l = newest, *older; l; l = older) {
        older = l->older;
        free(l->hashes);
        free(l);
    }
}

static bool is_same(const struct listed *x, const struct listed *y)
{
    return x && x->complete == y->complete && x->count == y->count && x->epilogues == y->epilogues &&
           x->types == y->types &&
           (!x->count || memcmp(x->hashes, y->hashes, x->count * sizeof *x->hashes) == 0);
}

bool listed_renew(struct gpu_context *context)
{
    const struct winner_store *store = &context->winners;
    struct listed *older = atomic_load(&context->listed), *l = calloc(1, sizeof *l);
    if (!l) return false;
    l->complete = !store->held; /* else there may be more later */
    for (size_t i = 0; i < store->set.count && l->complete; i++)
        add_problem(l, 0, &store->set.winners[i].base.problem);
    if (l->complete && store->db && db_problems_each(store->db, add_problem, l)) l->complete = false;
    if (l->count) qsort(l->hashes, l->count, sizeof *l->hashes, by_value);
    if (!l->complete) {
        l->epilogues = UINT64_MAX;
        l->types = UINT_MAX;
    }
    if (is_same(older, l)) {
        listed_free(l);
        return true;
    }
    l->older = older;
    atomic_store_explicit(&context->listed, l, memory_order_release);
    return true;
}

const struct listed *listed_make(struct gpu_context *context)
{
    static const struct listed any = {.epilogues = UINT64_MAX, .types = UINT_MAX};
    pthread_mutex_lock(&context->lock);
    if (!atomic_load(&context->listed)) listed_renew(context);
    const struct listed *now = atomic_load(&context->listed);
    pthread_mutex_unlock(&context->lock);
    return now ? now : &any;
}

bool listed_has(const struct listed *listed, const struct gt_problem *p)
{
    if (!listed->complete) return true;
    const uint64_t hash = hash_of(p);
    return listed->count && bsearch(&hash, listed->hashes, listed->count, sizeof hash, by_value);
}
