/* real_blas.h — finds the cuBLAS and cublasLt that the caller meant.
 *
 * A process may contain several major versions of cuBLAS, whose handles are not interchangeable. The version
 * of their symbols is the library's name, so a caller's reference tells which major version it was linked
 * with.
 */
#ifndef GT_REAL_BLAS_H
#define GT_REAL_BLAS_H

#include "real_api.h"
#include <stdatomic.h>

/* The major version that a caller was linked with. BLAS_ANY: its reference does not say. */
enum blas_major { BLAS_ANY, BLAS_11, BLAS_12, BLAS_13, BLAS_MAJORS };

/* The functions of the library of that major version that the program has loaded; NULL: none yet. For
 * BLAS_ANY the library that the loader would have chosen for the caller, else the newest. Never loads one.
 * Thread-safe. */
const struct real_blas *real_blas_find(enum blas_major major);
const struct real_lt *real_lt_find(enum blas_major major);

extern _Atomic(const struct real_blas *) real_blas_found[BLAS_MAJORS];
extern _Atomic(const struct real_lt *) real_lt_found[BLAS_MAJORS];

static inline const struct real_blas *real_blas(enum blas_major major)
{
    const struct real_blas *found = atomic_load_explicit(&real_blas_found[major], memory_order_acquire);
    return found ? found : real_blas_find(major);
}

static inline const struct real_lt *real_lt(enum blas_major major)
{
    const struct real_lt *found = atomic_load_explicit(&real_lt_found[major], memory_order_acquire);
    return found ? found : real_lt_find(major);
}

#endif
