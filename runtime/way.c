#include "way.h"

#include "compile.h"
#include "kernel.h"
#include "launch_walk.h"
#include "modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Device memory that the workspaces of a plan may take for streams beyond the first. */
#define WORKSPACE_BYTES_MAX ((int64_t)256 << 20)

static void describe(struct way *way, const struct choice *choice)
{
    struct gt_plan_info *info = &way->info;
    *info = (struct gt_plan_info){.source = choice->source,
                                  .pretuned = choice->pretuned,
                                  .stale = choice->stale,
                                  .uses_cublas = choice->cublas,
                                  .time_us = choice->time_us,
                                  .ratio = choice->ratio,
                                  .loss = choice->loss};
    if (choice->cublas) snprintf(info->config, sizeof info->config, "cublas");
    else config_format(&choice->config, info->config);
    snprintf(info->tuned_for, sizeof info->tuned_for, "%s", choice->tuned_for);
    snprintf(info->when, sizeof info->when, "%s", choice->when);
    snprintf(info->why, sizeof info->why, "%s", choice->why);
    info->adds_to_c = way->problem.beta != 0;
    info->workspace_bytes = (size_t)way->form.plan.workspace_bytes;
    if (way->workspaces) info->workspaces = workspaces_count(way->workspaces);
}

static enum status bind(struct way *way, const struct config *config, CUmodule module, struct way_form *form)
{
    config->template->plan(config, &way->problem, &form->plan);
    return kernel_bind(module, &way->place->device.gpu, &form->plan, form->function);
}

/* The same kernel without splitting K, if the template has that as a matter of launching. */
static void bind_unsplit(struct way *way, const struct config *config, CUmodule module)
{
    struct config one = *config;
    if (!config_set(&one, "SPLIT_K", 1) || !config_same_kernel(&one, config)) return;
    if (one.template->check(&one, &way->problem, &way->place->device.gpu)) return;
    struct way_form form = {.plan = {.kernels = 0}};
    if (!bind(way, &one, module, &form) && form.plan.workspace_bytes <= 0) way->unsplit = form;
}

static enum status make_workspaces(struct gt_handle *handle, struct way *way)
{
    if (handle->workspaces == 0) return OK; /* the caller's, at each launch */
    int64_t bytes = way->form.plan.workspace_bytes, fitting = WORKSPACE_BYTES_MAX / bytes;
    int count = handle->workspaces < fitting ? handle->workspaces : (int)fitting;
    enum status st = workspaces_open((size_t)bytes, count > 0 ? count : 1, &way->workspaces);
    if (!st || way->unsplit.plan.kernels == 0) return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
    way->form = way->unsplit; /* no memory for partial sums */
    return OK;
}

static enum status build_kernel(struct gt_handle *handle, struct way *way, const struct config *config)
{
    CUmodule module;
    if (handle->flags & GT_NO_COMPILER || atomic_load(&handle->no_compiler))
        return fail(E_COMPILER, "nothing can be compiled");
    enum status st = modules_get(handle, way->place, config, &way->problem, &module);
    if (st == E_COMPILER) {
        char version[16];
        notice(&handle->notices, NOTICE_COMPILER, "tuned kernels cannot be compiled: %s", status_text());
        if (compile_load(version)) atomic_store(&handle->no_compiler, true); /* else it may be this kernel */
    }
    if (!st) st = bind(way, config, module, &way->form);
    if (st || way->form.plan.workspace_bytes <= 0) return st;
    bind_unsplit(way, config, module);
    return make_workspaces(handle, way);
}

