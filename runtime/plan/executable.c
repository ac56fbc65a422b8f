#include "executable.h"

#include "compile.h"
#include "kernel.h"
#include "launcher.h"
#include "modules.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int32_t source_of[] = {[CHOICE_EXACT] = GT_EXACT,
                                    [CHOICE_NEAREST] = GT_NEAREST,
                                    [CHOICE_PREDICTED] = GT_PREDICTED,
                                    [CHOICE_FALLBACK] = GT_FALLBACK};

static void describe(struct executable *executable, const struct choice *choice)
{
    struct gt_plan_info *info = &executable->info;
    *info = (struct gt_plan_info){.source = source_of[choice->source],
                                  .pretuned = choice->pretuned,
                                  .stale = choice->stale,
                                  .uses_cublas = executable->cublas,
                                  .time_us = choice->time_us,
                                  .ratio = choice->ratio,
                                  .loss = choice->loss};
    if (choice->cublas) snprintf(info->config, sizeof info->config, "cublas");
    else config_format(&choice->config, info->config);
    snprintf(info->tuned_for, sizeof info->tuned_for, "%.255s", choice->tuned_for);
    snprintf(info->when, sizeof info->when, "%s", choice->when);
    snprintf(info->why, sizeof info->why, "%s", choice->why);
    info->adds_to_c = executable->problem.beta != 0;
    info->workspace_bytes = executable->need.bytes;
    if (executable->need.bytes > 0) info->workspaces = executable->handle->workspaces;
}

/* Then its argument is that of every call but for pointers and scalars, and short. */
static bool is_one_launch(struct executable *executable)
{
    struct executable_form *form = &executable->form;
    const struct launch_call nothing = {.alpha = 0};
    struct launch_walk walk;
    struct launch only, more;
    const int most = executable->problem.epilogue ? EXTENDED_ARGUMENT_MAX : PLAIN_ARGUMENT_MAX;
    const bool plain = form->plan.views == 0 && form->plan.argument_bytes <= most &&
                       !launch_has_attributes(&form->plan.kernel[0]);
    launch_walk_start(&walk, &form->plan, &nothing);
    const bool one = plain && launch_walk_next(&walk, &only) && !launch_walk_next(&walk, &more);
    if (one) {
        memcpy(form->only.grid, only.grid, sizeof only.grid);
        memcpy(form->only.argument, only.argument, (size_t)form->plan.argument_bytes);
    }
    return one;
}

/* Load the module and prepare its launch. */
static enum status build_kernel(struct executable *executable, const struct config *config, bool *passing)
{
    struct gt_handle *handle = executable->handle;
    struct executable_form *form = &executable->form;
    const struct gpu *gpu = &executable->context->device.gpu;
    if (handle->flags & GT_NO_COMPILER || atomic_load(&handle->no_compiler))
        return fail(E_COMPILER, "nothing can be compiled");
    const struct kernel_key kernel = kernel_key_of(config, &executable->problem, gpu->arch);
    enum status st = modules_get(handle, executable->context, &kernel, &executable->module, passing);
    if (st == E_COMPILER) {
        char version[16];
        notice(&handle->notices, NOTICE_COMPILER, "tuned kernels cannot be compiled: %s", status_text());
        if (compile_load(version)) atomic_store(&handle->no_compiler, true); /* else it may be this kernel */
    }
    if (st) return st;
    config->template->plan(config, &executable->problem, &form->plan);
    if (executable->scalars_on_device && form->plan.slots.alpha_device == LAUNCH_NOWHERE)
        return fail(E_ABSENT, "its kernels take no scalars from the device");
    if (form->plan.workspace_bytes > 0)
        executable->need =
            (struct workspace_need){4 * (size_t)form->plan.counters, (size_t)form->plan.workspace_bytes};
    device_was_short_of_memory(); /* whatever it was about */
    st = kernel_bind(module_code(executable->module), gpu, &form->plan, form->function);
    *passing = st && device_was_short_of_memory();
    executable->counted = !module_is_kept(executable->module);
    const bool usual = executable->need.bytes == 0 && !executable->counted && is_one_launch(executable);
    executable->usual = usual && !executable->problem.epilogue;
    executable->usual_extended = usual && executable->problem.epilogue;
    return st;
}

