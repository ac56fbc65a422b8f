/* overlap.h — whether the result of a product with an epilogue shares memory with what is read.
 *
 * Between two tiles of a kernel there is no order, so such a call has no right answer. Matrices may lie
 * inside of each other's padding, as columns of one large matrix do. What cannot be told quickly, two
 * matrices that are padded in different ways, counts as apart.
 */
#ifndef GT_OVERLAP_H
#define GT_OVERLAP_H

#include "operand_layout.h"

/* What calls are checked by, of each operand. The source is as long as C, whether or not it is C itself. */
struct extents {
    uint64_t bytes[OPERANDS];   /* from the first element to the end of the last one, batch included */
    unsigned element[OPERANDS]; /* bytes of an element */
    bool own[OPERANDS];         /* operand_is_own */
};

struct extents extents_of(const struct problem *problem);

/* Looks at the rows; as overlap_find. */
const char *overlap_look(const struct problem *problem, const unsigned long long at[OPERANDS]);

static inline bool ranges_meet(uint64_t x, uint64_t x_bytes, uint64_t y, uint64_t y_bytes)
{
    return x < y + y_bytes && y < x + x_bytes;
}

/* True if an operand at another address than the result's may share memory with it. */
static inline bool overlap_meets(const struct extents *extents, const unsigned long long at[OPERANDS])
{
    const unsigned long long c = at[OPERAND_C];
    const uint64_t *bytes = extents->bytes;
    bool meets = false;
    for (int i = 0; i < OPERANDS; i++) {
        const bool itself = i == OPERAND_C || (i == OPERAND_SOURCE && at[i] == c);
        meets |= !itself && ranges_meet(at[i], bytes[i], c, bytes[OPERAND_C]);
    }
    return meets;
}

/* The operand that the result shares memory with, as operand_called; NULL: none. Addresses; the source is C
 * as it is read, which may be C itself. */
static inline const char *overlap_find(const struct problem *problem, const struct extents *extents,
                                       const unsigned long long at[OPERANDS])
{
    return overlap_meets(extents, at) ? overlap_look(problem, at) : NULL;
}

#endif