static enum status build_cublas(struct gt_handle *handle, struct way *way)
{
    if (handle->flags & GT_NO_CUBLAS) return fail(E_ABSENT, "cuBLAS is not to be used");
    enum status st = blas_pool_open(&way->place->blas);
    if (st) notice(&handle->notices, NOTICE_CUBLAS, "cuBLAS cannot be used: %s", status_text());
    if (!st && !blas_takes(&way->problem)) st = fail(E_ABSENT, "this cuBLAS is too old for sizes above 2^31");
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

enum status way_build(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      int alignment, bool scalars_on_device, const struct choice *choice, struct way **out)
{
    struct way *way = calloc(1, sizeof *way);
    if (!way) return fail(E_MEMORY, "out of memory while making a plan");
    way->cublas = choice->cublas;
    way->scalars_on_device = scalars_on_device;
    way->unaligned = choice->cublas ? 3 : (uintptr_t)alignment - 1; /* cuBLAS looks at the addresses itself */
    way->problem = *problem;
    way->place = place;
    enum status st = choice->cublas ? build_cublas(handle, way) : build_kernel(handle, way, &choice->config);
    if (st) {
        way_free(way);
        return st;
    }
    describe(way, choice);
    *out = way;
    return OK;
}

void way_free(struct way *way)
{
    if (!way) return;
    workspaces_close(way->workspaces);
    free(way);
}

static void fill(struct gemm_args *args, const struct gemm_call *call)
{
    args->a = (const float *)(uintptr_t)call->a;
    args->b = (const float *)(uintptr_t)call->b;
    args->c = (float *)(uintptr_t)call->c;
    if (call->scalars_on_device) {
        args->alpha_device = call->alpha;
        args->beta_device = call->beta;
    } else {
        args->alpha = *(const float *)call->alpha;
        args->beta = *(const float *)call->beta;
    }
}

/* touched: something that writes C had been enqueued before. */
static enum way_result failed(CUresult result, bool touched)
{
    CUcontext current = NULL;
    if (result == CUDA_ERROR_INVALID_CONTEXT && !touched && cuda.CtxGetCurrent(&current) == CUDA_SUCCESS &&
        !current)
        return WAY_NO_CONTEXT;
    bool refused = kernel_refused(result) && !touched;
    device_check(result, refused ? "the driver refuses the kernel" : "launch the kernel");
    return refused ? WAY_REFUSED : WAY_BROKEN;
}

static enum way_result launch_form(const struct way *way, const struct way_form *form, CUdeviceptr workspace,
                                   const struct gemm_call *call)
{
    struct launch_walk walk;
    struct launch launch;
    launch_walk_start(&walk, &form->plan, &way->problem);
    walk.all.workspace = (float *)(uintptr_t)workspace;
    fill(&walk.all, call);
    while (launch_walk_next(&walk, &launch)) {
        const struct kernel_launch *kernel = &form->plan.kernel[launch.index];
        void *parameters[] = {&launch.args};
        CUresult result =
            cuda.LaunchKernel(form->function[launch.index], launch.grid[0], launch.grid[1], launch.grid[2],
                              kernel->threads, 1, 1, kernel->smem_bytes, call->stream, parameters, NULL);
        if (result != CUDA_SUCCESS) return failed(result, launch.touched);
    }
    return WAY_DONE;
}

/* In the caller's workspace, which may hold anything. */
static enum way_result launch_in_theirs(const struct way *way, const struct gemm_call *call)
{
    const size_t counters = 4 * (size_t)way->form.plan.args.counters;
    CUresult result = CUDA_SUCCESS;
    if (counters > 0) result = cuda.MemsetD8Async(call->workspace, 0, counters, call->stream);
    if (result != CUDA_SUCCESS) return failed(result, false);
    return launch_form(way, &way->form, call->workspace, call);
}

static enum way_result launch_split(const struct way *way, const struct gemm_call *call)
{
    if (call->workspace && call->workspace_bytes >= (size_t)way->form.plan.workspace_bytes)
        return launch_in_theirs(way, call);
    CUdeviceptr workspace = way->workspaces ? workspaces_of(way->workspaces, call->stream) : 0;
    if (workspace) return launch_form(way, &way->form, workspace, call);
    if (way->unsplit.plan.kernels > 0) return launch_form(way, &way->unsplit, 0, call);
    return WAY_CROWDED;
}

enum way_result way_launch(const struct way *way, const struct gemm_call *call)
{
    if (way->form.plan.workspace_bytes > 0) return launch_split(way, call);
    if (!way->cublas) return launch_form(way, &way->form, 0, call);
    enum status st = blas_pool_run(&way->place->blas, &way->problem, call);
    return !st ? WAY_DONE : st == E_ABSENT ? WAY_REFUSED : WAY_BROKEN;
}
