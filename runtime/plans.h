/* plans.h — all plans of a handle.
 *
 * Those that callers opened stay until they are closed. Those of gt_gemm are found again by problem and
 * context: the first PLANS_KEPT stay and are found without a lock; behind them is an LRU cache, so that a
 * program with ever new shapes uses a bounded amount of memory. A plan of the LRU cache is taken and put
 * back, and is only evicted while nobody holds it.
 */
#ifndef GT_PLANS_H
#define GT_PLANS_H

#include "gemmtune.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define PLANS_KEPT    4096 /* unless struct plans says otherwise */
#define PLANS_RECENT  512  /* of the LRU cache */
#define PLANS_BUCKETS 1024 /* a power of two */

#define KEY_WITHOUT_WORKSPACE (UINT64_C(1) << 63)

/* What is computed, and where. Every byte counts: calls whose operands are less aligned, whose beta is 0 or
 * is not, or that can have no workspace, have another key. The reserved members of a problem are 0. */
struct plan_key {
    uint64_t context; /* its id, and KEY_WITHOUT_WORKSPACE or not */
    unsigned char problem[offsetof(struct gt_problem, reserved)];
};

/* p: with all members of ours. */
static inline struct plan_key plan_key_of(uint64_t context, const struct gt_problem *p)
{
    struct plan_key key = {.context = context};
    memcpy(key.problem, p, sizeof key.problem);
    return key;
}

static inline bool plan_key_has_workspace(const struct plan_key *key)
{
    return !(key->context & KEY_WITHOUT_WORKSPACE);
}

/* The problem of a key. */
static inline struct gt_problem plan_key_problem(const struct plan_key *key)
{
    struct gt_problem p = {.size = sizeof p};
    memcpy(&p, key->problem, sizeof key->problem);
    return p;
}

struct plan_list {
    struct plan_entry *newest, *oldest;
    int count;
};

/* The member of a plan by which it is found. Hash and key do not change once it was added. */
struct plan_entry {
    uint64_t hash;
    struct plan_key key;
    struct gt_plan *plan;
    struct plan_list *list; /* that it is in; NULL: none */
    struct plan_entry *newer, *older, *in_bucket;
    int taken;
    uint64_t renewed; /* the round in which it was looked at last */
};

/* Entries are never removed. A table that is full is replaced by a larger one and kept until the end, because
 * another thread may be searching it. */
struct plan_table {
    struct plan_table *older;
    size_t mask, count;
    _Atomic(struct plan_entry *) slots[];
};

struct plans {
    _Atomic(struct plan_table *) table;        /* of gt_gemm's that stay; NULL: empty */
    _Atomic uint64_t renewals;                 /* rounds of them, each after new winners were read */
    atomic_uint changes;                       /* of what computes a key, where callers must be told */
    size_t most;                               /* in the table */
    pthread_mutex_t lock;                      /* adding to the table, and what follows */
    struct plan_list kept, recent;             /* that stay, callers' included; the LRU cache */
    struct plan_entry *buckets[PLANS_BUCKETS]; /* of the LRU cache, by hash */
    struct plan_entry *renewing;               /* it is not freed meanwhile; NULL: none */
    pthread_cond_t rests;                      /* `renewing` has changed */
};

/* How many plans may still stay. */
static inline size_t plans_room(const struct plans *plans)
{
    const struct plan_table *table = atomic_load_explicit(&plans->table, memory_order_acquire);
    return plans->most - (table ? table->count : 0);
}

static inline bool plan_key_equal(const struct plan_key *x, const struct plan_key *y)
{
    uint64_t different = 0, a[sizeof *x / 8], b[sizeof *y / 8];
    memcpy(a, x, sizeof a);
    memcpy(b, y, sizeof b);
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) different |= a[i] ^ b[i];
    return !different;
}

__extension__ typedef unsigned __int128 plan_hash_product;

/* Both halves of a product of 128 bits. */
static inline uint64_t plan_hash_step(uint64_t hash, uint64_t word)
{
    const plan_hash_product product =
        (plan_hash_product)(hash ^ UINT64_C(0x9e3779b97f4a7c15)) * (word ^ UINT64_C(0xff51afd7ed558ccd));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t plan_key_word(const struct plan_key *key, size_t i)
{
    uint64_t word;
    memcpy(&word, (const unsigned char *)key + 8 * i, sizeof word);
    return word;
}

/* Two halves, whose multiplications do not wait for each other; each takes two words. */
static inline uint64_t plan_hash(const struct plan_key *key)
{
    enum { QUARTER = sizeof *key / 32 };
    _Static_assert(sizeof *key == 32 * (size_t)QUARTER, "a key is a multiple of four words");
    uint64_t first = 1, second = 2;
    for (size_t i = 0; i < 2 * QUARTER; i += 2) {
        first = plan_hash_step(first ^ plan_key_word(key, i), plan_key_word(key, i + 1));
        second = plan_hash_step(second ^ plan_key_word(key, 2 * QUARTER + i),
                                plan_key_word(key, 2 * QUARTER + i + 1));
    }
    return plan_hash_step(first, second);
}

/* Among those of gt_gemm that stay; NULL: not there. From any thread, without a lock. */
static inline struct plan_entry *plans_find(struct plans *plans, const struct plan_key *key, uint64_t hash)
{
    const struct plan_table *table = atomic_load_explicit(&plans->table, memory_order_acquire);
    if (!table) return NULL;
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        struct plan_entry *entry = atomic_load_explicit(&table->slots[at], memory_order_acquire);
        if (!entry || (entry->hash == hash && plan_key_equal(&entry->key, key))) return entry;
    }
}

void plans_start(struct plans *plans);

/* Keeps the plan that a caller opened. */
void plans_keep(struct plans *plans, struct plan_entry *entry);

/* Take a plan of the LRU cache; NULL: it is not there. */
struct plan_entry *plans_take(struct plans *plans, const struct plan_key *key, uint64_t hash);

/* Cache a plan of gt_gemm, and take the plan for its key: this one, or the one of another thread that was
 * first. It stays if it may and there is room, else it goes to the LRU cache. *unused: what is to be freed in
 * exchange, the plan itself or one that has not been used for long, or NULL. */
struct plan_entry *plans_add(struct plans *plans, struct plan_entry *fresh, bool may_stay,
                             struct plan_entry **unused);

/* Gives back an entry that was taken or added. */
void plans_put(struct plans *plans, struct plan_entry *entry);

/* Evicts the least recently used plan that no caller holds; NULL: there is none. */
struct plan_entry *plans_evict(struct plans *plans);

/* A plan that goes; one that gt_gemm keeps goes only with the handle. */
void plans_remove(struct plans *plans, struct plan_entry *entry);

/* Renews each plan once, in one thread. A plan is neither evicted nor freed meanwhile: who frees it waits. */
void plans_renew(struct plans *plans, void (*renew)(struct gt_plan *plan));

/* Any plan; NULL: there is none. */
struct plan_entry *plans_any(struct plans *plans);

/* Without plans. */
void plans_free(struct plans *plans);

#endif
