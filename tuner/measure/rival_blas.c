/* cublasSgemm and cublasGemmEx. */
#include "blas.h"
#include "kernel.h"
#include "library.h"
#include "rival_open.h"
#include "trial_setup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((size_t)64 << 20)

enum { EMULATION_EAGER = 2 };

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
    const CUdeviceptr *at = operands->at;
    float alpha_f = (float)alpha, beta_f = (float)beta;
    int result =
        blas_run(r->handle, &r->problem, at[OPERAND_A], at[OPERAND_B], at[OPERAND_C], &alpha_f, &beta_f);
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
    *kernel = (struct kernel){.self = r, .launch = sgemm_launch, .close = rival_close};
    return OK;
}

/* ---- cublasGemmEx ---- */

static enum status ex_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct rival *r = opaque;
    const CUdeviceptr *at = operands->at;
    const int algorithm = r->row->algorithm;
    const float alpha_f = (float)alpha, beta_f = (float)beta;
    const int result = blas_run_ex(r->handle, &r->problem, at[OPERAND_A], at[OPERAND_B], at[OPERAND_C],
                                   &alpha_f, &beta_f, r->row->compute, algorithm);
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
    if (!blas.SetEmulationStrategy) return fail(E_ABSENT, "cuBLAS %s has no emulation of FP32", version);
    return check(blas.SetEmulationStrategy(r->handle, EMULATION_EAGER), E_ABSENT, "emulate FP32");
}

enum status rival_gemm_ex_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                               char detail[RIVAL_DETAIL_MAX])
{
    char version[16], path[8];
    *kernel = (struct kernel){0};
    detail[0] = '\0';
    enum status st = rival_version(version, path, sizeof path);
    if (st) return st;
    if (!blas.GemmEx) return fail(E_ABSENT, "cuBLAS %s lacks cublasGemmEx", version);
    if (!fits_int(&setup->problem)) return fail(E_ABSENT, "cublasGemmEx supports no size above %d", INT_MAX);
    struct rival *r = make(setup, row);
    if (!r) return fail(E_MEMORY, "out of memory while opening cuBLAS");
    *kernel = (struct kernel){.self = r, .launch = ex_launch, .close = rival_close};
    const bool autotune = row->algorithm == RIVAL_ALGORITHM_AUTOTUNE;
    if (autotune) snprintf(detail, RIVAL_DETAIL_MAX, "CUBLAS_GEMM_AUTOTUNE");
    /* The pedantic mode would forbid other compute types. */
    st = start(r, setup, row->compute == BLAS_COMPUTE_32F ? strict_mode() : BLAS_DEFAULT_MATH, E_ABSENT);
    if (!st && row->compute == BLAS_COMPUTE_32F_BF16X9) st = emulate(r, version);
    if (!st && autotune) st = try_it(setup, kernel);
    if (st) kernel_close(kernel);
    return st;
}
