/* entry_lt.c — the function of cublasLt that this library replaces. */
#include "entry.h"

EXPORT("libcublasLt", cublasLtMatmul);
int ENTRY(cublasLtMatmul)(lt_handle handle, lt_desc desc, const void *alpha, const void *a,
                          lt_layout layout_a, const void *b, lt_layout layout_b, const void *beta,
                          const void *c, lt_layout layout_c, void *d, lt_layout layout_d,
                          const void *algorithm, void *workspace, size_t workspace_bytes, CUstream stream)
{
    const struct real_lt *real = real_lt(ENTRY_CALLER);
    const struct matmul matmul = {real,     handle,    desc,      alpha,           a,        b,
                                  beta,     c,         d,         layout_a,        layout_b, layout_c,
                                  layout_d, algorithm, workspace, workspace_bytes, stream};
    struct intercept intercept;
    int result = BLAS_NOT_INITIALIZED;
    if (!real) return result;
    if (!stub_enter(&intercept) || !stub_take_matmul(&matmul, &intercept, &result))
        result = real->Matmul(handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d,
                              algorithm, workspace, workspace_bytes, stream);
    stub_leave(&intercept);
    return result;
}
