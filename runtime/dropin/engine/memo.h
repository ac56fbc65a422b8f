/* memo.h — an insert-only hash table keyed by plain bytes: read without a lock, written under the caller's.
 *
 * Entries are never changed or removed, and live until the process ends. A table that is full is replaced by
 * a larger one and kept, because another thread may be searching it.
 */
#ifndef GT_MEMO_H
#define GT_MEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL /* a call of the library would cost more than the hash */
#include <xxhash.h>

#define MEMO_ENTRIES_MAX 65536 /* unless the memo has another limit */

/* First member of every entry. */
struct memo_entry {
    struct memo_entry *older; /* the entry added before it */
    uint64_t hash;
    const void *key; /* in the entry */
};

struct memo_table {
    struct memo_table *older; /* the table that this one replaced */
    size_t mask;
    _Atomic(struct memo_entry *) slots[];
};

struct memo {
    size_t key_bytes, entries_max; /* 0: MEMO_ENTRIES_MAX */
    _Atomic(struct memo_table *) table;
    _Atomic(struct memo_entry *) entries; /* the newest */
    size_t count;
};

static inline uint64_t memo_hash(const void *key, size_t bytes)
{
    return XXH3_64bits(key, bytes);
}

/* Number of entries that still fit. One thread at a time. */
static inline size_t memo_room(const struct memo *memo)
{
    return (memo->entries_max ? memo->entries_max : MEMO_ENTRIES_MAX) - memo->count;
}

/* NULL: not found. Thread-safe. */
static inline void *memo_find(struct memo *memo, const void *key, uint64_t hash)
{
    const struct memo_table *table = atomic_load_explicit(&memo->table, memory_order_acquire);
    if (!table) return NULL;
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        struct memo_entry *entry = atomic_load_explicit(&table->slots[at], memory_order_acquire);
        if (!entry) return NULL;
        if (entry->hash == hash && memcmp(entry->key, key, memo->key_bytes) == 0) return entry;
    }
}

/* Takes over an entry that was malloc'ed, and returns it; NULL if there is no room. The key, which is in the
 * entry, must not exist yet. One thread at a time. */
void *memo_add(struct memo *memo, struct memo_entry *entry, const void *key, uint64_t hash);

#endif
