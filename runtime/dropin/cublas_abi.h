/* cublas_abi.h — the entry points of cuBLAS and cublasLt that the drop-in intercepts, and the few values that
 * it needs. Written out, as in blas.h: column-major, statuses and enumerations as int. */
#ifndef GT_CUBLAS_ABI_H
#define GT_CUBLAS_ABI_H

#include "blas.h"

enum { BLAS_NOT_INITIALIZED = 1, BLAS_EXECUTION_FAILED = 13 };
enum { BLAS_OP_CONJUGATE_T = 2 }; /* for real numbers, the same as BLAS_OP_T */
/* The mode proper; CUBLAS_TENSOR_OP_MATH, of before CUDA 11; the flag that sums that are split stay as wide
 * as the others. */
enum { BLAS_MATH_MODE_MASK = 0xf, BLAS_TENSOR_MATH = 1 };

static inline bool is_op(int op)
{
    return op == BLAS_OP_N || op == BLAS_OP_T || op == BLAS_OP_CONJUGATE_T;
}

int cublasSgemm_v2(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
int cublasSgemm_v2_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                      const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                      const float *beta, float *c, int64_t ldc);
int cublasSgemmStridedBatched(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                              const float *a, int lda, long long stride_a, const float *b, int ldb,
                              long long stride_b, const float *beta, float *c, int ldc, long long stride_c,
                              int batch);
int cublasSgemmStridedBatched_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *a, int64_t lda, long long stride_a,
                                 const float *b, int64_t ldb, long long stride_b, const float *beta, float *c,
                                 int64_t ldc, long long stride_c, int64_t batch);
int cublasSgemmBatched(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                       const float *const a[], int lda, const float *const b[], int ldb, const float *beta,
                       float *const c[], int ldc, int batch);
int cublasSgemmBatched_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                          const float *alpha, const float *const a[], int64_t lda, const float *const b[],
                          int64_t ldb, const float *beta, float *const c[], int64_t ldc, int64_t batch);
int cublasSgemmEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                  const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const float *beta,
                  void *c, int type_c, int ldc);
int cublasSgemmEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                     const float *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b,
                     int64_t ldb, const float *beta, void *c, int type_c, int64_t ldc);
int cublasGemmEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                 void *c, int type_c, int ldc, int compute, int algorithm);
int cublasGemmEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                    const void *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b,
                    int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute,
                    int algorithm);
int cublasGemmStridedBatchedEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lda, long long stride_a, const void *b,
                               int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                               int ldc, long long stride_c, int batch, int compute, int algorithm);
int cublasGemmStridedBatchedEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                  const void *alpha, const void *a, int type_a, int64_t lda,
                                  long long stride_a, const void *b, int type_b, int64_t ldb,
                                  long long stride_b, const void *beta, void *c, int type_c, int64_t ldc,
                                  long long stride_c, int64_t batch, int compute, int algorithm);

int cublasGemmBatchedEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                        const void *const a[], int type_a, int lda, const void *const b[], int type_b,
                        int ldb, const void *beta, void *const c[], int type_c, int ldc, int batch,
                        int compute, int algorithm);
int cublasGemmBatchedEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                           const void *alpha, const void *const a[], int type_a, int64_t lda,
                           const void *const b[], int type_b, int64_t ldb, const void *beta, void *const c[],
                           int type_c, int64_t ldc, int64_t batch, int compute, int algorithm);

int cublasSetStream_v2(blas_handle handle, CUstream stream);
int cublasSetWorkspace_v2(blas_handle handle, void *workspace, size_t bytes);
int cublasDestroy_v2(blas_handle handle);

/* ---- cublasLt ---- */

typedef struct cublasLtContext *lt_handle;
typedef struct lt_desc *lt_desc; /* of a product */
typedef const struct lt_layout *lt_layout;

/* The content of a layout, in every version of cublasLt so far: 64 bytes without a pointer. Equal bytes mean
 * equal matrices; their meaning is queried, not read. */
struct lt_layout {
    uint64_t data[8];
};

enum {
    LT_DESC_COMPUTE_TYPE = 0,
    LT_DESC_SCALE_TYPE = 1,
    LT_DESC_POINTER_MODE = 2,
    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_TRANSC = 5,
    LT_DESC_FILL_MODE = 6,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_DESC_BIAS_BATCH_STRIDE = 10,
    LT_DESC_SM_COUNT_TARGET = 15,
    LT_DESC_A_SCALE_POINTER = 17,
    LT_DESC_D_SCALE_POINTER = 20,
    LT_DESC_BIAS_DATA_TYPE = 26
};
enum {
    LT_LAYOUT_TYPE = 0,
    LT_LAYOUT_ORDER = 1,
    LT_LAYOUT_ROWS = 2,
    LT_LAYOUT_COLS = 3,
    LT_LAYOUT_LD = 4,
    LT_LAYOUT_BATCH_COUNT = 5,
    LT_LAYOUT_STRIDE = 6,
    LT_LAYOUT_PLANE_OFFSET = 7,
    LT_LAYOUT_BATCH_MODE = 8 /* since 13; 0: strided */
};
enum { LT_ORDER_COL = 0, LT_ORDER_ROW = 1, LT_FILL_FULL = 2 };

/* Epilogues are sums of these, or the default. */
enum {
    LT_EPILOGUE_DEFAULT = 1,
    LT_EPILOGUE_RELU = 2,
    LT_EPILOGUE_BIAS = 4, /* a value for each row of D */
    LT_EPILOGUE_GELU = 32,
    LT_EPILOGUE_AUX = 128,              /* stores what a gradient needs, or reads it */
    LT_EPILOGUE_GRADIENTS = 8 | 16 | 64 /* of ReLU and GELU, and of the bias */
                            | 256 | 512
};

/* How a product is computed: bytes without a pointer, and whether the algorithm is valid. */
struct lt_algorithm {
    uint64_t data[8];
};
struct lt_heuristic {
    struct lt_algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

int cublasLtMatmulAlgoGetIds(lt_handle handle, int compute, int scale, int type_a, int type_b, int type_c,
                             int type_d, int room, int ids[], int *count);
int cublasLtMatmulAlgoCheck(lt_handle handle, lt_desc desc, lt_layout layout_a, lt_layout layout_b,
                            lt_layout layout_c, lt_layout layout_d, const struct lt_algorithm *algorithm,
                            struct lt_heuristic *result);

int cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a, lt_layout layout_a,
                   const void *b, lt_layout layout_b, const void *beta, const void *c, lt_layout layout_c,
                   void *d, lt_layout layout_d, const void *algorithm, void *workspace,
                   size_t workspace_bytes, CUstream stream);

#endif
