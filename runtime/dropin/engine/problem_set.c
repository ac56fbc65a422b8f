#include "problem_set.h"

#include "memo.h"

#include <stdlib.h>

#define SLOTS_FIRST 64 /* a power of two */

uint64_t problem_set_hash(const struct problem *p)
{
    const bool many = p->batch > 1;
    const int64_t words[] = {(int64_t)p->type * 8 + p->pointers * 4 + p->trans_a * 2 + p->trans_b,
                             (p->alpha != 0) * 2 + (p->beta != 0),
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
                             p->epilogue,
                             many ? p->stride_bias : 0};
    const uint64_t hash = memo_hash(words, sizeof words);
    return hash ? hash : 1;
}

/* False: it exists already. */
static bool put(uint64_t *slots, size_t mask, uint64_t hash)
{
    size_t at = hash & mask;
    while (slots[at] && slots[at] != hash) at = (at + 1) & mask;
    const bool fresh = !slots[at];
    slots[at] = hash;
    return fresh;
}

static bool grow(struct problem_set *set)
{
    const size_t slots = set->slots ? 2 * (set->mask + 1) : SLOTS_FIRST;
    uint64_t *larger = calloc(slots, sizeof *larger);
    if (!larger) return false;
    for (size_t i = 0; set->slots && i <= set->mask; i++)
        if (set->slots[i]) put(larger, slots - 1, set->slots[i]);
    free(set->slots);
    set->slots = larger;
    set->mask = slots - 1;
    return true;
}

bool problem_set_add(struct problem_set *set, uint64_t hash)
{
    if ((!set->slots || 2 * (set->count + 1) > set->mask + 1) && !grow(set)) return false;
    set->count += put(set->slots, set->mask, hash);
    return true;
}

void problem_set_free(struct problem_set *set)
{
    free(set->slots);
    *set = (struct problem_set){.count = 0};
}
