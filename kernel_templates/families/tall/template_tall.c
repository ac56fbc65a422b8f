/* The tall family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "tall_host.h"

#include "stream_family.h"

#define REGISTERS_BESIDES 32 /* pointers and counters: with less room the compiler spills */

#define RULES    "tall_rules.h"
#define COMPUTES "the tall family computes sgemm"
#include "family_template.h"

/* Of a block. Without a problem the least that it needs. */
static int64_t smem_bytes(const struct config *config, const struct problem *p)
{
    const int64_t k = p ? p->k : 1;
    return 4 * (RESIDENT_ROWS(k) * STRIDE_RESIDENT + (int64_t)STAGES * STAGE_FLOATS + SPARE_FLOATS);
}

/* How much more shared memory a problem needs say plan and check. */
static struct resources tall_resources(const struct config *config)
{
    return (struct resources){
        .threads = THREADS, .smem_bytes = (int)smem_bytes(config, NULL), .accumulators = TM * TN};
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "the tall family needs cp.async (sm_80)";
    return check_walkers(config, known, gpu, 128,
                         REGISTERS_BESIDES); /* an SM's four parts have as many each */
}

/* Rows that vectors fit are refused though the kernel would be right: it exists for the others, and a search
 * is long enough without it. */
static const char *check_shape(const struct config *config, int known, const struct problem *p)
{
    if (!KNOWN(SIDE)) return NULL;
    const int64_t ld = SIDE == 0 ? p->ldb : p->lda, tall = stream_length(config, p);
    if (ld % 4 == 0) return "rows of the streamed operand begin at multiples of 16 bytes";
    if (KNOWN(BN) && stays_length(config, p) > RESIDENT_X)
        return "the tile does not reach across the small side of C";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (KNOWN(SMS) && tall > 0 && ceil_div(tall, STREAM_X) < (int64_t)SMS * MIN_BLOCKS)
        return "C is too short: blocks would have no tile";
    return NULL;
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    const char *why = p ? check_shape(config, known, p) : NULL;
    if (why || !KNOWN(STAGES)) return why;
    return check_stages(config, known, gpu, smem_bytes(config, p),
                        "the small operand and the stages do not fit in a block's shared memory");
}

static void tall_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;
    const int64_t tiles = ceil_div(stream_length(config, p), STREAM_X);
    plan_walkers(config, p, smaller((int64_t)SMS * MIN_BLOCKS, tiles), smem_bytes(config, p), plan);
}

FAMILY(tall, GEMM_TYPE_BIT(GEMM_SGEMM),
       .summary = "strict FP32 for a long and narrow (or low) C whose long operand has unaligned rows of k",
       .macros = TEMPLATE_MACRO_EPILOGUE)
