/* The resident family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "resident_host.h"

#include "stream_family.h"

#define REGISTERS_BESIDES 20 /* pointers and counters: with less room the compiler spills */

#define RULES    "resident_rules.h"
#define COMPUTES "the resident family computes sgemm"
#include "family_template.h"

/* Of a block: the least that it needs, as far as is known. The problem may be NULL, too. */
static int64_t smem_bytes(const struct config *config, int known, const struct problem *p)
{
    const bool TRANS_A = p ? p->trans_a : true, TRANS_B = p && p->trans_b;
    int64_t k = p ? p->k : 1, barriers = 0;
    if (KNOWN(LOADER)) barriers = BARRIER_FLOATS;
    if (KNOWN(UNROLL)) k = ceil_div(k, K_STEP) * K_STEP;
    return 4 * ((int64_t)STAGES * STAGE_FLOATS + barriers + k * STRIDE_RESIDENT);
}

/* How much more shared memory a problem needs say plan and check. */
static struct resources resident_resources(const struct config *config)
{
    return (struct resources){
        .threads = THREADS, .smem_bytes = (int)smem_bytes(config, P_COUNT, NULL), .accumulators = TM * TN};
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "the resident family needs cp.async (sm_80)";
    if (KNOWN(LOADER) && LOADER == 3 && !gpu_has_tma(gpu)) return "bulk copies (LOADER 3) need sm_90";
    return check_walkers(config, known, gpu, 1, REGISTERS_BESIDES);
}

static const char *check_operands(const struct config *config, int known, const struct problem *p)
{
    if (KNOWN(VS) && VS > (SIDE == 0 ? problem_align_b(p) : problem_align_a(p)))
        return "VS is wider than the streamed operand is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    return NULL;
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    const char *why = p ? check_operands(config, known, p) : NULL;
    if (why || !KNOWN(STAGES)) return why;
    return check_stages(config, known, gpu, smem_bytes(config, known, p),
                        "the resident operand and the stages do not fit in a block's shared memory");
}

static void resident_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    /* Rows of tiles share the streamed operand; each has as many blocks as the others. */
    const int64_t rows = ceil_div(stays_length(config, p), RESIDENT_X);
    const int64_t tiles = ceil_div(stream_length(config, p), STREAM_X);
    const int64_t blocks = (int64_t)SMS * MIN_BLOCKS;
    const int64_t walkers = blocks > rows ? smaller(blocks / rows, tiles) : 1;
    plan_walkers(config, p, rows * walkers, smem_bytes(config, P_COUNT, p), plan);
}

FAMILY(resident, GEMM_TYPE_BIT(GEMM_SGEMM),
       .summary = "strict FP32 for a long and low (or narrow) C: the small operand stays in shared memory",
       .macros = TEMPLATE_MACRO_EPILOGUE)
