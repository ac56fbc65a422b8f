/* SPDX-License-Identifier: MIT */
/* winner_types.h — types as exported headers know them, for the program that writes those; a header has a
 * list and tables in place of this file (export_header.h).
 */
#ifndef GT_WINNER_TYPES_H
#define GT_WINNER_TYPES_H

#include "gemm_type.h"

enum { GT_WINNER_SGEMM = GEMM_TYPE_DEFAULT, GT_WINNER_TYPES = GEMM_TYPE_COUNT };

/* Bit t: what won for a type may answer for type t. */
static inline unsigned gt_winner_type_answers(int tuned)
{
    unsigned answers = 0;
    for (int t = 0; t < GEMM_TYPE_COUNT; t++)
        if (gemm_type_answers((enum gemm_type)tuned, (enum gemm_type)t)) answers |= GEMM_TYPE_BIT(t);
    return answers;
}

/* Bit t: it was raced against the rival of type t, too. */
static inline unsigned gt_winner_type_decides(int tuned)
{
    unsigned decides = 0;
    for (int t = 0; t < GEMM_TYPE_COUNT; t++)
        if (gemm_type_decides((enum gemm_type)tuned, (enum gemm_type)t)) decides |= GEMM_TYPE_BIT(t);
    return decides;
}

/* Measured errors decide which kernels may answer. */
static inline unsigned gt_winner_type_is_measured(int type)
{
    return gemm_type_has_limits((enum gemm_type)type);
}

/* Of an element of A (0), B (1) or C (2). */
static inline int gt_winner_type_bytes(int type, int operand)
{
    const struct gemm_type_row *row = gemm_type_row((enum gemm_type)type);
    return element_bytes(operand == 0 ? row->a : operand == 1 ? row->b : row->c);
}

#endif
