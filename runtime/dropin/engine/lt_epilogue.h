/* lt_epilogue.h — the epilogue of a call of cublasLtMatmul, and the attributes of its descriptor. */
#ifndef GT_LT_EPILOGUE_H
#define GT_LT_EPILOGUE_H

#include "engine.h"

/* An attribute of 4 bytes; -1: this version does not know it. */
static inline int32_t lt_desc_get(const struct matmul *x, int what)
{
    int32_t value = -1;
    size_t written;
    return x->real->DescGet(x->desc, what, &value, sizeof value, &written) ? -1 : value;
}

/* An attribute that is a pointer: this version does not know it, or it is not set. */
static inline bool lt_desc_is_null(const struct matmul *x, int what)
{
    const void *pointer = NULL;
    size_t written;
    return x->real->DescGet(x->desc, what, &pointer, sizeof pointer, &written) || !pointer;
}

/* value: that of LT_DESC_EPILOGUE. reads_c: beta may be other than 0. by_rows: D is in row order. request:
 * has the type and the sizes; epilogue, bias and source are set. NULL: done; else why no kernel computes such
 * a call. */
struct refusal *lt_epilogue_read(const struct matmul *x, int value, bool reads_c, bool by_rows,
                                 struct blas_request *request);

#endif
