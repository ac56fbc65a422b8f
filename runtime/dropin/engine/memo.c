#include "memo.h"

#include <stdlib.h>

#define SLOTS_FIRST 256 /* a power of two */

static void put(struct memo_table *table, struct memo_entry *entry)
{
    size_t at = entry->hash & table->mask;
    while (atomic_load_explicit(&table->slots[at], memory_order_relaxed)) at = (at + 1) & table->mask;
    atomic_store_explicit(&table->slots[at], entry, memory_order_release);
}

/* Makes room for one more entry, at most half full. The old table is not freed, because other threads may be
 * reading it; all old ones together are smaller than the new one. */
static bool make_room(struct memo *memo)
{
    struct memo_table *old = atomic_load(&memo->table);
    if (memo_room(memo) == 0) return false;
    if (old && 2 * (memo->count + 1) <= old->mask + 1) return true;
    size_t slots = old ? 2 * (old->mask + 1) : SLOTS_FIRST;
    struct memo_table *fresh = calloc(1, sizeof *fresh + slots * sizeof *fresh->slots);
    if (!fresh) return false;
    fresh->mask = slots - 1;
    fresh->older = old;
    for (struct memo_entry *entry = atomic_load(&memo->entries); entry; entry = entry->older)
        put(fresh, entry);
    atomic_store_explicit(&memo->table, fresh, memory_order_release);
    return true;
}

void *memo_add(struct memo *memo, struct memo_entry *entry, const void *key, uint64_t hash)
{
    if (!make_room(memo)) {
        free(entry);
        return NULL;
    }
    entry->older = atomic_load(&memo->entries);
    entry->hash = hash;
    entry->key = key;
    put(atomic_load(&memo->table), entry);
    atomic_store(&memo->entries, entry);
    memo->count++;
    return entry;
}
