#include "tuned.h"

#include "engine.h"
#include "modules.h"
#include "plan.h"
#include "public_problem.h"
#include "relaxed.h"

#include <stdio.h>
#include <string.h>

/* Converts the library's status. After any other result of the driver nothing in this process is reliable. */
static enum tuned_result refused(enum gt_status status, const char *what, char why[TUNED_WHY_MAX])
{
    snprintf(why, TUNED_WHY_MAX, "%s: %.200s", what, gt_error_text());
    const bool may_pass = status == GT_MEMORY || status == GT_NO_GPU || status == GT_DEVICE;
    return may_pass && !device_lost() ? TUNED_LATER : TUNED_NEVER;
}

static enum gt_status open_library(struct context *context)
{
    struct gt_options options = gt_options_make();
    enum gt_status status = GT_OK;
    options.flags = GT_NO_CUBLAS | GT_LOADED_CUBLASLT | GT_KEEP_WINNERS; /* routes_renew opens others */
    pthread_mutex_lock(&context->opening);
    if (!context->library) status = gt_open(&context->library, &options);
    pthread_mutex_unlock(&context->opening);
    return status;
}

void tuned_describe(const struct choice *choice, char why[TUNED_WHY_MAX])
{
    char ratio[64] = "", config[CONFIG_TEXT_MAX];
    if (choice->ratio > 0) snprintf(ratio, sizeof ratio, "%.3f times as fast as cuBLAS, ", choice->ratio);
    config_format(&choice->config, config);
    snprintf(why, TUNED_WHY_MAX, "%s%s%s, %.180s", ratio, choice->pinned ? "pinned, " : "",
             choice->source == CHOICE_EXACT ? "measured" : "measured for a similar problem", config);
}

/* The library may find only now that the winner cannot be used, and choose another kernel; then cuBLAS is
 * used instead. */
static bool is_wanted(const struct choice *choice, const struct gt_plan_info *info)
{
    char config[CONFIG_TEXT_MAX];
    config_format(&choice->config, config);
    return strcmp(config, info->config) == 0;
}

enum tuned_result tuned_prepare(const struct tuned_wish *wish, struct gt_plan **plan, char why[TUNED_WHY_MAX])
{
    const struct problem *p = wish->problem;
    struct gt_problem problem = public_problem(p);
    struct gt_plan_info info = gt_plan_info_make();
    problem.flags |= (wish->scalars_on_device ? GT_SCALARS_ON_DEVICE : 0) | (p->beta != 0 ? GT_ADDS_TO_C : 0);
    problem.alignment = wish->alignment;
    enum gt_status status = open_library(wish->context);
    if (status) return refused(status, "the library cannot be opened", why);
    if (!wish->may_compile) modules_no_compiling_begin();
    status = gt_plan_open(wish->context->library, &problem, plan);
    if (!wish->may_compile && modules_no_compiling_end() && status) {
        snprintf(why, TUNED_WHY_MAX, "%.200s", gt_error_text());
        return TUNED_UNBUILT;
    }
    if (status) return refused(status, "the tuned kernel cannot be prepared", why);
    gt_plan_describe(*plan, &info);
    if (is_wanted(wish->choice, &info)) {
        tuned_describe(wish->choice, why);
        return TUNED_READY;
    }
    snprintf(why, TUNED_WHY_MAX, "the tuned kernel cannot be used: %.200s", info.why);
    gt_plan_close(*plan);
    return info.provisional ? TUNED_LATER : TUNED_NEVER;
}

/* ---- launching ---- */

/* Statuses of cublasLt: the arguments are refused; before anything is launched (_ALLOC_FAILED,
 * _ARCH_MISMATCH, _NOT_SUPPORTED). */
enum { LT_INVALID_VALUE = 7, LT_ALLOC_FAILED = 3, LT_ARCH_MISMATCH = 8, LT_NOT_SUPPORTED = 15 };

/* Bytes of which a workspace of cublasLtMatmul is a multiple (its documentation). */
enum { LT_WORKSPACE_ALIGNMENT = 256 };

