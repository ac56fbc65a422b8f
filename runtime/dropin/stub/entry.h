/* entry.h — how a cuBLAS function is exported. The entries are compiled once for each major version of cuBLAS
 * (ENTRY_MAJOR: 11, 12, 13), which is then the version of their symbols, so that a caller's reference is
 * bound to the entry of its own version; and once for callers whose reference has no version (0).
 */
#ifndef GT_ENTRY_H
#define GT_ENTRY_H

#include "real_blas.h"
#include "stub.h"

#define ENTRY_TEXT_OF(x)           #x
#define ENTRY_TEXT(x)              ENTRY_TEXT_OF(x)
#define ENTRY_NAME_OF(name, major) entry_##major##_##name
#define ENTRY_NAME(name, major)    ENTRY_NAME_OF(name, major)

#if ENTRY_MAJOR
#define ENTRY_CALLER           (BLAS_11 + ENTRY_MAJOR - 11)
#define ENTRY_VERSION(library) "@" library ".so." ENTRY_TEXT(ENTRY_MAJOR)
#else
#define ENTRY_CALLER           BLAS_ANY
#define ENTRY_VERSION(library) "@@gemmtune_cublas"
#endif

/* The name of an entry's definition. */
#define ENTRY(name) ENTRY_NAME(name, ENTRY_MAJOR)

/* Precedes an entry's definition. */
#define EXPORT(library, name)                                                                                \
    __typeof__(name) ENTRY(name);                                                                            \
    __asm__(".symver " ENTRY_TEXT(ENTRY(name)) ", " #name ENTRY_VERSION(library))

#endif
