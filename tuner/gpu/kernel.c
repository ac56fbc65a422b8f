#include "kernel.h"

#include "compile.h"
#include "entries.h"
#include "launcher.h"
#include "lt_kernel.h"

#include <stdio.h>
#include <stdlib.h>

#define SMEM_WITHOUT_OPT_IN (48 << 10)

/* A loaded configuration, planned for one problem. */
struct loaded {
    struct device *device;
    CUmodule module;
    CUfunction function[LAUNCH_KERNELS_MAX];
    struct launch_plan plan;
    struct entries entries;
    struct device_buffer workspace;
    bool unclean;                   /* its counters may not be 0 */
    struct launch_plan preparation; /* kernels 0: nothing is prepared */
    struct device_buffer prepared;  /* for calls that bring none */
};

bool kernel_refused(CUresult result)
{
    return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_OUT_OF_MEMORY ||
           result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || result == CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static enum status check(CUresult result, const char *what)
{
    enum status st = device_check(result, what);
    return st && kernel_refused(result) ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* Allows the function its shared memory and checks its threads, so that a refusal comes before the first
 * launch. */
static enum status prepare_function(const struct gpu *gpu, CUfunction function,
                                    const struct kernel_launch *launch)
{
    int static_smem = 0, threads = 0;
    enum status st = check(cuda.FuncGetAttribute(&static_smem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
                           "read the kernel's shared memory");
    if (!st)
        st = check(cuda.FuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                   "read the kernel's threads");
    if (st) return st;
    if (launch->threads > (unsigned)threads)
        return fail(E_ABSENT, "%s needs %u threads per block; its registers allow %d", launch->entry,
                    launch->threads, threads);
    int64_t smem = (int64_t)launch->smem_bytes + static_smem;
    if (smem > gpu->smem_per_block_bytes)
        return fail(E_ABSENT, "%s needs %lld bytes of shared memory per block; this GPU has %d",
                    launch->entry, (long long)smem, gpu->smem_per_block_bytes);
    /* The limit of a block: the function may be launched for other problems, too, some of which need more. */
    if (smem > SMEM_WITHOUT_OPT_IN)
        st = check(cuda.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         gpu->smem_per_block_bytes - static_smem),
                   "allow the kernel its shared memory");
    /* A kernel that stages tiles in shared memory needs no L1: as many blocks as possible should fit. */
    if (!st && smem > 0)
        st = check(cuda.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                         CU_SHAREDMEM_CARVEOUT_MAX_SHARED),
                   "prefer shared memory to L1");
    return st;
}

/* plan: NULL, or whose entries are looked up there. */
static enum status open_for(const char *cubin_path, const char *checksum, struct launch_plan *plan,
                            struct entries *entries, CUmodule *module)
{
    char *cubin = NULL;
    size_t length = 0;
    enum status st = compile_read_cubin(cubin_path, checksum, &cubin, &length);
    if (st) return st;
    if (plan) st = entries_find(cubin, length, plan, entries);
    if (!st) st = check(cuda.ModuleLoadData(module, cubin), "load the kernel");
    free(cubin);
    return st;
}

enum status kernel_open(const char *cubin_path, const char *checksum, CUmodule *module)
{
    return open_for(cubin_path, checksum, NULL, NULL, module);
}

enum status kernel_bind(CUmodule module, const struct gpu *gpu, const struct launch_plan *plan,
                        CUfunction function[LAUNCH_KERNELS_MAX])
{
    enum status st = launcher_check(plan, gpu->arch);
    for (int i = 0; !st && i < plan->kernels; i++) {
        const struct kernel_launch *launch = &plan->kernel[i];
        st = check(cuda.ModuleGetFunction(&function[i], module, launch->entry), launch->entry);
        if (!st) st = prepare_function(gpu, function[i], launch);
    }
    return st;
}

/* The product's plan finds the prepared operand, if the configuration takes one. */
static enum status plan_prepared(struct loaded *self, const struct config *config,
                                 const struct problem *problem)
{
    const enum launch_operand which = problem->prepared == PREPARED_A ? LAUNCH_A : LAUNCH_B;
    const struct template *t = config->template;
    if (!problem->prepared || !t->prepare ||
        !t->prepare(config, problem, which, &self->plan, &self->preparation)) {
        launch_plan_clear(&self->preparation);
        return OK;
    }
    const enum status st = device_allocate(&self->prepared, (size_t)self->preparation.workspace_bytes);
    return st && !device_lost() ? fail(E_ABSENT, "prepared operand: %s", status_text()) : st;
}

/* A launch leaves them 0, unless one of its kernels is refused after another one has counted. */
static enum status clear_counters(struct loaded *self)
{
    if (self->plan.counters == 0) return OK;
    const enum status st = device_check(
        cuda.MemsetD8Async(self->workspace.address, 0, 4 * (size_t)self->plan.counters, self->device->stream),
        "clearing the counters of the workspace");
    self->unclean = st != OK;
    return st;
}

static enum status make_workspace(struct loaded *self)
{
    if (self->plan.workspace_bytes <= 0) return OK;
    enum status st = device_allocate(&self->workspace, (size_t)self->plan.workspace_bytes);
    /* What lies there is nothing that a kernel may use. */
    if (!st && self->plan.kernel[0].own.count)
        st = device_check(
            cuda.MemsetD8Async(self->workspace.address, 0xff, self->workspace.bytes, self->device->stream),
            "poisoning the workspace");
    /* Out of memory is a property of this configuration: another one with fewer splits may fit. */
    if (st && !device_lost()) st = fail(E_ABSENT, "workspace for split-K: %s", status_text());
    return st ? st : clear_counters(self);
}

static enum status loaded_prepare(void *opaque, const struct operands *operands, CUdeviceptr at)
{
    struct loaded *self = opaque;
    bool touched;
    const struct launch_call call = {.operand = {[OPERAND_A] = operands->at[OPERAND_A], /* one is read */
                                                 [OPERAND_B] = operands->at[OPERAND_B],
                                                 [LAUNCH_WORKSPACE] = at},
                                     .alpha = 1};
    const CUresult result =
        launcher_enqueue(&self->preparation, self->function, &call, self->device->stream, &touched);
    return result == CUDA_SUCCESS ? OK : check(result, "prepare an operand");
}

static enum status loaded_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    struct loaded *self = opaque;
    bool touched;
    const bool makes = self->preparation.kernels > 0 && !operands->prepared;
    enum status st = makes ? loaded_prepare(self, operands, self->prepared.address) : OK;
    if (!st && self->unclean) st = clear_counters(self);
    if (st) return st;
    struct launch_call call = {
        .operand = {[LAUNCH_WORKSPACE] = self->workspace.address,
                    [LAUNCH_PREPARED] = makes ? self->prepared.address : operands->prepared},
        .alpha = (float)alpha,
        .beta = (float)beta};
    for (int i = 0; i < OPERANDS; i++) call.operand[i] = operands->at[i];
    if (!call.operand[OPERAND_SOURCE]) call.operand[OPERAND_SOURCE] = operands->at[OPERAND_C];
    CUresult result = launcher_enqueue(&self->plan, self->function, &call, self->device->stream, &touched);
    self->unclean = result != CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? OK : check(result, "launch the kernel");
}

