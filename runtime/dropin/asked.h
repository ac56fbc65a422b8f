/* asked.h — one intercepted call in cuBLAS's terms: column-major, with the caller's sizes and pointers. */
#ifndef GT_ASKED_H
#define GT_ASKED_H

#include "real_api.h"

struct route;

struct asked {
    const char *function; /* "cublasSgemm", for people */
    bool op_a, op_b;      /* transposed */
    int64_t m, n, k, lda, ldb, ldc, batch;
    int64_t stride_a, stride_b, stride_c;
    const void *alpha, *a, *b, *beta;
    void *c;
    const struct real_blas *real; /* the handle's */
    blas_handle handle;           /* has stream, pointer mode and math mode; NULL: they are the ones below */
    CUstream stream;
    bool scalars_on_device;
    bool (*is_plain)(const void *); /* what takes long to find out and is asked last; NULL: it is */
    const void *is_plain_of;
    _Atomic(struct route *) *last; /* the route that these sizes had before; NULL: nobody remembers it */
    void *workspace;               /* the program's own, for this call; NULL: it gave none */
    size_t workspace_bytes;
};

#endif
