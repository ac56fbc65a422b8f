#include "lt_kernel.h"

#include "epilogue.h"

#include <stdlib.h>

struct lt_kernel {
    struct device *device;
    struct blas_lt_product product;
    struct blas_lt_algorithm algorithm;
    blas_lt_object desc, preference;
    struct device_buffer workspace;
};

static enum status check(int result, const char *what)
{
    if (result == 0) return OK;
    /* cublasLt hides the driver's result; the next driver call tells whether the context is usable. */
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(E_ABSENT, "cublasLt could not %s (status %d)", what, result);
}

static void *address(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

static enum status launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct lt_kernel *self = opaque;
    const struct blas_lt_product *x = &self->product;
    float alpha_f = (float)alpha, beta_f = (float)beta;
    const CUdeviceptr *at = operands->at;
    void *d = address(at[OPERAND_C]), *c = at[OPERAND_SOURCE] ? address(at[OPERAND_SOURCE]) : d;
    /* Every set has a bias of its own. */
    int result = at[OPERAND_BIAS] ? blas_lt_set_bias(self->desc, address(at[OPERAND_BIAS])) : 0;
    if (!result)
        result =
            blas_lt.Matmul(x->handle, self->desc, &alpha_f, address(at[OPERAND_B]), x->a,
                           address(at[OPERAND_A]), x->b, &beta_f, c, x->c, d, x->c, &self->algorithm,
                           address(self->workspace.address), self->workspace.bytes, self->device->stream);
    return check(result, "run the problem");
}

static void close(void *opaque)
{
    struct lt_kernel *self = opaque;
    blas_lt_handle handle = self->product.handle;
    if (self->preference) blas_lt.PreferenceDestroy(self->preference);
    if (self->desc) blas_lt.DescDestroy(self->desc);
    blas_lt_close(&self->product);
    if (handle) blas_lt.Destroy(handle);
    device_free(&self->workspace);
    free(self);
}

static enum status describe(struct lt_kernel *self, const uint32_t alignment[4], CUdeviceptr bias,
                            size_t workspace_bytes)
{
    struct blas_lt_product *x = &self->product;
    enum status st = check(blas_lt.Create(&x->handle), "start");
    if (!st) st = check(blas_lt_make_desc(x, &self->desc), "describe the product");
    if (!st && bias) st = check(blas_lt_set_bias(self->desc, address(bias)), "take the bias");
    if (!st) st = check(blas_lt_describe(x), "describe the matrices");
    if (!st) st = check(blas_lt.PreferenceCreate(&self->preference), "take preferences");
    return st ? st : check(blas_lt_prefer(self->preference, workspace_bytes, alignment), "take a preference");
}

enum status lt_kernel_open(struct device *device, const struct problem *problem, int compute,
                           const uint32_t alignment[4], CUdeviceptr bias, size_t workspace_bytes,
                           struct kernel *kernel)
{
    *kernel = (struct kernel){0};
    enum status st = blas_lt_load();
    if (st) return st;
    struct lt_kernel *self = calloc(1, sizeof *self);
    if (!self) return fail(E_MEMORY, "out of memory while opening cublasLt");
    self->device = device;
    self->product = (struct blas_lt_product){.problem = *problem, .compute = compute};
    *kernel = (struct kernel){.self = self, .launch = launch, .close = close};
    st = describe(self, alignment, bias, workspace_bytes);
    if (st) kernel_close(kernel);
    return st;
}

enum status lt_kernel_reserve(struct kernel *kernel, size_t bytes)
{
    struct lt_kernel *self = kernel->self;
    return bytes > 0 ? device_allocate(&self->workspace, bytes) : OK;
}

enum status lt_kernel_propose(struct kernel *kernel, struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX],
                              int *count)
{
    struct lt_kernel *self = kernel->self;
    return check(blas_lt_propose(&self->product, self->desc, self->preference, answers, count),
                 "propose anything for the problem");
}

void lt_kernel_use(struct kernel *kernel, const struct blas_lt_algorithm *algorithm)
{
    struct lt_kernel *self = kernel->self;
    self->algorithm = *algorithm;
}

/* Of a candidate nothing is promised but BLAS_LT_KEPT_ALIGNMENT. It has no workspace yet. */
static enum status open_candidate(struct device *device, const struct problem *problem, struct kernel *kernel)
{
    static const uint32_t alignment[] = {BLAS_LT_KEPT_ALIGNMENT, BLAS_LT_KEPT_ALIGNMENT,
                                         BLAS_LT_KEPT_ALIGNMENT, BLAS_LT_KEPT_ALIGNMENT};
    const CUdeviceptr bias =
        epilogue_bias(problem->epilogue) == BIAS_NONE ? 0 : BLAS_LT_KEPT_ALIGNMENT; /* not read */
    return lt_kernel_open(device, problem, blas_lt_compute(problem->type), alignment, bias,
                          BLAS_LT_WORKSPACE_BYTES, kernel);
}

static enum status prefer_sums(struct kernel *kernel)
{
    struct lt_kernel *self = kernel->self;
    return check(blas_lt_prefer_sums(self->preference, self->product.problem.type), "take a preference");
}

enum status lt_kernel_candidates(struct device *device, const struct problem *problem,
                                 struct config configs[BLAS_LT_ANSWERS_MAX], int *count)
{
    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX];
    struct kernel kernel;
    int proposed = 0;
    *count = 0;
    const struct template *t = template_find("cublaslt");
    struct config any = {.template = t};
    for (int i = 0; t && i < t->param_count; i++) any.value[i] = t->params[i].least;
    if (!t || t->check(&any, problem, &device->gpu)) return OK;
    enum status st = open_candidate(device, problem, &kernel);
    if (!st) st = prefer_sums(&kernel);
    if (!st) st = lt_kernel_propose(&kernel, answers, &proposed);
    for (int i = 0; !st && i < proposed; i++)
        if (blas_lt_usable(&answers[i], BLAS_LT_WORKSPACE_BYTES) &&
            blas_lt_to_config(&answers[i], &configs[*count]) &&
            !t->check(&configs[*count], problem, &device->gpu))
            ++*count;
    kernel_close(&kernel);
    return st == E_ABSENT ? OK : st;
}

enum status lt_kernel_load(struct device *device, const struct config *config, const struct problem *problem,
                           struct kernel *kernel)
{
    struct blas_lt_choice choice;
    bool rebuilt;
    enum status st = open_candidate(device, problem, kernel);
    if (st) return st;
    struct lt_kernel *self = kernel->self;
    st = blas_lt_from_config(&self->product, self->desc, config, &choice, &rebuilt);
    if (!st) {
        st = lt_kernel_reserve(kernel, choice.workspace_bytes);
        if (st && !device_lost()) st = fail(E_ABSENT, "workspace of cublasLt: %s", status_text());
    }
    if (st) kernel_close(kernel);
    else lt_kernel_use(kernel, &choice.algorithm);
    return st;
}
