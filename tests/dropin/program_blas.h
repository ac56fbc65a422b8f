/* program_blas.h — the cuBLAS that a test's program is linked with, made of host memory: what it does, and
 * what it remembers of its calls.
 */
#ifndef GT_PROGRAM_BLAS_H
#define GT_PROGRAM_BLAS_H

#include "cublas_abi.h"

int cublasCreate_v2(blas_handle *handle);
int cublasGetStream_v2(blas_handle handle, CUstream *stream);
int cublasSetPointerMode_v2(blas_handle handle, int mode);
int cublasGetPointerMode_v2(blas_handle handle, int *mode);
int cublasSetMathMode(blas_handle handle, int mode);
int cublasGetMathMode(blas_handle handle, int *mode);
int cublasSetSmCountTarget(blas_handle handle, int count);
int cublasGetSmCountTarget(blas_handle handle, int *count);

int cublasLtCreate(lt_handle *handle);
int cublasLtDestroy(lt_handle handle);

int cublasLtMatmulDescInit_internal(lt_desc desc, size_t bytes, int compute, int scale);
int cublasLtMatmulDescCreate(lt_desc *desc, int compute, int scale);
int cublasLtMatmulDescSetAttribute(lt_desc desc, int what, const void *value, size_t bytes);
int cublasLtMatmulDescGetAttribute(lt_desc desc, int what, void *value, size_t room, size_t *written);
int cublasLtMatmulDescDestroy(lt_desc desc);
int cublasLtMatrixLayoutInit_internal(lt_layout layout, size_t bytes, int type, uint64_t rows,
                                      uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutCreate(lt_layout *layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(lt_layout layout, int what, const void *value, size_t bytes);
int cublasLtMatrixLayoutGetAttribute(lt_layout layout, int what, void *value, size_t room, size_t *written);
int cublasLtMatrixLayoutDestroy(lt_layout layout);
size_t cublasLtGetVersion(void);
int cublasLtMatmulPreferenceCreate(void **preference);
int cublasLtMatmulPreferenceSetAttribute(void *preference, int what, const void *value, size_t bytes);
int cublasLtMatmulPreferenceDestroy(void *preference);
int cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_desc desc, lt_layout layout_a, lt_layout layout_b,
                                   lt_layout layout_c, lt_layout layout_d, void *preference, int room,
                                   struct lt_heuristic *results, int *count);
int cublasLtMatmulAlgoInit(lt_handle handle, int compute, int scale, int type_a, int type_b, int type_c,
                           int type_d, int id, struct lt_algorithm *algorithm);
int cublasLtMatmulAlgoConfigGetAttribute(const struct lt_algorithm *algorithm, int what, void *value,
                                         size_t bytes, size_t *written);
int cublasLtMatmulAlgoConfigSetAttribute(struct lt_algorithm *algorithm, int what, const void *value,
                                         size_t bytes);

/* The one algorithm there is: its first word, and the workspace it takes. */
enum { PROGRAM_LT_ALGORITHM = 7, PROGRAM_LT_WORKSPACE = 1024 };

/* Of cublasLtGetVersion. */
enum { PROGRAM_LT_RELEASE = 130100 };

/* Its second word, if it takes no epilogue. */
enum { PROGRAM_LT_NO_EPILOGUE = 99 };

/* The first bytes of a descriptor. */
enum { PROGRAM_LT_VERSION = 6 };

/* An attribute of descriptors and layouts that no version has yet, of 4 bytes, and its default. */
enum { PROGRAM_LT_FUTURE = 60, PROGRAM_LT_FUTURE_DEFAULT = 7 };

/* Calls that arrived here. nested: those of cublasLtMatmul that cublasGemmEx makes, as the real one does. */
extern int program_blas_calls, program_lt_calls, program_nested_calls;
extern int program_lt_questions; /* about layouts and descriptors */
extern int program_lt_refuses;   /* the status of calls with an algorithm; 0: they are computed */
extern _Thread_local struct program_lt_last { /* the last product of this thread */
    lt_handle handle;
    lt_desc desc;
    const void *workspace;
    uint64_t algorithm[2]; /* its first words; 0: none was said */
} program_lt_last;
extern int program_blas_idle;  /* 1: calls are answered without computing */
extern int program_blas_keeps; /* 1: the next handle gets address and stream of one destroyed */
extern _Thread_local struct program_blas_last { /* of this thread */
    int op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc, batch;
    const void *alpha, *a, *b, *beta, *c;
} program_blas_last;

#endif
