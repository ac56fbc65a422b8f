/* program_half.h — a part of a program, linked with one major of cuBLAS. */
#ifndef GT_PROGRAM_HALF_H
#define GT_PROGRAM_HALF_H

#include "program_blas.h"

/* Row-major C[16,24] = A[16,32] B[32,24] with a handle of its own, in a stream; then by cublasLt. */
struct half_calls {
    int status, lt_status;
    int arrived, lt_arrived; /* calls at the cuBLAS that it was linked with */
};

void half_run(const float *a, const float *b, float *c, CUstream stream, struct half_calls *calls);

/* half_run, as dlsym finds it by default: it depends on who asks. */
void *half_itself(void);

#endif
