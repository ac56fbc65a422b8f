/* tall.c — a long and narrow C whose long operand has unaligned rows along k, in strict FP32, on the host:
 * what a block needs, which parameter is what, and the instructions of a kernel, for the model of streaming
 * kernels.
 *
 * Nothing of the model was fitted to this template: instructions are counted in its machine code (CUDA 13.0,
 * sm_90a). The fastest 18 kernels of three problems on an H200 took 0.98 to 1.15 times what it says, the
 * fastest of each was 15th, 33rd and 504th in its order.
 */
#define FAMILY_PARAMS "tall_params.def"
#define FAMILY_RULES  "tall_rules.h"
#include "family_template.h"

#include "walkers.h"

#define REGISTERS_LEAST 32 /* pointers and counters: with less room the compiler spills */

/* Of a block. Without a problem the least that it needs. */
static int64_t smem_bytes(const struct config *config, const struct problem *p)
{
    const int64_t k = p ? p->k : 1;
    return 4 * (RESIDENT_ROWS(k) * STRIDE_RESIDENT + (int64_t)STAGES * STAGE_FLOATS + SPARE_FLOATS);
}

/* How much more shared memory a problem needs say launch and refuse_last. */
static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    return walker_sizes(config, REGISTERS_LEAST, smem_bytes(config, NULL));
}

/* Rows that vectors fit are refused though the kernel would be right: it exists for the others, and a search
 * is long enough without it. */
static const char *refuse(const struct config *config, int known, const struct problem *p,
                          const struct gpu *gpu)
{
    (void)gpu;
    if (!KNOWN(SIDE)) return NULL;
    if ((SIDE == 0 ? p->ldb : p->lda) % 4 == 0)
        return "rows of the streamed operand begin at multiples of 16 bytes";
    if (KNOWN(BN) && stays_length(config, p) > RESIDENT_X)
        return "the tile does not reach across the small side of C";
    return NULL;
}

static int64_t tiles_of(const struct config *config, const struct problem *p)
{
    return ceil_div(stream_length(config, p), STREAM_X);
}

static const char *refuse_last(const struct config *config, int known, const struct problem *p,
                               const struct gpu *gpu)
{
    if (p && KNOWN(SMS) && stream_length(config, p) > 0 && tiles_of(config, p) < (int64_t)SMS * MIN_BLOCKS)
        return "C is too short: blocks would have no tile";
    if (!KNOWN(STAGES)) return NULL;
    return check_stages(config, known, gpu, smem_bytes(config, p),
                        "the small operand and the stages do not fit in a block's shared memory");
}

static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    (void)plan;
    product->grid[0] = (unsigned)smaller((int64_t)SMS * MIN_BLOCKS, tiles_of(config, p));
    product->smem_bytes = (unsigned)smem_bytes(config, p);
}

static const struct tiled tiled_tall = {
    WALKERS_ROW,
    .computes = "the tall family computes sgemm",
    .arch = {80, 0, "the tall family needs cp.async (sm_80)"},
    .vectors = {WIDER(VC, C, "C")},
    .quarters = true,
    .refuse = refuse,
};

/* ---- the predicted time ---- */

/* Issue slots of a thread's warp. */
#define COPY_SLOTS  3.0  /* an asynchronous copy of 16 bytes, and the next row's address */
#define STAGE_SLOTS 75.0 /* barrier, shifts, pointers and branches */
#define TURN_SLOTS  4.0  /* of the loop inside a stage */
#define REST_SLOTS  30.0 /* a step left over: the next one's fragments are waited for */

/* A step of one warp: its instructions, or the four schedulers' turns at shared memory, which serves a row of
 * the tall side each cycle, and of the small one four floats in two. */
static double step_slots(const struct config *config, const struct gpu *gpu)
{
    double sums = TM * TN, small = RESIDENT_T, tall = STREAM_T;
    double issued = sums + tall * stream_lds.one + fragment_slots(small, &stream_lds);
    return fmax(fmax(issued, sums * ffma_cycles(gpu)), 4 * (tall + small / 2));
}

/* Steps of a stage of so many k that no whole turn of the loop has room for. What the last one reads ahead
 * nobody waits for. */
static double rest_of(const struct config *config, double k)
{
    return fmax(fmod(k, UNROLL) - 0.6, 0);
}

/* Of a tile. Its first stage is the short one. */
static double steps_slots(const struct config *config, const struct gpu *gpu, double k, double k_tiles)
{
    double first = k_tiles > 0 ? k - (k_tiles - 1) * BK : 0;
    double rests = rest_of(config, first) + fmax(k_tiles - 1, 0) * rest_of(config, BK);
    return k * (step_slots(config, gpu) + TURN_SLOTS / UNROLL) + rests * REST_SLOTS;
}

static double stage_slots(const struct config *config)
{
    double along = exp2(ceil(log2(VECTORS)));
    return STAGE_SLOTS + ceil((STREAM_X)*along / (THREADS)) * COPY_SLOTS;
}

static struct prediction tall_predict(const struct config *config, const struct problem *problem,
                                      const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct stream_kernel s =
        stream_kernel_of(config, problem, smaller((int64_t)SMS * MIN_BLOCKS, tiles_of(config, problem)));
    s.k_l2 = BK + 4; /* a row is a vector longer than its floats */
    s.steps_slots = steps_slots(config, gpu, s.k, s.k_tiles);
    s.stage_slots = stage_slots(config);
    s.code_slots = (UNROLL + 1) * (s.sums + (STREAM_T) + (double)(RESIDENT_T) / 4) + STAGE_SLOTS;
    return stream_predict(&s, problem, gpu, facts);
}

FAMILY(tall, GEMM_TYPES_FFMA,
       .summary = "strict FP32 for a long and narrow (or low) C whose long operand has unaligned rows of k",
       .macros = TEMPLATE_MACRO_EPILOGUE)