static void loaded_close(void *opaque)
{
    struct loaded *self = opaque;
    device_free(&self->workspace);
    device_free(&self->prepared);
    if (self->module) cuda.ModuleUnload(self->module);
    free(self);
}

enum status kernel_load(struct device *device, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel)
{
    if (template_is_library(config->template)) return lt_kernel_load(device, config, problem, kernel);
    *kernel = (struct kernel){0};
    struct loaded *self = calloc(1, sizeof *self);
    if (!self) return fail(E_MEMORY, "out of memory while loading a kernel");
    self->device = device;
    config->template->plan(config, problem, &self->plan);
    enum status st = open_for(cubin_path, checksum, &self->plan, &self->entries, &self->module);
    if (!st) st = kernel_bind(self->module, &device->gpu, &self->plan, self->function);
    if (!st) st = plan_prepared(self, config, problem);
    if (!st) st = make_workspace(self);
    if (!st) launcher_encode_ahead(&self->plan); /* preparing an operand has changed its views */
    if (st) {
        loaded_close(self);
        return st;
    }
    *kernel = (struct kernel){.self = self, .launch = loaded_launch, .close = loaded_close};
    if (self->preparation.kernels == 0) return OK;
    kernel->prepare = loaded_prepare;
    kernel->prepared_bytes = self->prepared.bytes;
    return OK;
}

void kernel_close(struct kernel *kernel)
{
    if (kernel->close) kernel->close(kernel->self);
    *kernel = (struct kernel){0};
}
