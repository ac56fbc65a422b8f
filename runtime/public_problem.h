/* public_problem.h — which members of the structs that callers of the library fill in are which of ours: the
 * flags and the epilogue of a problem, and the operands of a call. And an internal problem as such a struct;
 * arguments.h does the reverse, with checks.
 */
#ifndef GT_PUBLIC_PROBLEM_H
#define GT_PUBLIC_PROBLEM_H

#include "gemmtune.h"
#include "problem.h"

_Static_assert((int)GT_BIAS_NONE == (int)BIAS_NONE && (int)GT_BIAS_COLUMN == (int)BIAS_COLUMN &&
                   (int)GT_BIAS_ROW == (int)BIAS_ROW && (int)GT_ACTIVATION_NONE == (int)ACTIVATION_NONE &&
                   (int)GT_ACTIVATION_RELU == (int)ACTIVATION_RELU &&
                   (int)GT_ACTIVATION_GELU == (int)ACTIVATION_GELU,
               "the caller's epilogues are ours");

/* That a problem may have. */
#define PUBLIC_FLAGS                                                                                         \
    ((uint32_t)(GT_COLUMN_MAJOR | GT_SCALARS_ON_DEVICE | GT_ADDS_TO_C | GT_OUT_OF_PLACE |                    \
                GT_POINTER_ARRAYS | GT_PREPARED_A | GT_PREPARED_B | GT_BATCH_INVARIANT))

/* A code of epilogue.h, from a problem whose flags are known. Errors: E_INPUT. */
static inline enum status public_epilogue(const struct gt_problem *from, int *epilogue)
{
    if (from->bias < GT_BIAS_NONE || from->bias > GT_BIAS_ROW)
        return fail(E_INPUT, "bias %d is unknown: 0 is GT_BIAS_NONE, 1 is GT_BIAS_COLUMN, 2 is GT_BIAS_ROW",
                    (int)from->bias);
    if (from->activation < GT_ACTIVATION_NONE || from->activation > GT_ACTIVATION_GELU)
        return fail(E_INPUT,
                    "activation %d is unknown: 0 is GT_ACTIVATION_NONE, 1 is GT_ACTIVATION_RELU, 2 is "
                    "GT_ACTIVATION_GELU",
                    (int)from->activation);
    if (from->stride_bias != 0 && from->bias == GT_BIAS_NONE)
        return fail(E_INPUT, "stride_bias is %lld, but the problem has no bias",
                    (long long)from->stride_bias);
    *epilogue = epilogue_code((enum epilogue_bias)from->bias, (enum epilogue_activation)from->activation,
                              from->flags & GT_OUT_OF_PLACE);
    return OK;
}

/* The operands of a call. swap: A and B change places, as the problem is by columns. */
static inline void public_addresses(const struct gt_call *call, bool swap, unsigned long long at[OPERANDS])
{
    at[OPERAND_A] = (uintptr_t)(swap ? call->b : call->a);
    at[OPERAND_B] = (uintptr_t)(swap ? call->a : call->b);
    at[OPERAND_C] = (uintptr_t)call->c;
    at[OPERAND_SOURCE] = (uintptr_t)call->source;
    at[OPERAND_BIAS] = (uintptr_t)call->bias;
}

/* Row-major, with every member set except alignment, and of the flags only GT_OUT_OF_PLACE,
 * GT_POINTER_ARRAYS, GT_PREPARED_A or GT_PREPARED_B, and GT_BATCH_INVARIANT. */
static inline struct gt_problem public_problem(const struct problem *p)
{
    struct gt_problem said = gt_problem_make(p->m, p->n, p->k);
    said.flags = epilogue_out_of_place(p->epilogue) ? GT_OUT_OF_PLACE : 0;
    said.type = (int32_t)p->type;
    said.trans_a = p->trans_a, said.trans_b = p->trans_b;
    said.lda = p->lda, said.ldb = p->ldb, said.ldc = p->ldc;
    said.batch = p->batch;
    if (p->prepared) said.flags |= p->prepared == PREPARED_A ? GT_PREPARED_A : GT_PREPARED_B;
    if (p->invariant) said.flags |= GT_BATCH_INVARIANT;
    if (p->pointers) said.flags |= GT_POINTER_ARRAYS;
    else said.stride_a = p->stride_a, said.stride_b = p->stride_b, said.stride_c = p->stride_c;
    said.bias = (int32_t)epilogue_bias(p->epilogue);
    said.activation = (int32_t)epilogue_activation(p->epilogue);
    said.stride_bias = p->stride_bias;
    return said;
}

#endif
