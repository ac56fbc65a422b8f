#include "way.h"

#include "compile.h"
#include "kernel.h"
#include "launch_walk.h"
#include "modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int32_t source_of[] = {[CHOICE_EXACT] = GT_EXACT,
                                    [CHOICE_NEAREST] = GT_NEAREST,
                                    [CHOICE_PREDICTED] = GT_PREDICTED,
                                    [CHOICE_FALLBACK] = GT_FALLBACK};

static void describe(struct way *way, const struct choice *choice)
{
    struct gt_plan_info *info = &way->info;
    *info = (struct gt_plan_info){.source = source_of[choice->source],
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
    info->workspace_bytes = way->need.bytes;
    if (way->need.bytes > 0) info->workspaces = way->handle->workspaces;
}

static enum status bind(struct way *way, const struct config *config)
{
    struct way_form *form = &way->form;
    config->template->plan(config, &way->problem, &form->plan);
    if (form->plan.workspace_bytes > 0)
        way->need =
            (struct workspace_need){4 * (size_t)form->plan.args.counters, (size_t)form->plan.workspace_bytes};
    return kernel_bind(module_code(way->module), &way->place->device.gpu, &form->plan, form->function);
}

/* Then its arguments are those of every call but for pointers and scalars. */
static bool is_one_launch(struct way *way)
{
    struct launch_walk walk;
    struct launch more;
    launch_walk_start(&walk, &way->form.plan, &way->problem);
    return launch_walk_next(&walk, &way->form.only) && !launch_walk_next(&walk, &more);
}

static enum status build_kernel(struct way *way, const struct config *config, bool *passing)
{
    struct gt_handle *handle = way->handle;
    if (handle->flags & GT_NO_COMPILER || atomic_load(&handle->no_compiler))
        return fail(E_COMPILER, "nothing can be compiled");
    const struct kernel_key kernel = kernel_key_of(config, &way->problem, way->place->device.gpu.arch);
    enum status st = modules_get(handle, way->place, &kernel, &way->module, passing);
    if (st == E_COMPILER) {
        char version[16];
        notice(&handle->notices, NOTICE_COMPILER, "tuned kernels cannot be compiled: %s", status_text());
        if (compile_load(version)) atomic_store(&handle->no_compiler, true); /* else it may be this kernel */
    }
    if (st) return st;
    device_was_short_of_memory(); /* whatever it was about */
    st = bind(way, config);
    *passing = st && device_was_short_of_memory();
    way->counted = !module_is_kept(way->module);
    way->usual = way->need.bytes == 0 && !way->counted && is_one_launch(way);
    return st;
}

static enum status build_cublas(const struct way *way, bool *passing)
{
    struct gt_handle *handle = way->handle;
    if (handle->flags & GT_NO_CUBLAS) return fail(E_ABSENT, "cuBLAS is not to be used");
    enum status st = blas_pool_open(&way->place->blas);
    if (st) notice(&handle->notices, NOTICE_CUBLAS, "cuBLAS cannot be used: %s", status_text());
    *passing = st == E_GPU;
    if (!st && !blas_takes(&way->problem)) st = fail(E_ABSENT, "this cuBLAS is too old for sizes above 2^31");
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

enum status way_build(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      int alignment, bool scalars_on_device, const struct choice *choice, struct way **out,
                      bool *passing)
{
    struct way *way = calloc(1, sizeof *way);
    if (!way) return fail(E_MEMORY, "out of memory while making a plan");
    way->cublas = choice->cublas;
    way->scalars_on_device = scalars_on_device;
    way->unaligned = choice->cublas ? 3 : (uintptr_t)alignment - 1; /* cuBLAS looks at the addresses itself */
    way->problem = *problem;
    way->handle = handle;
    way->place = place;
    *passing = false;
    enum status st =
        choice->cublas ? build_cublas(way, passing) : build_kernel(way, &choice->config, passing);
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
    if (way->module) modules_release(way->handle, way->module);
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

static bool no_context(void)
{
    CUcontext current = NULL;
    return cuda.CtxGetCurrent(&current) == CUDA_SUCCESS && !current;
}

/* touched: something that writes C had been enqueued before. */
static enum way_result failed(CUresult result, bool touched)
{
    if (result == CUDA_ERROR_INVALID_CONTEXT && !touched && no_context()) return WAY_NO_CONTEXT;
    bool refused = kernel_refused(result) && !touched;
    device_check(result, refused ? "the driver refuses the kernel" : "launch the kernel");
    return !refused ? WAY_BROKEN : result == CUDA_ERROR_OUT_OF_MEMORY ? WAY_REFUSED_NOW : WAY_REFUSED;
}

static inline enum way_result launch_form(const struct way *way, CUdeviceptr workspace,
                                          const struct gemm_call *call)
{
    const struct way_form *form = &way->form;
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

/* The same where one launch is all. */
static inline enum way_result launch_only(const struct way *way, const struct gemm_call *call)
{
    const struct way_form *form = &way->form;
    const struct kernel_launch *kernel = &form->plan.kernel[form->only.index];
    struct gemm_args args = form->only.args;
    void *parameters[] = {&args};
    fill(&args, call);
    CUresult result = cuda.LaunchKernel(form->function[form->only.index], form->only.grid[0],
                                        form->only.grid[1], form->only.grid[2], kernel->threads, 1, 1,
                                        kernel->smem_bytes, call->stream, parameters, NULL);
    return result == CUDA_SUCCESS ? WAY_DONE : failed(result, false);
}

/* In the caller's workspace, which may hold anything. */
static enum way_result launch_in_theirs(const struct way *way, const struct gemm_call *call)
{
    CUresult result = CUDA_SUCCESS;
    if (way->need.counters > 0)
        result = cuda.MemsetD8Async(call->workspace, 0, way->need.counters, call->stream);
    if (result != CUDA_SUCCESS) return failed(result, false);
    return launch_form(way, call->workspace, call);
}

static enum way_result launch_in_workspace(const struct way *way, const struct gemm_call *call)
{
    struct workspaces *workspaces = way->place->workspaces;
    struct workspace_turn turn;
    if (call->workspace && call->workspace_bytes >= way->need.bytes) return launch_in_theirs(way, call);
    if (!workspaces || !workspaces_enter(workspaces, &way->need, call->stream, &turn))
        return no_context() ? WAY_NO_CONTEXT : WAY_CROWDED;
    enum way_result result = launch_form(way, turn.at, call);
    workspaces_leave(&turn, result == WAY_DONE);
    return result;
}

static enum way_result launch_cublas(const struct way *way, const struct gemm_call *call)
{
    switch (blas_pool_run(&way->place->blas, &way->problem, call)) {
    case OK:
        return WAY_DONE;
    case E_ABSENT:
        return WAY_REFUSED;
    case E_MEMORY:
        return WAY_REFUSED_NOW;
    default:
        return WAY_BROKEN;
    }
}

static __attribute__((noinline)) enum way_result launch_unusual(struct way *way, const struct gemm_call *call)
{
    if (way->provisional && !call->as_planned && atomic_fetch_sub(&way->retry, 1) == 1) return WAY_DUE;
    if (way->cublas) return launch_cublas(way, call);
    if (way->counted && modules_hold(way->handle, way->module, call->stream))
        return no_context() ? WAY_NO_CONTEXT : WAY_BROKEN;
    if (way->need.bytes > 0) return launch_in_workspace(way, call);
    return launch_form(way, 0, call);
}

enum way_result way_launch(struct way *way, const struct gemm_call *call)
{
    return __builtin_expect(way->usual, 1) ? launch_only(way, call) : launch_unusual(way, call);
}
