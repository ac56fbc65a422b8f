/* lt_matmul.h — cublasLtMatmul, where it is asked for nothing but D = alpha op(A) op(B) + beta D in FP32. */
#ifndef GT_LT_MATMUL_H
#define GT_LT_MATMUL_H

#include "engine.h"

/* As dropin_take. */
bool lt_matmul_take(const struct matmul *matmul, struct turn *turn, int *result);

#endif
