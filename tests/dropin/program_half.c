#include "program_half.h"

#include <dlfcn.h>

static int multiply(const float *a, const float *b, float *c, CUstream stream)
{
    static const float one = 1, zero = 0;
    blas_handle handle;
    int status = cublasCreate_v2(&handle);
    if (!status) status = cublasSetStream_v2(handle, stream);
    if (!status) status = cublasSgemm_v2(handle, 0, 0, 24, 16, 32, &one, b, 24, a, 32, &zero, c, 24);
    const int destroyed = cublasDestroy_v2(handle);
    return status ? status : destroyed;
}

static int multiply_lt(const float *a, const float *b, float *c, CUstream stream)
{
    static const float one = 1, zero = 0;
    lt_handle handle;
    lt_desc desc;
    lt_layout of_a, of_b, of_c;
    int status = cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&of_a, BLAS_R_32F, 24, 32, 24);
    cublasLtMatrixLayoutCreate(&of_b, BLAS_R_32F, 32, 16, 32);
    cublasLtMatrixLayoutCreate(&of_c, BLAS_R_32F, 24, 16, 24);
    if (!status)
        status = cublasLtMatmul(handle, desc, &one, b, of_a, a, of_b, &zero, c, of_c, c, of_c, NULL, NULL, 0,
                                stream);
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(of_a);
    cublasLtMatrixLayoutDestroy(of_b);
    cublasLtMatrixLayoutDestroy(of_c);
    cublasLtDestroy(handle);
    return status;
}

void half_run(const float *a, const float *b, float *c, CUstream stream, struct half_calls *calls)
{
    program_blas_calls = program_lt_calls = 0;
    calls->status = multiply(a, b, c, stream);
    calls->lt_status = multiply_lt(a, b, c, stream);
    calls->arrived = program_blas_calls;
    calls->lt_arrived = program_lt_calls;
}

void *half_itself(void)
{
    void *volatile found =
        dlsym(RTLD_DEFAULT, "half_run"); /* not as a jump: the return address tells who asks */
    return found;
}
