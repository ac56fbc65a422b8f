#include "blas.h"

#include "env.h"
#include "library.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct blas_api blas;

enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };

static const struct library_symbol entries[] = {
    {"cublasCreate_v2", &blas.Create},
    {"cublasDestroy_v2", &blas.Destroy},
    {"cublasGetProperty", &blas.GetProperty},
    {"cublasSetStream_v2", &blas.SetStream},
    {"cublasSetWorkspace_v2", &blas.SetWorkspace},
    {"cublasSetMathMode", &blas.SetMathMode},
    {"cublasSetPointerMode_v2", &blas.SetPointerMode},
    {"cublasSgemm_v2", &blas.Sgemm},
    {"cublasSgemmStridedBatched", &blas.SgemmBatched},
    {"cublasSgemmBatched", &blas.SgemmPointers},
};

/* All or none. */
static const struct library_symbol ex_entries[] = {
    {"cublasGemmEx", &blas.GemmEx},
    {"cublasGemmStridedBatchedEx", &blas.GemmBatchedEx},
    {"cublasGemmBatchedEx", &blas.GemmPointersEx},
};

static enum status load(char version[16])
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    const struct library_names library = {"GEMMTUNE_LIBCUBLAS", names, 3, true, true};
    char why[LIBRARY_WHY_MAX];
    void *handle = library_open(&library, why);
    if (!handle)
        return fail(E_ABSENT,
                    "no cuBLAS (%s): install the CUDA toolkit's cuBLAS or the wheel nvidia-cublas, or set "
                    "GEMMTUNE_LIBCUBLAS to the library's path",
                    why);
    const char *missing = library_bind(handle, entries, sizeof entries / sizeof *entries);
    if (missing) return fail(E_ABSENT, "the cuBLAS found lacks %s: CUDA 12 or later is needed", missing);
    const struct library_symbol large = {"cublasSgemmStridedBatched_64", &blas.SgemmBatched64};
    if (library_bind(handle, &large, 1)) blas.SgemmBatched64 = NULL;
    const struct library_symbol pointers = {"cublasSgemmBatched_64", &blas.SgemmPointers64};
    if (library_bind(handle, &pointers, 1)) blas.SgemmPointers64 = NULL;
    const struct library_symbol emulation = {"cublasSetEmulationStrategy", &blas.SetEmulationStrategy};
    if (library_bind(handle, &emulation, 1)) blas.SetEmulationStrategy = NULL;
    if (library_bind(handle, ex_entries, sizeof ex_entries / sizeof *ex_entries)) blas.GemmEx = NULL;
    int major = 0, minor = 0, patch = 0;
    if (blas.GetProperty(MAJOR_VERSION, &major) || blas.GetProperty(MINOR_VERSION, &minor) ||
        blas.GetProperty(PATCH_LEVEL, &patch))
        return fail(E_ABSENT, "the cuBLAS found does not report its version");
    snprintf(version, 16, "%d.%d.%d", major, minor, patch);
    return OK;
}

enum status blas_load(char version[16])
{
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER, .load = load};
    return library_load(&once, version);
}

bool blas_must_be_pedantic(void)
{
    return env_text("NVIDIA_TF32_OVERRIDE") || env_text("CUBLAS_EMULATE_SINGLE_PRECISION");
}

/* A size or leading dimension exceeds INT_MAX. */
static bool is_wide(const struct problem *p)
{
    return p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX || p->lda > INT_MAX || p->ldb > INT_MAX ||
           p->ldc > INT_MAX;
}

/* By cublasSgemm, whose handle's math mode may be TF32's. */
static bool is_sgemm(const struct problem *p)
{
    const int compute = gemm_type_compute(p->type);
    return gemm_type_row(p->type)->a == ELEMENT_F32 &&
           (compute == BLAS_COMPUTE_32F || compute == BLAS_COMPUTE_32F_FAST_TF32);
}

