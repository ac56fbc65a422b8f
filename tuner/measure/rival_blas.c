/* cublasSgemm and cublasGemmEx. */
#include "blas.h"
#include "kernel.h"
#include "library.h"
#include "rival_open.h"
#include "trial_setup.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((size_t)64 << 20)

enum { R_32F = 0, EMULATION_EAGER = 2 };

enum status rival_version(char version[16], char *path, size_t room)
{
    enum status st = blas_load(version);
    if (st)
        return st == E_ABSENT ? fail(E_ABSENT, "%s; without it the winner is not compared", status_text())
                              : st;
    library_file(&blas.Create, path, room);
    return OK;
}

struct rival {
    const struct rival_row *row;
    blas_handle handle;
    struct problem problem;
    struct device_buffer workspace;
};

/* cuBLAS hides the driver's result; the next driver call tells whether the context is usable. refused: the
 * status for a failure of the call itself. */
static enum status check(int result, enum status refused, const char *what)
{
    if (result == BLAS_SUCCESS) return OK;
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(refused, "cuBLAS could not %s (status %d)", what, result);
}

static void rival_close(void *opaque)
{
    struct rival *r = opaque;
    if (r->handle) blas.Destroy(r->handle);
    device_free(&r->workspace);
    free(r);
}

static int strict_mode(void)
{
    return blas_must_be_pedantic() ? BLAS_PEDANTIC_MATH : BLAS_DEFAULT_MATH;
}

/* Creates a handle on the setup's stream with a workspace of ours, so that nothing is allocated during a
 * capture. */
static enum status start(struct rival *r, const struct trial_setup *setup, int mode, enum status refused)
{
    enum status st = check(blas.Create(&r->handle), refused, "start");
    if (!st) st = check(blas.SetMathMode(r->handle, mode), refused, "set the math mode");
    if (!st) st = check(blas.SetPointerMode(r->handle, BLAS_HOST_SCALARS), refused, "set the pointer mode");
    /* The stream is set first, because that resets the workspace. */
    if (!st) st = check(blas.SetStream(r->handle, setup->device->stream), refused, "use our stream");
    if (!st) st = device_allocate(&r->workspace, WORKSPACE_BYTES);
    if (!st)
        st = check(blas.SetWorkspace(r->handle, (void *)(uintptr_t)r->workspace.address, r->workspace.bytes),
                   refused, "use our workspace");
    return st;
}

static struct rival *make(const struct trial_setup *setup, const struct rival_row *row)
{
    struct rival *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->row = row;
    r->problem = setup->problem;
    return r;
}

/* ---- cublasSgemm ---- */

static enum status sgemm_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct rival *r = opaque;
    float alpha_f = (float)alpha, beta_f = (float)beta;
    int result = blas_run(r->handle, &r->problem, operands->a, operands->b, operands->c, &alpha_f, &beta_f);
    return check(result, E_GPU, "run the problem");
}

enum status rival_sgemm_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                             char detail[RIVAL_DETAIL_MAX])
{
    char version[16], path[8];
    *kernel = (struct kernel){0};
    detail[0] = '\0';
    enum status st = rival_version(version, path, sizeof path);
    if (st) return st;
    if (!blas_takes(&setup->problem))
        return fail(E_ABSENT, "cuBLAS %s supports no leading dimension above %d", version, INT_MAX);
    struct rival *r = make(setup, row);
    if (!r) return fail(E_MEMORY, "out of memory while opening cuBLAS");
    if ((st = start(r, setup, strict_mode(), E_GPU))) {
        rival_close(r);
        return st;
    }
    *kernel = (struct kernel){r, sgemm_launch, rival_close};
    return OK;
}

/* ---- cublasGemmEx ---- */

/* Entry points of the cuBLAS that blas.h has opened. */
static struct {
    int (*GemmEx)(blas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int,
                  int lda, const void *b, int, int ldb, const void *beta, void *c, int, int ldc, int compute,
                  int algorithm);
    int (*BatchedEx)(blas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                     int, int lda, long long, const void *b, int, int ldb, long long, const void *beta,
                     void *c, int, int ldc, long long, int batch, int compute, int algorithm);
    int (*PointersEx)(blas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                      const void *const *a, int, int lda, const void *const *b, int, int ldb,
                      const void *beta, void *const *c, int, int ldc, int batch, int compute, int algorithm);
    int (*SetEmulationStrategy)(blas_handle, int); /* since 12.9; NULL before */
} ex;

static const struct library_symbol entries[] = {
    {"cublasGemmEx", &ex.GemmEx},
    {"cublasGemmStridedBatchedEx", &ex.BatchedEx},
    {"cublasGemmBatchedEx", &ex.PointersEx},
};

static enum status load_ex(char version[16])
{
    char path[PATH_MAX];
    enum status st = rival_version(version, path, sizeof path);
    if (st || ex.BatchedEx) return st;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail(E_ABSENT, "cannot open cuBLAS once more: %.300s", dlerror());
    const struct library_symbol emulation = {"cublasSetEmulationStrategy", &ex.SetEmulationStrategy};
    if (library_bind(library, &emulation, 1)) ex.SetEmulationStrategy = NULL;
    const char *missing = library_bind(library, entries, sizeof entries / sizeof *entries);
    return missing ? fail(E_ABSENT, "cuBLAS %s lacks %s", version, missing) : OK;
}

static int at_least_1(int64_t ld)
{
    return ld > 1 ? (int)ld : 1;
}

static void *item(CUdeviceptr base, int64_t number, int64_t stride)
{
    return (void *)(uintptr_t)(base + (CUdeviceptr)(number * stride * (int64_t)sizeof(float)));
}

