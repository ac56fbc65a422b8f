/* lt_matmul.h — recognises a cublasLtMatmul that computes only D = alpha op(A) op(B) + beta D in FP32. */
#ifndef GT_LT_MATMUL_H
#define GT_LT_MATMUL_H

#include "engine.h"

/* As dropin_take. */
bool lt_matmul_take(const struct matmul *matmul, struct intercept *intercept, int *result);

#endif
