#include "tuned.h"

#include "modules.h"
#include "public_problem.h"

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

/* The operands are exchanged: see route.c. */
enum tuned_result tuned_launch(struct gt_plan *plan, const struct blas_request *request, CUstream stream,
                               bool *untouched, char why[TUNED_WHY_MAX])
{
    struct gt_call call =
        gt_call_make(request->alpha, request->b, request->a, request->beta, request->c, stream);
    call.bias = request->bias;
    call.source = request->source;
    call.workspace = request->workspace;
    call.workspace_bytes = request->workspace_bytes;
    call.flags = GT_AS_PLANNED; /* otherwise cuBLAS computes it */
    enum gt_status status = gt_launch(plan, &call);
    *untouched = status == GT_INVALID || status == GT_UNAVAILABLE || status == GT_MEMORY;
    if (status == GT_OK) return TUNED_READY;
    const enum tuned_result result = refused(status, "the tuned kernel failed", why);
    return status == GT_MEMORY ? TUNED_NOT_THIS : *untouched ? TUNED_LATER : result;
}