/* An algorithm that won. Of another version of cublasLt it would have to be judged again. */
static enum status build_algorithm(struct executable *executable, const struct config *config, bool *passing)
{
    struct gt_handle *handle = executable->handle;
    struct blas_pool *pool = &executable->context->blas;
    const bool loaded = handle->flags & GT_NO_CUBLAS;
    if (loaded && !(handle->flags & GT_LOADED_CUBLASLT)) return fail(E_ABSENT, "cuBLAS is not to be used");
    enum status st = blas_pool_open_lt(pool, loaded);
    if (st) notice(&handle->notices, NOTICE_CUBLAS, "cublasLt cannot be used: %s", status_text());
    *passing = st == E_GPU;
    if (!st)
        st = blas_pool_load_lt(pool, &executable->problem, config, executable->scalars_on_device,
                               &executable->lt);
    executable->need.bytes = blas_lt_workspace(&executable->lt);
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* What cublasLt proposed for a race is asked for again, as far as the limit of workspaces allows. */
static enum status build_lt(struct executable *executable, int alignment, bool without, bool *passing)
{
    const size_t limit = (size_t)executable->handle->workspace_bytes;
    const struct blas_lt_wish wish = {.scalars_on_device = executable->scalars_on_device,
                                      .alignment = alignment,
                                      .workspace_bytes = without ? 0
                                                         : limit < BLAS_LT_WORKSPACE_BYTES
                                                             ? limit
                                                             : BLAS_LT_WORKSPACE_BYTES};
    enum status st =
        blas_pool_make_lt(&executable->context->blas, &executable->problem, &wish, &executable->lt, passing);
    executable->need.bytes = blas_lt_workspace(&executable->lt);
    return st;
}

static enum status build_cublas(struct executable *executable, int alignment, bool without, bool *passing)
{
    struct gt_handle *handle = executable->handle;
    struct blas_pool *pool = &executable->context->blas;
    const struct problem *problem = &executable->problem;
    if (handle->flags & GT_NO_CUBLAS) return fail(E_ABSENT, "cuBLAS is not to be used");
    /* The arrays of A and B may be NULL then, and cuBLAS does not say that it leaves them alone. */
    if (problem->pointers && problem->k == 0)
        return fail(E_ABSENT, "cuBLAS is not asked for a product of pointers with k = 0");
    enum status st = problem->epilogue ? blas_pool_open_lt(pool, false) : blas_pool_open(pool);
    if (st) notice(&handle->notices, NOTICE_CUBLAS, "cuBLAS cannot be used: %s", status_text());
    *passing = st == E_GPU;
    if (!st && problem->epilogue) return build_lt(executable, alignment, without, passing);
    if (!st && !blas_takes(problem)) st = fail(E_ABSENT, "this cuBLAS is too old for sizes above 2^31");
    return st == E_GPU ? fail(E_ABSENT, "%s", status_text()) : st;
}

enum status executable_build(const struct gt_plan *plan, const struct choice *choice, int alignment,
                             bool without, struct executable **out, bool *passing)
{
    enum status st = OK;
    struct executable *executable = calloc(1, sizeof *executable);
    if (!executable) return fail(E_MEMORY, "out of memory while making a plan");
    executable->problem = plan->problem;
    executable->handle = plan->handle;
    executable->context = plan->context;
    *passing = false;
    if (!choice) {
        executable->info.source = GT_EXACT;
        snprintf(executable->info.why, sizeof executable->info.why, "C has no elements: nothing is launched");
    } else {
        const bool algorithm = !choice->cublas && template_is_library(choice->config.template);
        executable->cublas = choice->cublas || algorithm;
        executable->by_lt = algorithm || plan->problem.epilogue;
        executable->scalars_on_device = plan->traits.scalars_on_device;
        /* cuBLAS looks at the addresses itself; an algorithm of cublasLt is chosen for them. */
        executable->unaligned =
            (uintptr_t)(executable->cublas && !executable->by_lt ? plan->traits.element : alignment) - 1;
        st = choice->cublas ? build_cublas(executable, alignment, without, passing)
             : algorithm    ? build_algorithm(executable, &choice->config, passing)
                            : build_kernel(executable, &choice->config, passing);
        if (!st) describe(executable, choice);
    }
    if (st) executable_free(executable);
    else *out = executable;
    return st;
}

void executable_free(struct executable *executable)
{
    if (!executable) return;
    if (executable->module) modules_release(executable->handle, executable->module);
    blas_lt_close(&executable->lt);
    free(executable);
}

static bool no_context(void)
{
    CUcontext current = NULL;
    return cuda.CtxGetCurrent(&current) == CUDA_SUCCESS && !current;
}

/* touched: something that writes C had been enqueued before. */
static __attribute__((noinline)) enum launch_result failed(CUresult result, bool touched)
{
    if (result == CUDA_ERROR_INVALID_CONTEXT && !touched && no_context()) return LAUNCH_NO_CONTEXT;
    bool refused = kernel_refused(result) && !touched;
    device_check(result, refused ? "the driver refuses the kernel" : "launch the kernel");
    return !refused                             ? LAUNCH_FAILED
           : result == CUDA_ERROR_OUT_OF_MEMORY ? LAUNCH_REFUSED_FOR_NOW
                                                : LAUNCH_REFUSED;
}

static enum launch_result launch_form(const struct executable *executable, CUdeviceptr workspace,
                                      const struct gemm_call *call)
{
    const struct executable_form *form = &executable->form;
    struct launch_call with = {.operand = {[LAUNCH_A] = call->a,
                                           [LAUNCH_B] = call->b,
                                           [LAUNCH_C] = call->c,
                                           [LAUNCH_WORKSPACE] = workspace,
                                           [LAUNCH_SOURCE] = call->source,
                                           [LAUNCH_BIAS] = call->bias}};
    bool touched;
    if (call->scalars_on_device) {
        with.alpha_device = (uintptr_t)call->alpha;
        with.beta_device = (uintptr_t)call->beta;
    } else {
        with.alpha = *(const float *)call->alpha;
        with.beta = *(const float *)call->beta;
    }
    CUresult result = launcher_enqueue(&form->plan, form->function, &with, call->stream, &touched);
    return result == CUDA_SUCCESS ? LAUNCH_DONE : failed(result, touched);
}

/* The same where one plain launch is all. extended: it has an epilogue. */
static inline __attribute__((always_inline)) enum launch_result
launch_only(const struct executable *executable, const struct gemm_call *call, bool extended)
{
    const struct executable_form *form = &executable->form;
    const struct launch_slots *slots = &form->plan.slots;
    _Alignas(16) unsigned char argument[LAUNCH_NOWHERE + sizeof(uintptr_t)];
    memcpy(argument, form->only.argument, extended ? EXTENDED_ARGUMENT_MAX : PLAIN_ARGUMENT_MAX);
    launch_write_address(argument, slots->a, call->a);
    launch_write_address(argument, slots->b, call->b);
    launch_write_address(argument, slots->c, call->c);
    if (extended) {
        launch_write_address(argument, slots->source, call->source);
        launch_write_address(argument, slots->bias, call->bias);
    }
    if (call->scalars_on_device) {
        launch_write_address(argument, slots->alpha_device, (uintptr_t)call->alpha);
        launch_write_address(argument, slots->beta_device, (uintptr_t)call->beta);
    } else {
        launch_write_scalar(argument, slots->alpha, *(const float *)call->alpha);
        launch_write_scalar(argument, slots->beta, *(const float *)call->beta);
    }
    CUresult result = launcher_enqueue_plain(form->function[0], &form->plan.kernel[0], form->only.grid,
                                             argument, call->stream);
    return result == CUDA_SUCCESS ? LAUNCH_DONE : failed(result, false);
}

static enum launch_result launch_cublas(const struct executable *executable, CUdeviceptr workspace,
                                        const struct gemm_call *call)
{
    switch (executable->by_lt ? blas_pool_run_lt(&executable->lt, workspace, call)
                              : blas_pool_run(&executable->context->blas, &executable->problem, call)) {
    case OK:
        return LAUNCH_DONE;
    case E_ABSENT:
        return LAUNCH_REFUSED;
    case E_MEMORY:
        return LAUNCH_REFUSED_FOR_NOW;
    default:
        return LAUNCH_FAILED;
    }
}

/* With a workspace there, 0 if none is needed. */
static enum launch_result launch_at(const struct executable *executable, CUdeviceptr workspace,
                                    const struct gemm_call *call)
{
    return executable->cublas ? launch_cublas(executable, workspace, call)
                              : launch_form(executable, workspace, call);
}

/* In the caller's workspace, which may hold anything. */
static enum launch_result launch_in_theirs(const struct executable *executable, const struct gemm_call *call)
{
    CUresult result = CUDA_SUCCESS;
    if (executable->need.counters > 0)
        result = cuda.MemsetD8Async(call->workspace, 0, executable->need.counters, call->stream);
    if (result != CUDA_SUCCESS) return failed(result, false);
    return launch_at(executable, call->workspace, call);
}

/* Bytes of which a workspace of cublasLtMatmul is a multiple (its documentation). */
#define LT_WORKSPACE_ALIGNMENT 256

static enum launch_result launch_in_workspace(const struct executable *executable,
                                              const struct gemm_call *call)
{
    struct workspaces *workspaces = executable->context->workspaces;
    struct workspace_turn turn;
    const bool fits = call->workspace && call->workspace_bytes >= executable->need.bytes &&
                      !(executable->cublas && call->workspace % LT_WORKSPACE_ALIGNMENT);
    if (fits) return launch_in_theirs(executable, call);
    if (!workspaces || !workspaces_enter(workspaces, &executable->need, call->stream, &turn))
        return no_context() ? LAUNCH_NO_CONTEXT : LAUNCH_NO_WORKSPACE;
    enum launch_result result = launch_at(executable, turn.at, call);
    workspaces_leave(&turn, result == LAUNCH_DONE);
    return result;
}

static __attribute__((noinline)) enum launch_result launch_unusual(struct executable *executable,
                                                                   const struct gemm_call *call)
{
    if (executable->usual_extended) return launch_only(executable, call, true);
    if (executable->provisional && !call->as_planned && atomic_fetch_sub(&executable->retry, 1) == 1)
        return LAUNCH_RETRY_DUE;
    if (executable->counted && modules_hold(executable->handle, executable->module, call->stream))
        return no_context() ? LAUNCH_NO_CONTEXT : LAUNCH_FAILED;
    if (executable->need.bytes > 0) return launch_in_workspace(executable, call);
    return launch_at(executable, 0, call);
}

enum launch_result executable_launch(struct executable *executable, const struct gemm_call *call)
{
    return __builtin_expect(executable->usual, 1) ? launch_only(executable, call, false)
                                                  : launch_unusual(executable, call);
}
