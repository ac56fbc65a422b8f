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
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PLANS_KEPT 4096

/* A problem in a context. Every byte counts, and the reserved members of a problem are 0. */
struct plan_key {
    uint64_t context; /* its id */
    unsigned char problem[offsetof(struct gt_problem, reserved)];
};

/* p: with all members of ours. */
static inline struct plan_key plan_key_of(uint64_t context, const struct gt_problem *p)
{
    struct plan_key key = {.context = context};
    memcpy(key.problem, p, sizeof key.problem);
    return key;
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

static inline bool plan_key_equal(const struct plan_key *x, const struct plan_key *y)
{
    uint64_t different = 0, a[sizeof *x / 8], b[sizeof *y / 8];
    memcpy(a, x, sizeof a);
    memcpy(b, y, sizeof b);
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) different |= a[i] ^ b[i];
    return !different;
}

static inline uint64_t plan_hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* Two halves, whose multiplications do not wait for each other. */
static inline uint64_t plan_hash(const struct plan_key *key)
{
    enum { HALF = sizeof *key / 16 };
    _Static_assert(sizeof *key == 16 * (size_t)HALF, "a key is an even number of words");
    uint64_t words[2 * HALF], first = UINT64_C(0x9e3779b97f4a7c15), second = first;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < HALF; i++) {
        first = plan_hash_step(first, words[i]);
        second = plan_hash_step(second, words[HALF + i]);
    }
    return plan_hash_step(first, second);
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
        if (entry->hash == hash && plan_key_equal(&entry->key, key)) return entry->plan;
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
