#include "kernel.h"
#include "library.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((size_t)64 << 20)
#define BATCH_SLICE     65535

/* The few prototypes and values of cublas_api.h that are needed; its ABI has kept them since CUDA 6, and a
 * toolkit for compiling kernels need not have the header. */
typedef struct cublasContext *blas_handle;
enum { BLAS_SUCCESS = 0, OP_N = 0, OP_T = 1, POINTER_MODE_HOST = 0, DEFAULT_MATH = 0 };
enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };

static struct {
    int (*Create)(blas_handle *);
    int (*Destroy)(blas_handle);
    int (*GetProperty)(int, int *);
    int (*SetStream)(blas_handle, CUstream);
    int (*SetWorkspace)(blas_handle, void *, size_t);
    int (*SetMathMode)(blas_handle, int);
    int (*SetPointerMode)(blas_handle, int);
    int (*Sgemm)(blas_handle, int, int, int, int, int, const float *, const float *, int, const float *, int,
                 const float *, float *, int);
    int (*SgemmBatched)(blas_handle, int, int, int, int, int, const float *, const float *, int, long long,
                        const float *, int, long long, const float *, float *, int, long long, int);
    /* Since CUDA 12; NULL before. */
    int (*SgemmBatched64)(blas_handle, int, int, int64_t, int64_t, int64_t, const float *, const float *,
                          int64_t, long long, const float *, int64_t, long long, const float *, float *,
                          int64_t, long long, int64_t);
} blas;

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
};

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static char loaded_version[16]; /* "" until loaded */

static enum status load_once(void)
{
    if (loaded_version[0]) return OK;
    /* cuBLAS reads these once. Each would make "FP32" something else than FP32. */
    setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
    unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
    unsetenv("CUBLAS_EMULATION_STRATEGY");
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    const struct library_names library = {"GEMMTUNE_LIBCUBLAS", names, 3, true};
    char why[LIBRARY_WHY_MAX];
    void *handle = library_open(&library, why);
    if (!handle)
        return fail(
            E_ABSENT,
            "no cuBLAS (%s): install the CUDA toolkit's cuBLAS, or set GEMMTUNE_LIBCUBLAS to the library's "
            "path; without it the winner is not compared",
            why);
    const char *missing = library_bind(handle, entries, sizeof entries / sizeof *entries);
    if (missing) return fail(E_ABSENT, "the cuBLAS found lacks %s: CUDA 12 or later is needed", missing);
    const struct library_symbol large = {"cublasSgemmStridedBatched_64", &blas.SgemmBatched64};
    if (library_bind(handle, &large, 1)) blas.SgemmBatched64 = NULL;
    int major = 0, minor = 0, patch = 0;
    if (blas.GetProperty(MAJOR_VERSION, &major) || blas.GetProperty(MINOR_VERSION, &minor) ||
        blas.GetProperty(PATCH_LEVEL, &patch))
        return fail(E_ABSENT, "the cuBLAS found does not tell its version");
    snprintf(loaded_version, sizeof loaded_version, "%d.%d.%d", major, minor, patch);
    return OK;
}

static enum status load(char version[16])
{
    pthread_mutex_lock(&load_lock);
    enum status st = load_once();
    if (!st) memcpy(version, loaded_version, sizeof loaded_version);
    pthread_mutex_unlock(&load_lock);
    return st;
}

enum status rival_version(char version[16], char *path, size_t room)
{
    enum status st = load(version);
    if (st) return st;
    void *symbol;
    memcpy(&symbol, &blas.Create, sizeof symbol);
    library_path(symbol, path, room);
    return OK;
}

struct rival {
    blas_handle handle;
    struct problem problem;
    struct device_buffer workspace;
    bool wide; /* a size or leading dimension passes INT_MAX */
};

static enum status check(int result, const char *what)
{
    if (result == BLAS_SUCCESS) return OK;
    /* cuBLAS hides the driver's result; the next call on the device tells whether the context is whole. */
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(E_GPU, "cuBLAS could not %s (status %d)", what, result);
}

