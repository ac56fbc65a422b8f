/* verdicts.h — a bounded cache of keys that passed a check, by their 64-bit hashes: read and written from any
 * thread without a lock. A newer key may replace an older one, so a key that is not found may have to be
 * checked again. Hash collisions are not handled: once in 2^64.
 */
#ifndef GT_VERDICTS_H
#define GT_VERDICTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { VERDICTS_BITS = 14 };

struct verdicts {
    _Atomic uint64_t slots[1 << VERDICTS_BITS]; /* 0: empty */
};

static inline _Atomic uint64_t *verdicts_slot(struct verdicts *verdicts, uint64_t hash)
{
    return &verdicts->slots[hash >> (64 - VERDICTS_BITS)];
}

static inline bool verdicts_hold(struct verdicts *verdicts, uint64_t hash)
{
    return hash && atomic_load_explicit(verdicts_slot(verdicts, hash), memory_order_relaxed) == hash;
}

static inline void verdicts_add(struct verdicts *verdicts, uint64_t hash)
{
    atomic_store_explicit(verdicts_slot(verdicts, hash), hash, memory_order_relaxed);
}

#endif
