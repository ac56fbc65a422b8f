/* overlap.h — whether the result of a product with an epilogue shares memory with what is read.
 *
 * Between two tiles of a kernel there is no order, so such a call has no right answer. Matrices may lie
 * inside of each other's padding, as columns of one large matrix do. What cannot be told quickly, two
 * matrices that are padded in different ways, counts as apart.
 */
#ifndef GT_OVERLAP_H
#define GT_OVERLAP_H

#include "problem.h"

/* Bytes from the first element of an operand to the end of its last one, batch included. */
struct extents {
    uint64_t a, b, c, bias;
};

struct extents extents_of(const struct problem *problem);

/* Addresses. source: C as it is read, which may also be c itself. */
struct places {
    uint64_t a, b, c, source, bias;
};

const char *overlap_look(const struct problem *problem, const struct places *at);

static inline bool ranges_meet(uint64_t x, uint64_t x_bytes, uint64_t y, uint64_t y_bytes)
{
    return x < y + y_bytes && y < x + x_bytes;
}

/* The operand that D at `c` shares memory with: "A", "B", "the bias" or "C"; NULL: nothing. */
static inline const char *overlap_find(const struct problem *problem, const struct extents *bytes,
                                       const struct places *at)
{
    const bool apart = !ranges_meet(at->a, bytes->a, at->c, bytes->c) &&
                       !ranges_meet(at->b, bytes->b, at->c, bytes->c) &&
                       !ranges_meet(at->bias, bytes->bias, at->c, bytes->c) &&
                       (at->source == at->c || !ranges_meet(at->source, bytes->c, at->c, bytes->c));
    return apart ? NULL : overlap_look(problem, at);
}

#endif
