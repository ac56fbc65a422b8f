/* The tensor-core family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "mma_host.h"

#include "gemm_block.h"
#include "launch_limits.h"
#include "split_k.h"

#define REGISTERS_BESIDES 24                   /* pointers and counters: with less room the compiler spills */
#define PARTS_BYTES_MAX   (INT64_C(256) << 20) /* for the parts of a cut k */

#define RULES    "mma_rules.h"
#define COMPUTES "the mma family computes tf32gemm"
#include "family_template.h"

static struct resources mma_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = WM * WN / 32};
}

/* Registers that hold values during the whole main loop: C, and two sets of 8 k of A and B. */
static int registers_needed(const struct config *config)
{
    return WM * WN / 32 + (WM + WN) / 2;
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "mma.sync tf32 needs sm_80";
    if (!KNOWN(STAGES)) return NULL;
    const struct resources need = mma_resources(config);
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the stages do not fit in a block's shared memory";
    return check_residence(gpu, need.threads, need.smem_bytes, blocks,
                           registers_needed(config) + REGISTERS_BESIDES);
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(VA) && VA > problem_align_a(p)) return "VA is wider than A is aligned";
    if (KNOWN(VB) && VB > problem_align_b(p)) return "VB is wider than B is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut_k(p->k, BK, SPLIT_K, 0).splits;
    if (splits > 1 && p->m > 0 && p->n > PARTS_BYTES_MAX / 4 / splits / p->m)
        return "SPLIT_K needs more than 256 MiB of workspace";
    return NULL;
}

static void mma_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = mma_resources(config);
    const struct k_cut cut = cut_k(p->k, BK, SPLIT_K, 0);
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)cut.k_per_split;
    args.group = (int)smaller(GROUP, rows);
    gemm_args_put(plan, p, &args);
    plan->batch_per_launch = GRID_Z_MAX;
    if (cut.splits > 1) {
        const int64_t item_bytes = 4 * cut.splits * p->m * p->n;
        plan->batch_per_launch = items_per_launch(item_bytes);
        plan->workspace_bytes = smaller(p->batch, plan->batch_per_launch) * item_bytes;
    }
    const unsigned slice = (unsigned)smaller(p->batch, plan->batch_per_launch);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)(rows * columns), (unsigned)cut.splits, slice},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes};
    if (cut.splits > 1) plan->kernel[plan->kernels++] = reduce_launch(&args, VC, slice);
}

FAMILY(mma, GEMM_TYPE_BIT(GEMM_TF32),
       .summary = "TF32 on tensor cores, by mma.sync: any layout and alignment, split-K",
       .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS)
