/* operand_layout.h — where each operand of a product lies in memory, and what it is called: a row for each in
 * operand_layout.c.
 */
#ifndef GT_OPERAND_LAYOUT_H
#define GT_OPERAND_LAYOUT_H

#include "operand.h"
#include "problem.h"

/* Rows of `cols` elements, of each item of a batch. */
struct operand_layout {
    enum element element;
    int64_t rows, cols, ld, batch;
    int64_t stride; /* 0: all items share it. With pointers the default, which means nothing */
};

/* As if the product had it: a source that is C itself lies as C does. A bias that is none has no columns. */
struct operand_layout operand_layout(const struct problem *problem, enum operand which);

/* Does the product have it, in memory of its own? */
bool operand_is_own(const struct problem *problem, enum operand which);

/* Elements from the first to the end of the last one, padding and batch included; 0 if there are none. */
int64_t operand_span(const struct operand_layout *layout);

/* The same in bytes; 0 where it is not its own. */
int64_t operand_bytes(const struct problem *problem, enum operand which);

/* "a", "source": as the members of a problem or a call are named. "A", "the bias": in a sentence. */
const char *operand_name(enum operand which);
const char *operand_called(enum operand which);

#endif
