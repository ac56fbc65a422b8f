/* model_resident.c — the instructions of a resident kernel, for the model of streaming kernels. */
#include "resident_host.h"

#include "stream_family.h"

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

struct prediction resident_predict(const struct config *config, const struct problem *problem,
                                   const struct gpu *gpu, const struct kernel_facts *facts)
{
    const bool TRANS_A = problem->trans_a, TRANS_B = problem->trans_b;
    struct stream_kernel s = stream_kernel_of(config, problem);
    const double step = s.sums + fragment_slots(TM, &stream_lds) + fragment_slots(TN, &stream_lds);
    const double k_rows = ceil(s.k / (K_STEP)) * (K_STEP); /* with the zeros that fill them up */
    s.rows = ceil((double)stays_length(config, problem) / (RESIDENT_X));
    s.walkers /= s.rows;
    s.steps_slots = k_rows * fmax(step, s.sums * ffma_cycles(gpu));
    s.stage_slots = stage_slots(config, STREAM_ALONG_K);
    s.code_slots = code_slots(config);
    return stream_predict(&s, problem, gpu, facts);
}
