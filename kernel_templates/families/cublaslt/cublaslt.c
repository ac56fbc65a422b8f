/* cublaslt.c — algorithms of cublasLt as configurations of a template without sources: nothing is
 * compiled, and what computes is NVIDIA's library (tuner/gpu/lt_kernel.h).
 *
 * A configuration serves the problem that it was proposed for. The rules know only what no algorithm of
 * cublasLt does; whether one runs, the library says (cublasLtMatmulAlgoCheck).
 */
#include "epilogue.h"
#include "gemm_block.h"
#include "template.h"

#include <math.h>

#define PARAMS                                        "cublaslt_params.def"
#define PARAM(name, kind, role, least, most, meaning) P_##name,
enum {
#include PARAMS
    P_COUNT
};
#undef PARAM
#define PARAM(name, kind, role, least, most, meaning)                                                        \
    {#name, PARAM_##kind, ROLE_##role, least, most, meaning},
static const struct param params[P_COUNT] = {
#include PARAMS
};
#undef PARAM

static const struct source_text no_sources[] = {{NULL, NULL}};

static struct resources cublaslt_resources(const struct config *config)
{
    (void)config;
    return (struct resources){.threads = 1};
}

/* The partial sums of split-K in C's type, which is narrower than the sums' (cublasLtReductionScheme_t). */
static bool sums_in_c(const struct config *config, const struct problem *p)
{
    enum { IN_PLACE = 1, IN_WORKSPACE = 4 };
    const struct gemm_type_row *row = gemm_type_row(p->type);
    return config->value[P_SPLIT_K] > 1 && element_bytes(row->c) < element_bytes(row->sum) &&
           config->value[P_SUMS] & (IN_PLACE | IN_WORKSPACE);
}

static const char *cublaslt_check(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, P_COUNT);
    if (why || !p) return why;
    if (gpu && gpu->arch < gemm_type_row(p->type)->least_arch) return "the GPU has no units for the type";
    if (!template_serves(config->template, p))
        return p->invariant  ? "cublasLt says nothing of the order in which it adds"
               : p->pointers ? "cublasLt is not asked for arrays of pointers"
                             : "cublasLt lacks the type";
    if (sums_in_c(config, p)) return "it adds partial sums in C's type, and the problem's are FP32";
    if (!epilogue_in_cublaslt(p->epilogue)) return "cublasLt has no bias for the rows of row-major C";
    return p->k == 0 ? "cublasLt takes no product with K = 0" : NULL;
}

/* Nothing that a launch plan could say: kernels and grids are cublasLt's. */
static void cublaslt_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (gemm_plan_begin(plan, p)) plan->workspace_bytes = config->value[P_WORKSPACE];
}

/* The machine's limit, since nothing is known of the algorithm. */
static struct prediction cublaslt_predict(const struct config *config, const struct problem *problem,
                                          const struct gpu *gpu, const struct kernel_facts *facts)
{
    (void)config, (void)facts;
    /* FP32 by FFMA in the accuracy classes, too. */
    const enum gemm_type computed = gemm_type_has_limits(problem->type) ? GEMM_SGEMM : problem->type;
    const double compute_us = problem_flop(problem) / (gpu_peak_tflops(gpu, computed) * 1e6);
    const double memory_us = problem_bytes(problem) / (gpu->memory_gb_per_s * 1e3);
    return (struct prediction){.time_us = fmax(compute_us, memory_us),
                               .compute_us = compute_us,
                               .memory_us = memory_us,
                               .blocks_per_sm = 1,
                               .waves = 1};
}

extern const struct template template_cublaslt;
const struct template template_cublaslt = {
    .name = "cublaslt",
    .summary = "an algorithm that cublasLt proposes for the problem",
    .params = params,
    .param_count = P_COUNT,
    .computes = GEMM_TYPES_CUBLAS,
    .macros = TEMPLATE_MACRO_EPILOGUE,
    .sources = no_sources,
    .resources = cublaslt_resources,
    .check = cublaslt_check,
    .plan = cublaslt_plan,
    .predict = cublaslt_predict,
};
