/* public_problem.h — converts an internal problem to the struct that callers of the library fill in:
 * row-major, with every member set except flags and alignment. arguments.h does the reverse, with checks.
 */
#ifndef GT_PUBLIC_PROBLEM_H
#define GT_PUBLIC_PROBLEM_H

#include "gemmtune.h"
#include "problem.h"

static inline struct gt_problem public_problem(const struct problem *p)
{
    struct gt_problem said = gt_problem_make(p->m, p->n, p->k);
    said.type = p->type == GEMM_TF32 ? GT_TF32 : GT_SGEMM;
    said.trans_a = p->trans_a, said.trans_b = p->trans_b;
    said.lda = p->lda, said.ldb = p->ldb, said.ldc = p->ldc;
    said.batch = p->batch;
    said.stride_a = p->stride_a, said.stride_b = p->stride_b, said.stride_c = p->stride_c;
    return said;
}

#endif