/* Of arrays of addresses. */
static int run_pointers_ex(const struct rival *r, const struct operands *operands, int64_t first, int count,
                           const float *alpha, const float *beta)
{
    const struct problem *p = &r->problem;
    const CUdeviceptr moved = (CUdeviceptr)first * sizeof(uint64_t);
    const int op_a = p->trans_a ? BLAS_OP_T : BLAS_OP_N, op_b = p->trans_b ? BLAS_OP_T : BLAS_OP_N;
    return ex.PointersEx(r->handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, alpha,
                         (const void *const *)(uintptr_t)(operands->b + moved), R_32F, at_least_1(p->ldb),
                         (const void *const *)(uintptr_t)(operands->a + moved), R_32F, at_least_1(p->lda),
                         beta, (void *const *)(uintptr_t)(operands->c + moved), R_32F, at_least_1(p->ldc),
                         count, r->row->compute, r->row->algorithm);
}

/* Computes items first to first + count of the batch. The operands are exchanged, as in blas.c. */
static int run_ex(const struct rival *r, const struct operands *operands, int64_t first, int count,
                  const float *alpha, const float *beta)
{
    const struct problem *p = &r->problem;
    if (p->pointers) return run_pointers_ex(r, operands, first, count, alpha, beta);
    const int compute = r->row->compute, algorithm = r->row->algorithm;
    const void *a = item(operands->a, first, p->stride_a), *b = item(operands->b, first, p->stride_b);
    void *c = item(operands->c, first, p->stride_c);
    int op_a = p->trans_a ? BLAS_OP_T : BLAS_OP_N, op_b = p->trans_b ? BLAS_OP_T : BLAS_OP_N;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    int lda = at_least_1(p->lda), ldb = at_least_1(p->ldb), ldc = at_least_1(p->ldc);
    if (p->batch == 1)
        return ex.GemmEx(r->handle, op_b, op_a, n, m, k, alpha, b, R_32F, ldb, a, R_32F, lda, beta, c, R_32F,
                         ldc, compute, algorithm);
    return ex.BatchedEx(r->handle, op_b, op_a, n, m, k, alpha, b, R_32F, ldb, p->stride_b, a, R_32F, lda,
                        p->stride_a, beta, c, R_32F, ldc, p->stride_c, count, compute, algorithm);
}

static enum status ex_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct rival *r = opaque;
    const int algorithm = r->row->algorithm;
    const int64_t batch = r->problem.batch;
    const float alpha_f = (float)alpha, beta_f = (float)beta;
    int result = BLAS_SUCCESS;
    if (r->problem.m == 0 || r->problem.n == 0) return OK;
    for (int64_t first = 0; first < batch && result == BLAS_SUCCESS; first += BLAS_BATCH_SLICE) {
        const int64_t left = batch - first;
        const int slice = left < BLAS_BATCH_SLICE ? (int)left : BLAS_BATCH_SLICE;
        result = run_ex(r, operands, first, slice, &alpha_f, &beta_f);
    }
    if (result == BLAS_SUCCESS) return OK;
    return check(result, E_ABSENT,
                 algorithm == RIVAL_ALGORITHM_AUTOTUNE ? "run the problem with CUBLAS_GEMM_AUTOTUNE"
                                                       : "run the problem with cublasGemmEx");
}

static bool fits_int(const struct problem *p)
{
    return p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX && p->lda <= INT_MAX && p->ldb <= INT_MAX &&
           p->ldc <= INT_MAX;
}

/* cuBLAS chooses its algorithm in the first call; what it runs afterwards is judged. */
static enum status try_it(struct trial_setup *setup, const struct kernel *kernel)
{
    struct judgement judgement;
    enum status st = oracle_judge(&setup->oracle, kernel, &judgement);
    if (st || judgement.right) return st;
    st = oracle_restore(&setup->oracle);
    return st ? st : fail(E_ABSENT, "CUBLAS_GEMM_AUTOTUNE gives a wrong C: %s", judgement.detail);
}

/* Otherwise cuBLAS may use FP32 where emulation would be slower. */
static enum status emulate(const struct rival *r, const char *version)
{
    if (!ex.SetEmulationStrategy) return fail(E_ABSENT, "cuBLAS %s has no emulation of FP32", version);
    return check(ex.SetEmulationStrategy(r->handle, EMULATION_EAGER), E_ABSENT, "emulate FP32");
}

enum status rival_gemm_ex_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                               char detail[RIVAL_DETAIL_MAX])
{
    char version[16];
    *kernel = (struct kernel){0};
    detail[0] = '\0';
    enum status st = load_ex(version);
    if (st) return st;
    if (!fits_int(&setup->problem)) return fail(E_ABSENT, "cublasGemmEx supports no size above %d", INT_MAX);
    struct rival *r = make(setup, row);
    if (!r) return fail(E_MEMORY, "out of memory while opening cuBLAS");
    *kernel = (struct kernel){r, ex_launch, rival_close};
    const bool autotune = row->algorithm == RIVAL_ALGORITHM_AUTOTUNE;
    if (autotune) snprintf(detail, RIVAL_DETAIL_MAX, "CUBLAS_GEMM_AUTOTUNE");
    /* The pedantic mode would forbid other compute types. */
    st = start(r, setup, row->compute == RIVAL_COMPUTE_32F ? strict_mode() : BLAS_DEFAULT_MATH, E_ABSENT);
    if (!st && row->compute == RIVAL_COMPUTE_32F_EMULATED_16BFX9) st = emulate(r, version);
    if (!st && autotune) st = try_it(setup, kernel);
    if (st) kernel_close(kernel);
    return st;
}
