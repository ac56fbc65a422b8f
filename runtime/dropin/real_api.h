/* real_api.h — the functions that the drop-in calls in the cuBLAS and cublasLt that the program loaded. */
#ifndef GT_REAL_API_H
#define GT_REAL_API_H

#include "cublas_abi.h"

/* The functions by name; NULL if this version does not have one. */
struct real_blas {
    __typeof__(cublasSgemm_v2) *Sgemm;
    __typeof__(cublasSgemm_v2_64) *Sgemm64;
    __typeof__(cublasSgemmStridedBatched) *SgemmStrided;
    __typeof__(cublasSgemmStridedBatched_64) *SgemmStrided64;
    __typeof__(cublasSgemmBatched) *SgemmBatched;
    __typeof__(cublasSgemmBatched_64) *SgemmBatched64;
    __typeof__(cublasSgemmEx) *SgemmEx;
    __typeof__(cublasSgemmEx_64) *SgemmEx64;
    __typeof__(cublasGemmEx) *GemmEx;
    __typeof__(cublasGemmEx_64) *GemmEx64;
    __typeof__(cublasGemmStridedBatchedEx) *GemmStridedEx;
    __typeof__(cublasGemmStridedBatchedEx_64) *GemmStridedEx64;
    __typeof__(cublasGemmBatchedEx) *GemmBatchedEx;
    __typeof__(cublasGemmBatchedEx_64) *GemmBatchedEx64;
    __typeof__(cublasSetStream_v2) *SetStream;
    __typeof__(cublasSetWorkspace_v2) *SetWorkspace;
    __typeof__(cublasDestroy_v2) *Destroy;
    int (*GetStream)(blas_handle, CUstream *);
    int (*GetPointerMode)(blas_handle, int *);
    int (*GetMathMode)(blas_handle, int *);
    int (*GetSmCountTarget)(blas_handle, int *);
};

struct real_lt {
    __typeof__(cublasLtMatmul) *Matmul;
    int (*DescInit)(lt_desc, size_t bytes, int compute, int scale);
    int (*DescSet)(lt_desc, int what, const void *value, size_t bytes);
    int (*DescGet)(lt_desc, int what, void *value, size_t room, size_t *written);
    int (*LayoutInit)(lt_layout, size_t bytes, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*LayoutGet)(lt_layout, int what, void *value, size_t room, size_t *written);
    __typeof__(cublasLtMatmulAlgoGetIds) *AlgoGetIds;
    __typeof__(cublasLtMatmulAlgoCheck) *AlgoCheck;
};

#endif
