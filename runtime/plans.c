#include "plans.h"

#include <stdlib.h>

#define SLOTS_FIRST 256 /* a power of two */

_Static_assert(sizeof(struct plan_key) == sizeof(uint64_t) + 8 * sizeof(int32_t) + 11 * sizeof(int64_t),
               "a key has no bytes that are nobody's");

void plans_start(struct plans *plans)
{
    pthread_mutex_init(&plans->lock, NULL);
    pthread_cond_init(&plans->rests, NULL);
    plans->most = PLANS_KEPT;
}

void plans_free(struct plans *plans)
{
    for (struct plan_table *table = atomic_load(&plans->table), *older; table; table = older) {
        older = table->older;
        free(table);
    }
    pthread_cond_destroy(&plans->rests);
    pthread_mutex_destroy(&plans->lock);
}

/* ---- under the lock ---- */

static void put(struct plan_table *table, struct plan_entry *entry)
{
    size_t at = entry->hash & table->mask;
    while (atomic_load_explicit(&table->slots[at], memory_order_relaxed)) at = (at + 1) & table->mask;
    atomic_store_explicit(&table->slots[at], entry, memory_order_release);
    table->count++;
}

/* The table with room for one more, at most half full; NULL: out of memory, or there are enough. */
static struct plan_table *table_with_room(struct plans *plans)
{
    struct plan_table *old = atomic_load(&plans->table);
    if (old && old->count >= plans->most) return NULL;
    if (old && 2 * (old->count + 1) <= old->mask + 1) return old;
    const size_t slots = old ? 2 * (old->mask + 1) : SLOTS_FIRST;
    struct plan_table *fresh = calloc(1, sizeof *fresh + slots * sizeof *fresh->slots);
    if (!fresh) return NULL;
    fresh->mask = slots - 1;
    fresh->older = old;
    for (size_t i = 0; old && i <= old->mask; i++) {
        struct plan_entry *entry = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (entry) put(fresh, entry);
    }
    atomic_store_explicit(&plans->table, fresh, memory_order_release);
    return fresh;
}

static void link_newest(struct plan_list *list, struct plan_entry *e)
{
    e->list = list;
    e->newer = NULL;
    e->older = list->newest;
    if (e->older) e->older->newer = e;
    else list->oldest = e;
    list->newest = e;
    list->count++;
}

static void unlink_from_list(struct plan_entry *e)
{
    if (e->newer) e->newer->older = e->older;
    else e->list->newest = e->older;
    if (e->older) e->older->newer = e->newer;
    else e->list->oldest = e->newer;
    e->list->count--;
    e->list = NULL;
}

static struct plan_entry **bucket_of(struct plans *plans, uint64_t hash)
{
    return &plans->buckets[hash & (PLANS_BUCKETS - 1)];
}

static struct plan_entry *take(struct plans *plans, const struct plan_key *key, uint64_t hash)
{
    struct plan_entry *e = *bucket_of(plans, hash);
    while (e && (e->hash != hash || !plan_key_equal(&e->key, key))) e = e->in_bucket;
    if (!e) return NULL;
    e->taken++;
    unlink_from_list(e);
    link_newest(&plans->recent, e);
    return e;
}

static void drop(struct plans *plans, struct plan_entry *e)
{
    struct plan_entry **link = bucket_of(plans, e->hash);
    while (e->list == &plans->recent && *link != e) link = &(*link)->in_bucket;
    if (e->list == &plans->recent) *link = e->in_bucket;
    if (e->list) unlink_from_list(e);
}

static struct plan_entry *evict(struct plans *plans)
{
    struct plan_entry *e = plans->recent.oldest;
    while (e && (e->taken > 0 || e == plans->renewing)) e = e->newer;
    if (e) drop(plans, e);
    return e;
}

/* ---- */

