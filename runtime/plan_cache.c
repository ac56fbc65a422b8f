#include "plan_cache.h"

#include <stdlib.h>

#define SLOTS_FIRST 256 /* a power of two */

_Static_assert(sizeof(struct plan_key) == sizeof(uint64_t) + 8 * sizeof(int32_t) + 11 * sizeof(int64_t),
               "a key has no bytes that are nobody's");

static void put(struct plan_table *table, struct plan_entry *entry)
{
    size_t at = entry->hash & table->mask;
    while (atomic_load_explicit(&table->slots[at], memory_order_relaxed)) at = (at + 1) & table->mask;
    atomic_store_explicit(&table->slots[at], entry, memory_order_release);
    table->count++;
}

/* Room for one more, at most half full. */
static enum status make_room(struct plan_cache *cache)
{
    struct plan_table *old = atomic_load(&cache->table);
    if (old && 2 * (old->count + 1) <= old->mask + 1) return OK;
    size_t slots = old ? 2 * (old->mask + 1) : SLOTS_FIRST;
    struct plan_table *fresh = calloc(1, sizeof *fresh + slots * sizeof *fresh->slots);
    if (!fresh) return fail(E_MEMORY, "out of memory for plans");
    fresh->mask = slots - 1;
    fresh->older = old;
    for (struct plan_entry *entry = cache->entries; entry; entry = entry->older) put(fresh, entry);
    atomic_store_explicit(&cache->table, fresh, memory_order_release);
    return OK;
}

enum status plan_cache_add(struct plan_cache *cache, const struct plan_key *key, uint64_t hash,
                           struct gt_plan *plan)
{
    enum status st = make_room(cache);
    if (st) return st;
    struct plan_entry *entry = malloc(sizeof *entry);
    if (!entry) return fail(E_MEMORY, "out of memory for plans");
    *entry = (struct plan_entry){.older = cache->entries, .hash = hash, .key = *key, .plan = plan};
    cache->entries = entry;
    cache->count++;
    put(atomic_load(&cache->table), entry);
    return OK;
}

void plan_cache_free(struct plan_cache *cache)
{
    for (struct plan_entry *entry = cache->entries, *older; entry; entry = older) {
        older = entry->older;
        free(entry);
    }
    for (struct plan_table *table = atomic_load(&cache->table), *older; table; table = older) {
        older = table->older;
        free(table);
    }
    cache->entries = NULL;
    atomic_store(&cache->table, NULL);
}