const struct blas_lt_choice *tuned_algorithm(const struct gt_plan *plan, const struct blas_request *request)
{
    const struct matmul *x = request->matmul;
    const struct blas_lt_choice *choice = x ? plan_algorithm(plan) : NULL;
    if (!choice || (uintptr_t)x->real->Matmul != (uintptr_t)blas_lt.Matmul)
        return NULL; /* another library's */
    const bool fits = choice->workspace_bytes == 0 ||
                      (request->workspace && (uintptr_t)request->workspace % LT_WORKSPACE_ALIGNMENT == 0 &&
                       choice->workspace_bytes <= request->workspace_bytes);
    return fits ? choice : NULL;
}

/* The program's call as it came, with another algorithm: its handle, descriptor and layouts are made and
 * known to cublasLt already. */
static enum tuned_result run_algorithm(const struct matmul *x, const struct blas_lt_choice *choice,
                                       bool repeated, bool *untouched, char why[TUNED_WHY_MAX])
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!repeated) mode = relaxed_begin(); /* the first call loads kernels */
    const int result = x->real->Matmul(x->handle, x->desc, x->alpha, x->a, x->layout_a, x->b, x->layout_b,
                                       x->beta, x->c, x->layout_c, x->d, x->layout_d, &choice->algorithm,
                                       x->workspace, x->workspace_bytes, x->stream);
    if (!repeated) relaxed_end(mode);
    if (result == BLAS_SUCCESS) return TUNED_READY;
    *untouched = result == LT_INVALID_VALUE || result == LT_ALLOC_FAILED || result == LT_ARCH_MISMATCH ||
                 result == LT_NOT_SUPPORTED;
    snprintf(why, TUNED_WHY_MAX, "cublasLt could not run its algorithm (status %d)", result);
    return result == LT_INVALID_VALUE  ? TUNED_NOT_THIS
           : result == LT_ALLOC_FAILED ? TUNED_LATER
                                       : TUNED_NEVER;
}

/* Blocks that count themselves in need counters that are 0. In the program's workspace they would have to be
 * cleared before each call, which takes the host as long as half a launch and the GPU a gap between kernels;
 * in ours the last block leaves them 0. */
#define OWN_COUNTERS_BYTES ((size_t)4 << 20)

static bool wants_own_workspace(const struct gt_plan *plan)
{
    const struct workspace_need need = plan_need(plan);
    return need.counters > 0 && need.bytes <= OWN_COUNTERS_BYTES;
}

/* The operands are exchanged: see route.c. */
enum tuned_result tuned_launch(struct gt_plan *plan, const struct blas_request *request, CUstream stream,
                               bool *untouched, char why[TUNED_WHY_MAX])
{
    const struct blas_lt_choice *algorithm = tuned_algorithm(plan, request);
    if (algorithm) return run_algorithm(request->matmul, algorithm, request->repeated, untouched, why);
    const bool own = request->workspace && wants_own_workspace(plan);
    struct gt_call call =
        gt_call_make(request->alpha, request->b, request->a, request->beta, request->c, stream);
    call.bias = request->bias;
    call.source = request->source;
    call.workspace = own ? NULL : request->workspace;
    call.workspace_bytes = own ? 0 : request->workspace_bytes;
    call.flags = GT_AS_PLANNED; /* otherwise cuBLAS computes it */
    enum gt_status status = gt_launch(plan, &call);
    if (status == GT_MEMORY && own) { /* nothing was enqueued */
        call.workspace = request->workspace;
        call.workspace_bytes = request->workspace_bytes;
        status = gt_launch(plan, &call);
    }
    *untouched = status == GT_INVALID || status == GT_UNAVAILABLE || status == GT_MEMORY;
    if (status == GT_OK) return TUNED_READY;
    const enum tuned_result result = refused(status, "the tuned kernel failed", why);
    return status == GT_MEMORY ? TUNED_NOT_THIS : *untouched ? TUNED_LATER : result;
}
