/* operand.h — every matrix and vector of a product, in one list:
 *
 *     D = activation(alpha * op(A) * op(B) + beta * C + bias)
 *
 * D is where C is, or out of place a matrix of its own; then C is the source, which is only read. Launch
 * plans, calls, the judge, the check for shared memory, exported headers and the library go over this list:
 * what they have of each operand, an address or an offset, is an array of OPERANDS members. The rest is a row
 * of operand_layout.c. The judge's kernels contain this file, exported headers its list: C99, C++, CUDA.
 */
#ifndef GT_OPERAND_H
#define GT_OPERAND_H

/* Matrices first, which kernels read and write by vectors, then vectors. */
enum operand {
    OPERAND_A,
    OPERAND_B,
    OPERAND_C,      /* D: written, and read as C where there is no other source */
    OPERAND_SOURCE, /* C as it is read */
    OPERAND_BIAS,
    OPERANDS
};

/* How many have an alignment that a problem promises; the others are aligned to an element. */
#define OPERAND_MATRICES OPERAND_BIAS

/* Bits of an epilogue's code (epilogue.h), any of which says that the product has the operand. */
#define EPILOGUE_BIAS  3
#define EPILOGUE_OUT   16
#define EPILOGUE_CODES 32 /* all that are known are below */

#endif
