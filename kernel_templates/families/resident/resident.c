/* resident.c — a long and low C in strict FP32 on the host: what a block needs, which parameter is what, how
 * many blocks walk, and the instructions of a kernel, for the model of streaming kernels. */
#define FAMILY_PARAMS "resident_params.def"
#define FAMILY_RULES  "resident_rules.h"
#include "family_template.h"

#include "walkers.h"

#define REGISTERS_LEAST 20 /* pointers and counters: with less room the compiler spills */

/* Of a block: the least that it needs, as far as is known. The problem may be NULL, too. */
static int64_t smem_bytes(const struct config *config, int known, const struct problem *p)
{
    const bool TRANS_A = p ? p->trans_a : true, TRANS_B = p && p->trans_b;
    int64_t k = p ? p->k : 1, barriers = 0;
    if (KNOWN(LOADER)) barriers = BARRIER_FLOATS;
    if (KNOWN(UNROLL)) k = p ? ceil_div(k, K_STEP) * K_STEP : K_STEP;
    return 4 * ((int64_t)STAGES * STAGE_FLOATS + barriers + k * STRIDE_RESIDENT);
}

/* How much more shared memory a problem needs say launch and refuse_last. */
static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    return walker_sizes(config, REGISTERS_LEAST, smem_bytes(config, P_COUNT, NULL));
}

static const char *refuse_last(const struct config *config, int known, const struct problem *p,
                               const struct gpu *gpu)
{
    if (!KNOWN(STAGES)) return NULL;
    return check_stages(config, known, gpu, smem_bytes(config, known, p),
                        "the resident operand and the stages do not fit in a block's shared memory");
}

/* Rows of tiles share the streamed operand; each has as many blocks as the others. */
static int64_t rows_of_tiles(const struct config *config, const struct problem *p)
{
    return ceil_div(stays_length(config, p), RESIDENT_X);
}

static int64_t walkers_of_row(const struct config *config, const struct problem *p)
{
    const int64_t rows = rows_of_tiles(config, p), blocks = (int64_t)SMS * MIN_BLOCKS;
    return blocks > rows ? smaller(blocks / rows, ceil_div(stream_length(config, p), STREAM_X)) : 1;
}

static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    (void)plan;
    product->grid[0] = (unsigned)(rows_of_tiles(config, p) * walkers_of_row(config, p));
    product->smem_bytes = (unsigned)smem_bytes(config, P_COUNT, p);
}

static const struct tiled tiled_resident = {
    WALKERS_ROW,
    .computes = "the resident family computes sgemm",
    .arch = {80, 0, "the resident family needs cp.async (sm_80)"},
    .needs = {{AT(LOADER), 2, 90, "bulk copies (LOADER 3) need sm_90"}},
    .vectors = {WIDER(VS, STREAMED, "the streamed operand"), WIDER(VC, C, "C")},
};

/* ---- the predicted time ---- */

/* Issue slots of a thread's warp. */
#define COPY_SLOTS  4.0  /* an asynchronous copy, its address and guard */
#define ALONG_SLOTS 34.0 /* one that transposes, a float: a line of memory for each few lanes */
#define STAGE_SLOTS 60.0 /* barrier, pointers and branches */
#define FLOW_SLOTS  64.0 /* two mbarriers instead */
#define BULK_SLOTS  5.0  /* a bulk copy of a row, by one warp of the block */
#define BULK_TURN   30.0 /* of the warp whose turn it is */
#define ODD_SLOTS   12.0 /* fragments are not ahead at the end of an odd stage */
#define TURN_SLOTS  5.0  /* of the loop inside a stage */

/* Turns of the loop inside a stage but for the last, which is code of its own. */
static double turns_before(const struct config *config)
{
    return (BK - 1) / UNROLL;
}

static double stage_slots(const struct config *config, bool along_k)
{
    double floats = (double)(STREAM_X)*BK / THREADS;
    double copies = along_k ? floats * ALONG_SLOTS : floats / VS * COPY_SLOTS;
    if (LOADER == 1)
        return copies + (STAGE_SLOTS + turns_before(config) * TURN_SLOTS + (BK % 2 == 1 ? ODD_SLOTS : 0));
    double stage = copies + (FLOW_SLOTS + (double)BK / UNROLL * TURN_SLOTS);
    if (LOADER == 3) stage += (BK * BULK_SLOTS + BULK_TURN) * 32 / THREADS - copies;
    return stage;
}

static double code_slots(const struct config *config)
{
    double turns = turns_before(config);
    double steps = LOADER > 1 ? UNROLL : turns > 1 ? BK - (turns - 1) * UNROLL : BK;
    return steps * (TM * TN + (double)(TM + TN) / 4) + STAGE_SLOTS;
}

static struct prediction resident_predict(const struct config *config, const struct problem *problem,
                                          const struct gpu *gpu, const struct kernel_facts *facts)
{
    const bool TRANS_A = problem->trans_a, TRANS_B = problem->trans_b;
    struct stream_kernel s = stream_kernel_of(config, problem, walkers_of_row(config, problem));
    const double step = s.sums + fragment_slots(TM, &stream_lds) + fragment_slots(TN, &stream_lds);
    const double k_rows = ceil(s.k / (K_STEP)) * (K_STEP); /* with the zeros that fill them up */
    s.rows = (double)rows_of_tiles(config, problem);
    s.steps_slots = k_rows * fmax(step, s.sums * ffma_cycles(gpu));
    s.stage_slots = stage_slots(config, STREAM_ALONG_K);
    s.code_slots = code_slots(config);
    return stream_predict(&s, problem, gpu, facts);
}

FAMILY(resident, GEMM_TYPES_FFMA,
       .summary = "strict FP32 for a long and low (or narrow) C: the small operand stays in shared memory",
       .macros = TEMPLATE_MACRO_EPILOGUE)
