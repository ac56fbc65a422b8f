/* plan_cache.h — plans by problem and context: found without a lock, added under the handle's, at most
 * PLANS_KEPT.
 *
 * Entries are never changed or removed. A table that is full is replaced by a larger one and kept until the
 * end, because another thread may be searching it.
 */
#ifndef GT_PLAN_CACHE_H
#define GT_PLAN_CACHE_H

#include "gemmtune.h"
#include "status.h"
#include <stdatomic.h>
#include <string.h>

#define PLANS_KEPT 4096

struct plan_key {     /* every byte counts */
    uint64_t context; /* its id */
    uint32_t flags;   /* of the problem */
    int32_t type, trans_a, trans_b, alignment;
    int32_t none; /* 0 */
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c;
};

static inline struct plan_key plan_key_of(uint64_t context, const struct gt_problem *p)
{
    return (struct plan_key){.context = context,
                             .flags = p->flags,
                             .type = p->type,
                             .trans_a = p->trans_a,
                             .trans_b = p->trans_b,
                             .alignment = p->alignment,
                             .none = 0,
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .lda = p->lda,
                             .ldb = p->ldb,
                             .ldc = p->ldc,
                             .batch = p->batch,
                             .stride_a = p->stride_a,
                             .stride_b = p->stride_b,
                             .stride_c = p->stride_c};
}

struct plan_entry {
    struct plan_entry *older; /* of all entries, for freeing */
    uint64_t hash;
    struct plan_key key;
    struct gt_plan *plan;
};

struct plan_table {
    struct plan_table *older;
    size_t mask, count;
    _Atomic(struct plan_entry *) slots[];
};

struct plan_cache {
    _Atomic(struct plan_table *) table; /* NULL: empty */
    struct plan_entry *entries;
    int count;
};

static inline uint64_t plan_hash(const struct plan_key *key)
{
    uint64_t words[sizeof *key / 8], hash = UINT64_C(0x9e3779b97f4a7c15);
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash;
}

/* NULL: not there. From any thread. */
static inline struct gt_plan *plan_cache_find(struct plan_cache *cache, const struct plan_key *key,
                                              uint64_t hash)
{
    const struct plan_table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    if (!table) return NULL;
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        const struct plan_entry *entry = atomic_load_explicit(&table->slots[at], memory_order_acquire);
        if (!entry) return NULL;
        if (entry->hash == hash && memcmp(&entry->key, key, sizeof *key) == 0) return entry->plan;
    }
}

/* One thread at a time. The key must not be there. Errors: E_MEMORY. */
enum status plan_cache_add(struct plan_cache *cache, const struct plan_key *key, uint64_t hash,
                           struct gt_plan *plan);

/* Under the same lock. */
static inline int plan_cache_is_full(const struct plan_cache *cache)
{
    return cache->count >= PLANS_KEPT;
}

/* The plans are not the cache's. */
void plan_cache_free(struct plan_cache *cache);

#endif
