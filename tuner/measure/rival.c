#include "rival.h"

#include "blas.h"
#include "loaded_from.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((size_t)64 << 20)

/* cuBLAS reads these once, when it is loaded. Each would make "FP32" something else than FP32. */
static enum status load(char version[16])
{
    if (!blas.Create) {
        setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
        unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
        unsetenv("CUBLAS_EMULATION_STRATEGY");
    }
    enum status st = blas_load(version);
    return st == E_ABSENT ? fail(E_ABSENT, "%s; without it the winner is not compared", status_text()) : st;
}

enum status rival_version(char version[16], char *path, size_t room)
{
    enum status st = load(version);
    if (st) return st;
    void *symbol;
    memcpy(&symbol, &blas.Create, sizeof symbol);
    loaded_from(symbol, path, room);
    return OK;
}

struct rival {
    blas_handle handle;
    struct problem problem;
    struct device_buffer workspace;
};

static enum status check(int result, const char *what)
{
    if (result == BLAS_SUCCESS) return OK;
    /* cuBLAS hides the driver's result; the next call on the device tells whether the context is whole. */
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(E_GPU, "cuBLAS could not %s (status %d)", what, result);
}

static enum status rival_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct rival *r = opaque;
    float alpha_f = (float)alpha, beta_f = (float)beta;
    int result = blas_run(r->handle, &r->problem, operands->a, operands->b, operands->c, &alpha_f, &beta_f);
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
    if (!blas_takes(problem))
        return fail(E_ABSENT, "cuBLAS %s takes no leading dimension above %d", version, INT_MAX);
    struct rival *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory while opening cuBLAS");
    r->problem = *problem;
    st = check(blas.Create(&r->handle), "start");
    if (!st) st = check(blas.SetMathMode(r->handle, BLAS_DEFAULT_MATH), "set the math mode");
    if (!st) st = check(blas.SetPointerMode(r->handle, BLAS_HOST_SCALARS), "set the pointer mode");
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
