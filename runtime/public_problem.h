/* public_problem.h — converts an internal problem to the struct that callers of the library fill in:
 * row-major, with every member set except alignment, and of the flags only GT_OUT_OF_PLACE,
 * GT_POINTER_ARRAYS, GT_PREPARED_A or GT_PREPARED_B, and GT_BATCH_INVARIANT. arguments.h does the reverse,
 * with checks.
 */
#ifndef GT_PUBLIC_PROBLEM_H
#define GT_PUBLIC_PROBLEM_H

#include "gemmtune.h"
#include "problem.h"

static inline struct gt_problem public_problem(const struct problem *p)
{
    static const int32_t biases[] = {
        [BIAS_NONE] = GT_BIAS_NONE, [BIAS_COLUMN] = GT_BIAS_COLUMN, [BIAS_ROW] = GT_BIAS_ROW};
    static const int32_t activations[] = {[ACTIVATION_NONE] = GT_ACTIVATION_NONE,
                                          [ACTIVATION_RELU] = GT_ACTIVATION_RELU,
                                          [ACTIVATION_GELU] = GT_ACTIVATION_GELU};
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
    said.bias = biases[epilogue_bias(p->epilogue)];
    said.activation = activations[epilogue_activation(p->epilogue)];
    said.stride_bias = p->stride_bias;
    return said;
}

#endif
