/* model_tall.c — the instructions of a tall kernel, for the model of streaming kernels.
 *
 * Nothing here was fitted to this family: instructions are counted in its machine code (CUDA 13.0, sm_90a).
 * The fastest 18 kernels of three problems on an H200 took 0.98 to 1.15 times what it says, the fastest of
 * each was 15th, 33rd and 504th in its order.
 */
#include "tall_host.h"

#include "stream_family.h"

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

struct prediction tall_predict(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct stream_kernel s = stream_kernel_of(config, problem);
    s.k_l2 = BK + 4; /* a row is a vector longer than its floats */
    s.steps_slots = steps_slots(config, gpu, s.k, s.k_tiles);
    s.stage_slots = stage_slots(config);
    s.code_slots = (UNROLL + 1) * (s.sums + (STREAM_T) + (double)(RESIDENT_T) / 4) + STAGE_SLOTS;
    return stream_predict(&s, problem, gpu, facts);
}
