/* blas.h — the few entry points of cuBLAS that are used, opened at run time.
 *
 * Prototypes and values are written out: cuBLAS's ABI has kept them since CUDA 6, and a toolkit for compiling
 * kernels may lack the header.
 */
#ifndef GT_BLAS_H
#define GT_BLAS_H

#include "problem.h"
#include <cuda.h>
#include <stdint.h>

typedef struct cublasContext *blas_handle;

#define BLAS_BATCH_SLICE 65535 /* items per call; a longer batch takes several calls */

enum { BLAS_SUCCESS = 0, BLAS_NOT_SUPPORTED = 15 };
enum { BLAS_OP_N = 0, BLAS_OP_T = 1 };
enum { BLAS_HOST_SCALARS = 0, BLAS_DEVICE_SCALARS = 1 };
enum { BLAS_DEFAULT_MATH = 0, BLAS_PEDANTIC_MATH = 2, BLAS_TF32_MATH = 3, BLAS_BF16X9_MATH = 4 };

/* The names of cuBLAS without prefix and version; column-major. */
struct blas_api {
    int (*Create)(blas_handle *);
    int (*Destroy)(blas_handle);
    int (*GetProperty)(int, int *);
    int (*SetStream)(blas_handle, CUstream); /* resets the workspace */
    int (*SetWorkspace)(blas_handle, void *, size_t);
    int (*SetMathMode)(blas_handle, int);
    int (*SetPointerMode)(blas_handle, int);
    int (*Sgemm)(blas_handle, int, int, int, int, int, const float *, const float *, int, const float *, int,
                 const float *, float *, int);
    int (*SgemmBatched)(blas_handle, int, int, int, int, int, const float *, const float *, int, long long,
                        const float *, int, long long, const float *, float *, int, long long, int);
    int (*SgemmPointers)(blas_handle, int, int, int, int, int, const float *, const float *const *, int,
                         const float *const *, int, const float *, float *const *, int, int);
    /* Since CUDA 12; NULL in earlier versions. */
    int (*SgemmPointers64)(blas_handle, int, int, int64_t, int64_t, int64_t, const float *,
                           const float *const *, int64_t, const float *const *, int64_t, const float *,
                           float *const *, int64_t, int64_t);
    int (*SgemmBatched64)(blas_handle, int, int, int64_t, int64_t, int64_t, const float *, const float *,
                          int64_t, long long, const float *, int64_t, long long, const float *, float *,
                          int64_t, long long, int64_t);
    /* Any type of elements; NULL in a library that lacks them. */
    int (*GemmEx)(blas_handle, int, int, int, int, int, const void *, const void *, int, int, const void *,
                  int, int, const void *, void *, int, int, int compute, int algorithm);
    int (*GemmBatchedEx)(blas_handle, int, int, int, int, int, const void *, const void *, int, int,
                         long long, const void *, int, int, long long, const void *, void *, int, int,
                         long long, int batch, int compute, int algorithm);
    int (*GemmPointersEx)(blas_handle, int, int, int, int, int, const void *, const void *const *, int, int,
                          const void *const *, int, int, const void *, void *const *, int, int, int batch,
                          int compute, int algorithm);
    int (*SetEmulationStrategy)(blas_handle, int); /* since 12.9 */
};

extern struct blas_api blas; /* valid after blas_load() answered OK */

/* Open cuBLAS: GEMMTUNE_LIBCUBLAS, the toolkit this program was built with, then the usual names. Idempotent,
 * from any thread. version: "13.1.0". E_ABSENT if there is none, with the places that were searched. */
enum status blas_load(char version[16]);

/* False if the cuBLAS that was loaded is too old for sizes or leading dimensions of this problem, or for its
 * type. */
bool blas_takes(const struct problem *problem);

/* True if the environment would replace FP32 by something else. Strict FP32 then needs the pedantic mode,
 * which uses neither TF32 nor emulation and is sometimes slower. */
bool blas_must_be_pedantic(void);

/* Enqueues C = alpha op(A) op(B) + beta C on the handle's stream; with pointers a, b and c are the arrays of
 * addresses. alpha and beta are floats, passed as the handle's pointer mode requires; those in the problem
 * are ignored. FP32 and TF32 are computed by cublasSgemm, all else by cublasGemmEx. Returns cuBLAS's
 * status. */
int blas_run(blas_handle handle, const struct problem *problem, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
             const float *alpha, const float *beta);

/* The same by cublasGemmEx, in a cublasComputeType_t by a cublasGemmAlgo_t. */
enum { BLAS_ALGORITHM_DEFAULT = -1 };
int blas_run_ex(blas_handle handle, const struct problem *problem, CUdeviceptr a, CUdeviceptr b,
                CUdeviceptr c, const float *alpha, const float *beta, int compute, int algorithm);

#endif