void plans_keep(struct plans *plans, struct plan_entry *entry)
{
    pthread_mutex_lock(&plans->lock);
    link_newest(&plans->kept, entry);
    pthread_mutex_unlock(&plans->lock);
}

struct plan_entry *plans_take(struct plans *plans, const struct plan_key *key, uint64_t hash)
{
    pthread_mutex_lock(&plans->lock);
    struct plan_entry *e = take(plans, key, hash);
    pthread_mutex_unlock(&plans->lock);
    return e;
}

struct plan_entry *plans_add(struct plans *plans, struct plan_entry *fresh, bool may_stay,
                             struct plan_entry **unused)
{
    struct plan_table *table;
    *unused = NULL;
    pthread_mutex_lock(&plans->lock);
    struct plan_entry *e = plans_find(plans, &fresh->key, fresh->hash);
    if (!e) e = take(plans, &fresh->key, fresh->hash);
    if (e) *unused = fresh;
    else if (may_stay && (table = table_with_room(plans))) {
        link_newest(&plans->kept, fresh);
        put(table, fresh);
    } else {
        struct plan_entry **bucket = bucket_of(plans, fresh->hash);
        fresh->in_bucket = *bucket;
        *bucket = fresh;
        fresh->taken = 1;
        link_newest(&plans->recent, fresh);
        if (plans->recent.count > PLANS_RECENT) *unused = evict(plans);
    }
    pthread_mutex_unlock(&plans->lock);
    return e ? e : fresh;
}

void plans_put(struct plans *plans, struct plan_entry *entry)
{
    pthread_mutex_lock(&plans->lock);
    if (entry->list == &plans->recent) entry->taken--;
    pthread_mutex_unlock(&plans->lock);
}

struct plan_entry *plans_evict(struct plans *plans)
{
    pthread_mutex_lock(&plans->lock);
    struct plan_entry *e = evict(plans);
    pthread_mutex_unlock(&plans->lock);
    return e;
}

void plans_remove(struct plans *plans, struct plan_entry *entry)
{
    pthread_mutex_lock(&plans->lock);
    while (plans->renewing == entry) pthread_cond_wait(&plans->rests, &plans->lock);
    drop(plans, entry);
    pthread_mutex_unlock(&plans->lock);
}

/* From this one to older ones of its list, the first that has not had its turn; NULL: all have. */
static struct plan_entry *not_renewed(const struct plans *plans, struct plan_entry *e)
{
    while (e && e->renewed == atomic_load(&plans->renewals)) e = e->older;
    return e;
}

/* Under the lock; NULL: all have had their turn, those that came meanwhile, too. */
static struct plan_entry *next_to_renew(const struct plans *plans)
{
    struct plan_entry *e = not_renewed(plans, plans->renewing);
    if (!e) e = not_renewed(plans, plans->kept.newest);
    return e ? e : not_renewed(plans, plans->recent.newest);
}

void plans_renew(struct plans *plans, void (*renew)(struct gt_plan *plan))
{
    pthread_mutex_lock(&plans->lock);
    atomic_fetch_add(&plans->renewals, 1);
    atomic_fetch_add(&plans->changes, 1); /* what had no plan may have one */
    while ((plans->renewing = next_to_renew(plans))) {
        struct gt_plan *plan = plans->renewing->plan;
        plans->renewing->renewed = atomic_load(&plans->renewals);
        pthread_cond_broadcast(&plans->rests); /* another one's turn has ended */
        pthread_mutex_unlock(&plans->lock);
        renew(plan);
        pthread_mutex_lock(&plans->lock);
    }
    pthread_cond_broadcast(&plans->rests);
    pthread_mutex_unlock(&plans->lock);
}

struct plan_entry *plans_any(struct plans *plans)
{
    pthread_mutex_lock(&plans->lock);
    struct plan_entry *e = plans->kept.newest ? plans->kept.newest : plans->recent.newest;
    pthread_mutex_unlock(&plans->lock);
    return e;
}
