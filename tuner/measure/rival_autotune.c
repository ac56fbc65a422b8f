#include "rivals.h"

#include "blas.h"
#include "library.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKSPACE_BYTES ((size_t)64 << 20)

enum { AUTOTUNE = 999, COMPUTE_32F = 68, R_32F = 0 };

/* Of the cuBLAS that blas.h has opened. */
static struct {
    int (*GemmEx)(blas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int,
                  int lda, const void *b, int, int ldb, const void *beta, void *c, int, int ldc, int compute,
                  int algorithm);
    int (*BatchedEx)(blas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                     int, int lda, long long, const void *b, int, int ldb, long long, const void *beta,
                     void *c, int, int ldc, long long, int batch, int compute, int algorithm);
} ex;

static const struct library_symbol entries[] = {
    {"cublasGemmEx", &ex.GemmEx},
    {"cublasGemmStridedBatchedEx", &ex.BatchedEx},
};

static enum status load(void)
{
    char version[16], path[PATH_MAX];
    enum status st = rival_version(version, path, sizeof path);
    if (st || ex.BatchedEx) return st;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail(E_ABSENT, "cannot open cuBLAS once more: %.300s", dlerror());
    const char *missing = library_bind(library, entries, 2);
    return missing ? fail(E_ABSENT, "cuBLAS %s lacks %s", version, missing) : OK;
}

struct rival {
    blas_handle handle;
    struct problem problem;
    struct device_buffer workspace;
};

static enum status check(int result, const char *what)
{
    if (result == BLAS_SUCCESS) return OK;
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(E_ABSENT, "cuBLAS could not %s (status %d)", what, result);
}

static int at_least_1(int64_t ld)
{
    return ld > 1 ? (int)ld : 1;
}

/* The operands change places, as in blas.c. */
static enum status launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct rival *r = opaque;
    const struct problem *p = &r->problem;
    const void *a = (const void *)(uintptr_t)operands->a, *b = (const void *)(uintptr_t)operands->b;
    void *c = (void *)(uintptr_t)operands->c;
    int op_a = p->trans_a ? BLAS_OP_T : BLAS_OP_N, op_b = p->trans_b ? BLAS_OP_T : BLAS_OP_N;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    int lda = at_least_1(p->lda), ldb = at_least_1(p->ldb), ldc = at_least_1(p->ldc);
    float alpha_f = (float)alpha, beta_f = (float)beta;
    int result = p->batch == 1 ? ex.GemmEx(r->handle, op_b, op_a, n, m, k, &alpha_f, b, R_32F, ldb, a, R_32F,
                                           lda, &beta_f, c, R_32F, ldc, COMPUTE_32F, AUTOTUNE)
                               : ex.BatchedEx(r->handle, op_b, op_a, n, m, k, &alpha_f, b, R_32F, ldb,
                                              p->stride_b, a, R_32F, lda, p->stride_a, &beta_f, c, R_32F, ldc,
                                              p->stride_c, (int)p->batch, COMPUTE_32F, AUTOTUNE);
    return result == BLAS_SUCCESS ? OK : check(result, "run the problem with CUBLAS_GEMM_AUTOTUNE");
}

static void rival_close(void *opaque)
{
    struct rival *r = opaque;
    if (r->handle) blas.Destroy(r->handle);
    device_free(&r->workspace);
    free(r);
}

static bool fits_int(const struct problem *p)
{
    return p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX && p->lda <= INT_MAX && p->ldb <= INT_MAX &&
           p->ldc <= INT_MAX && p->batch <= 65535;
}

/* Its own choice is made in the first call; what it then runs is judged. */
static enum status try_it(struct site *site, const struct kernel *kernel)
{
    struct judgement judgement;
    enum status st = oracle_judge(&site->oracle, kernel, &judgement);
    if (st || judgement.right) return st;
    st = oracle_restore(&site->oracle);
    return st ? st : fail(E_ABSENT, "CUBLAS_GEMM_AUTOTUNE gives a wrong C: %s", judgement.detail);
}

enum status rival_autotune_open(struct site *site, struct kernel *kernel, char detail[RIVAL_DETAIL_MAX])
{
    *kernel = (struct kernel){0};
    enum status st = load();
    if (st) return st;
    if (!fits_int(&site->problem)) return fail(E_ABSENT, "cublasGemmEx takes no size beyond %d", INT_MAX);
    struct rival *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory while opening cuBLAS");
    r->problem = site->problem;
    *kernel = (struct kernel){r, launch, rival_close};
    snprintf(detail, RIVAL_DETAIL_MAX, "CUBLAS_GEMM_AUTOTUNE");
    st = check(blas.Create(&r->handle), "start");
    if (!st) st = check(blas.SetMathMode(r->handle, BLAS_DEFAULT_MATH), "set the math mode");
    if (!st) st = check(blas.SetPointerMode(r->handle, BLAS_HOST_SCALARS), "set the pointer mode");
    if (!st) st = check(blas.SetStream(r->handle, site->device->stream), "use our stream");
    if (!st) st = device_allocate(&r->workspace, WORKSPACE_BYTES);
    if (!st)
        st = check(blas.SetWorkspace(r->handle, (void *)(uintptr_t)r->workspace.address, r->workspace.bytes),
                   "use our workspace");
    if (!st) st = try_it(site, kernel);
    if (st) kernel_close(kernel);
    return st;
}