static const float *device_pointer(CUdeviceptr base, int64_t item, int64_t stride)
{
    return (const float *)(uintptr_t)(base + (CUdeviceptr)(item * stride * (int64_t)sizeof(float)));
}

/* cuBLAS wants a leading dimension of 1 at least, also of an empty operand. */
static int64_t at_least_1(int64_t ld)
{
    return ld > 1 ? ld : 1;
}

/* Our C[M,N], row-major, is C^T[N,M] column-major, and C^T = op(B)^T op(A)^T. Read column-major, stored A is
 * already A^T; so the operands change places and keep their ops. */
static enum status rival_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct rival *r = opaque;
    const struct problem *p = &r->problem;
    if (p->m == 0 || p->n == 0) return OK;
    int op_a = p->trans_a ? OP_T : OP_N, op_b = p->trans_b ? OP_T : OP_N;
    int64_t lda = at_least_1(p->lda), ldb = at_least_1(p->ldb), ldc = at_least_1(p->ldc);
    float alpha_f = (float)alpha, beta_f = (float)beta;
    int result = BLAS_SUCCESS;
    for (int64_t first = 0; first < p->batch && result == BLAS_SUCCESS; first += BATCH_SLICE) {
        int64_t left = p->batch - first, slice = left < BATCH_SLICE ? left : BATCH_SLICE;
        const float *a = device_pointer(operands->a, first, p->stride_a);
        const float *b = device_pointer(operands->b, first, p->stride_b);
        float *c = (float *)(uintptr_t)device_pointer(operands->c, first, p->stride_c);
        if (r->wide)
            result =
                blas.SgemmBatched64(r->handle, op_b, op_a, p->n, p->m, p->k, &alpha_f, b, ldb, p->stride_b, a,
                                    lda, p->stride_a, &beta_f, c, ldc, p->stride_c, slice);
        else if (p->batch == 1)
            result = blas.Sgemm(r->handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, &alpha_f, b, (int)ldb,
                                a, (int)lda, &beta_f, c, (int)ldc);
        else
            result = blas.SgemmBatched(r->handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, &alpha_f, b,
                                       (int)ldb, p->stride_b, a, (int)lda, p->stride_a, &beta_f, c, (int)ldc,
                                       p->stride_c, (int)slice);
    }
    return result == BLAS_SUCCESS ? OK : check(result, "run the problem");
}

static void rival_close(void *opaque)
{
    struct rival *r = opaque;
    if (r->handle) blas.Destroy(r->handle);
    device_free(&r->workspace);
    free(r);
}

enum status rival_open(struct device *device, const struct problem *problem, struct kernel *kernel,
                       char version[16])
{
    *kernel = (struct kernel){0};
    enum status st = load(version);
    if (st) return st;
    bool wide = problem->m > INT_MAX || problem->n > INT_MAX || problem->k > INT_MAX ||
                problem->lda > INT_MAX || problem->ldb > INT_MAX || problem->ldc > INT_MAX;
    if (wide && !blas.SgemmBatched64)
        return fail(E_ABSENT, "cuBLAS %s takes no leading dimension above %d", version, INT_MAX);
    struct rival *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory while opening cuBLAS");
    r->problem = *problem;
    r->wide = wide;
    st = check(blas.Create(&r->handle), "start");
    if (!st) st = check(blas.SetMathMode(r->handle, DEFAULT_MATH), "set the math mode");
    if (!st) st = check(blas.SetPointerMode(r->handle, POINTER_MODE_HOST), "set the pointer mode");
    /* The stream first: setting it takes the workspace away again. With a workspace of ours nothing is
     * allocated during a capture. */
    if (!st) st = check(blas.SetStream(r->handle, device->stream), "use our stream");
    if (!st) st = device_allocate(&r->workspace, WORKSPACE_BYTES);
    if (!st)
        st = check(blas.SetWorkspace(r->handle, (void *)(uintptr_t)r->workspace.address, r->workspace.bytes),
                   "use our workspace");
    if (st) {
        rival_close(r);
        return st;
    }
    *kernel = (struct kernel){r, rival_launch, rival_close};
    return OK;
}
