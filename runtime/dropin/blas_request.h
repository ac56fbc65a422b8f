/* blas_request.h — one intercepted call in cuBLAS's terms: column-major, with the caller's sizes and
 * pointers. */
#ifndef GT_BLAS_REQUEST_H
#define GT_BLAS_REQUEST_H

#include "gemm_type.h"
#include "operand.h"
#include "real_api.h"

struct calls;
struct gpu_context;
struct matmul;
struct record;

struct blas_request {
    const char *function; /* "cublasSgemm", for messages */
    enum gemm_type type;  /* GEMM_TYPE_DEFAULT: the math mode of the handle may allow TF32 */
    bool pedantic;        /* unless the compute type forbids that */
    bool op_a, op_b;      /* transposed */
    int64_t m, n, k, lda, ldb, ldc, batch;
    int64_t stride_a, stride_b, stride_c;
    const void *alpha, *a, *b, *beta;
    void *c;
    bool pointers;             /* a, b and c are arrays of the addresses of batch items, in device memory */
    int epilogue;              /* a code of epilogue.h, in row-major terms; 0: none */
    const void *bias, *source; /* NULL: none; source: C that is read, if the result goes elsewhere */
    int64_t stride_bias;       /* elements; 0: one bias for all */
    const struct real_blas *real; /* of the handle's library */
    blas_handle handle;           /* has stream, pointer mode and math mode; NULL: they are below */
    CUstream stream;
    bool scalars_on_device;
    const char *(*why_unusual)(
        const void *); /* a slow check, made last; NULL: none is needed, or it passed */
    const void *why_unusual_of;
    const struct matmul
        *matmul;         /* the call itself, if cublasLt may make it with an algorithm of ours; or NULL */
    struct calls *calls; /* of the thread; NULL: what answers such a call is not kept */
    unsigned changes;    /* of what computes calls, before this was asked (dropin_handle_changes) */
    bool repeated;       /* the same kernel has computed such a call of this thread */
    struct gpu_context *context;    /* the current one; NULL: not known yet */
    _Atomic(struct record *) *last; /* the record used last for these sizes; NULL: not cached */
    void *workspace;                /* the program's own, for this call; NULL: none */
    size_t workspace_bytes;
};

/* By rows: A and B change places (record.c). The source is C where the call names none. */
static inline void blas_request_addresses(const struct blas_request *x, unsigned long long at[OPERANDS])
{
    at[OPERAND_A] = (uintptr_t)x->b;
    at[OPERAND_B] = (uintptr_t)x->a;
    at[OPERAND_C] = (uintptr_t)x->c;
    at[OPERAND_SOURCE] = (uintptr_t)(x->source ? x->source : x->c);
    at[OPERAND_BIAS] = (uintptr_t)x->bias;
}

#endif