bool blas_takes(const struct problem *problem)
{
    if (!is_sgemm(problem)) return blas.GemmEx && !is_wide(problem);
    return (problem->pointers ? blas.SgemmPointers64 != NULL : blas.SgemmBatched64 != NULL) ||
           !is_wide(problem);
}

static const float *device_pointer(CUdeviceptr base, int64_t item, int64_t stride)
{
    return (const float *)(uintptr_t)(base + (CUdeviceptr)(item * stride * (int64_t)sizeof(float)));
}

/* cuBLAS requires a leading dimension of at least 1, also for an empty operand. */
static int64_t at_least_1(int64_t ld)
{
    return ld > 1 ? ld : 1;
}

/* Of an array, from an item on. */
static float *const *addresses(CUdeviceptr array, int64_t item)
{
    return (float *const *)(uintptr_t)(array + (CUdeviceptr)item * sizeof(uint64_t));
}

static int run_pointers(blas_handle handle, const struct problem *p, CUdeviceptr a, CUdeviceptr b,
                        CUdeviceptr c, const float *alpha, const float *beta)
{
    const int op_a = p->trans_a ? BLAS_OP_T : BLAS_OP_N, op_b = p->trans_b ? BLAS_OP_T : BLAS_OP_N;
    const int64_t lda = at_least_1(p->lda), ldb = at_least_1(p->ldb), ldc = at_least_1(p->ldc);
    int result = BLAS_SUCCESS;
    for (int64_t first = 0; first < p->batch && result == BLAS_SUCCESS; first += BLAS_BATCH_SLICE) {
        const int64_t left = p->batch - first, slice = left < BLAS_BATCH_SLICE ? left : BLAS_BATCH_SLICE;
        const float *const *from_a = (const float *const *)addresses(a, first);
        const float *const *from_b = (const float *const *)addresses(b, first);
        float *const *to = addresses(c, first);
        result = is_wide(p)
                     ? blas.SgemmPointers64(handle, op_b, op_a, p->n, p->m, p->k, alpha, from_b, ldb, from_a,
                                            lda, beta, to, ldc, slice)
                     : blas.SgemmPointers(handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, alpha, from_b,
                                          (int)ldb, from_a, (int)lda, beta, to, (int)ldc, (int)slice);
    }
    return result;
}

/* Our C[M,N], row-major, is C^T[N,M] column-major, and C^T = op(B)^T op(A)^T. Read as column-major, the
 * stored A is A^T; so the operands are exchanged and keep their ops. */
int blas_run(blas_handle handle, const struct problem *p, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
             const float *alpha, const float *beta)
{
    if (!is_sgemm(p))
        return blas_run_ex(handle, p, a, b, c, alpha, beta, gemm_type_compute(p->type),
                           BLAS_ALGORITHM_DEFAULT);
    if (p->m == 0 || p->n == 0) return BLAS_SUCCESS;
    if (p->pointers) return run_pointers(handle, p, a, b, c, alpha, beta);
    const bool wide = is_wide(p);
    const int op_a = p->trans_a ? BLAS_OP_T : BLAS_OP_N, op_b = p->trans_b ? BLAS_OP_T : BLAS_OP_N;
    const int64_t lda = at_least_1(p->lda), ldb = at_least_1(p->ldb), ldc = at_least_1(p->ldc);
    int result = BLAS_SUCCESS;
    for (int64_t first = 0; first < p->batch && result == BLAS_SUCCESS; first += BLAS_BATCH_SLICE) {
        int64_t left = p->batch - first, slice = left < BLAS_BATCH_SLICE ? left : BLAS_BATCH_SLICE;
        const float *from_a = device_pointer(a, first, p->stride_a);
        const float *from_b = device_pointer(b, first, p->stride_b);
        float *to = (float *)(uintptr_t)device_pointer(c, first, p->stride_c);
        if (wide)
            result =
                blas.SgemmBatched64(handle, op_b, op_a, p->n, p->m, p->k, alpha, from_b, ldb, p->stride_b,
                                    from_a, lda, p->stride_a, beta, to, ldc, p->stride_c, slice);
        else if (p->batch == 1)
            result = blas.Sgemm(handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, alpha, from_b, (int)ldb,
                                from_a, (int)lda, beta, to, (int)ldc);
        else
            result = blas.SgemmBatched(handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, alpha, from_b,
                                       (int)ldb, p->stride_b, from_a, (int)lda, p->stride_a, beta, to,
                                       (int)ldc, p->stride_c, (int)slice);
    }
    return result;
}

