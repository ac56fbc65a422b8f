/* operand.h — every matrix and vector of a product, in one list, with where each lies in memory.
 *
 * Launch plans, calls, the judge, the check for shared memory, exported headers and the library go over this
 * list. What they have of each operand, an address or an offset, is an array of OPERANDS members. A row of
 * operand.c says the rest. Exported headers contain the names (tools/export/launch_text.sh).
 */
#ifndef GT_OPERAND_H
#define GT_OPERAND_H

#include "problem.h"

/* Matrices first, which kernels read and write by vectors, then vectors. */
enum operand {
    OPERAND_A,
    OPERAND_B,
    OPERAND_C,      /* written */
    OPERAND_SOURCE, /* C as it is read: C itself, unless the product is out of place */
    OPERAND_BIAS,
    OPERANDS
};

/* Those that addresses promise an alignment of; of the others it is an element. */
#define OPERAND_MATRICES OPERAND_BIAS

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
