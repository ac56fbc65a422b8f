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

enum { BLAS_VERSION_MAX = 32 };

/* The functions of the library of that major version that the program has loaded; NULL: none yet. For
 * BLAS_ANY the library that the loader would have chosen for the caller, else the newest. Never loads one.
 * Thread-safe. */
const struct real_blas *real_blas_find(enum blas_major major);
const struct real_lt *real_lt_find(enum blas_major major);

/* Of which major version the function `name` is that dlsym(library, name) found at an address, and the
 * version of the drop-in's entry for it. BLAS_ANY: its library names none. */
enum blas_major real_blas_major(void *library, const char *name, const void *address,
                                char version[BLAS_VERSION_MAX]);

/* One of the functions that real_blas or real_lt has found, by its name; NULL: it has none of this name. */
void *real_blas_address(enum blas_major major, const char *name);

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