/* ---- cublasGemmEx ---- */

/* Of a batch at strides, from an item on. */
static void *item_at(CUdeviceptr base, int64_t item, int64_t stride, enum element element)
{
    return (void *)(uintptr_t)(base + (CUdeviceptr)(item * stride * element_bytes(element)));
}

static int run_pointers_ex(blas_handle handle, const struct problem *p, CUdeviceptr a, CUdeviceptr b,
                           CUdeviceptr c, const float *alpha, const float *beta, int compute, int algorithm,
                           int64_t first, int count)
{
    const struct gemm_type_row *row = gemm_type_row(p->type);
    return blas.GemmPointersEx(
        handle, p->trans_b ? BLAS_OP_T : BLAS_OP_N, p->trans_a ? BLAS_OP_T : BLAS_OP_N, (int)p->n, (int)p->m,
        (int)p->k, alpha, (const void *const *)addresses(b, first), blas_data_type(row->b),
        (int)at_least_1(p->ldb), (const void *const *)addresses(a, first), blas_data_type(row->a),
        (int)at_least_1(p->lda), beta, (void *const *)addresses(c, first), blas_data_type(row->c),
        (int)at_least_1(p->ldc), count, compute, algorithm);
}

/* Items first to first + count of the batch. */
static int run_slice_ex(blas_handle handle, const struct problem *p, CUdeviceptr a, CUdeviceptr b,
                        CUdeviceptr c, const float *alpha, const float *beta, int compute, int algorithm,
                        int64_t first, int count)
{
    const struct gemm_type_row *row = gemm_type_row(p->type);
    const void *from_a = item_at(a, first, p->stride_a, row->a);
    const void *from_b = item_at(b, first, p->stride_b, row->b);
    void *to = item_at(c, first, p->stride_c, row->c);
    const int op_a = p->trans_a ? BLAS_OP_T : BLAS_OP_N, op_b = p->trans_b ? BLAS_OP_T : BLAS_OP_N;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)at_least_1(p->lda),
              ldb = (int)at_least_1(p->ldb), ldc = (int)at_least_1(p->ldc);
    const int of_a = blas_data_type(row->a), of_b = blas_data_type(row->b), of_c = blas_data_type(row->c);
    if (p->batch == 1)
        return blas.GemmEx(handle, op_b, op_a, n, m, k, alpha, from_b, of_b, ldb, from_a, of_a, lda, beta, to,
                           of_c, ldc, compute, algorithm);
    return blas.GemmBatchedEx(handle, op_b, op_a, n, m, k, alpha, from_b, of_b, ldb, p->stride_b, from_a,
                              of_a, lda, p->stride_a, beta, to, of_c, ldc, p->stride_c, count, compute,
                              algorithm);
}

int blas_run_ex(blas_handle handle, const struct problem *p, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
                const float *alpha, const float *beta, int compute, int algorithm)
{
    int result = BLAS_SUCCESS;
    if (p->m == 0 || p->n == 0) return BLAS_SUCCESS;
    if (!blas.GemmEx || is_wide(p)) return BLAS_NOT_SUPPORTED;
    for (int64_t first = 0; first < p->batch && result == BLAS_SUCCESS; first += BLAS_BATCH_SLICE) {
        const int64_t left = p->batch - first;
        const int count = left < BLAS_BATCH_SLICE ? (int)left : BLAS_BATCH_SLICE;
        result = (p->pointers ? run_pointers_ex : run_slice_ex)(handle, p, a, b, c, alpha, beta, compute,
                                                                algorithm, first, count);
    }
    return result;
}
