/* program_blas_internal.h — what cuBLAS (program_blas.c) and cublasLt (program_lt.c) of a test's program
 * share. A process may have several such libraries, and each uses its own.
 */
#ifndef GT_PROGRAM_BLAS_INTERNAL_H
#define GT_PROGRAM_BLAS_INTERNAL_H

#include "program_blas.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7 };

struct program_strides {
    long long a, b, c;
};

/* From any thread, and no order between them (fake_stream.h). */
static inline void program_blas_count(int *calls)
{
    __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

#pragma GCC visibility push(hidden)

/* Above 0 while cuBLAS calls cublasLt. */
extern _Thread_local int program_blas_nesting;

/* A product of column-major matrices, by the definition. */
int program_blas_run(int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                     int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc,
                     int64_t batch, struct program_strides step);

#pragma GCC visibility pop

#endif
