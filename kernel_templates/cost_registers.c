#include "cost_registers.h"

#include <math.h>

/* How far an estimate of `needed` is off, as the scale of a logistic distribution: fitted to 11,081 kernels
 * of the simt family, of which 748 spilled (CUDA 13.0, sm_90a). */
#define NEEDED_SCALE 7.5

#define DOUBTFUL       0.65
#define SPILL_SLOWDOWN 2.0

double registers_spill_factor(double chance)
{
    return chance < DOUBTFUL ? 1 : 1 + (SPILL_SLOWDOWN - 1) * (chance - DOUBTFUL) / (1 - DOUBTFUL);
}

double registers_spill_chance(double needed, int limit)
{
    return 1 / (1 + exp((limit - needed) / NEEDED_SCALE));
}
