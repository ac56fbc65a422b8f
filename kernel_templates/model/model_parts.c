#include "model_parts.h"

#include <math.h>

#define TOO_FEW_WARPS 0.72  /* share of the slots that less than a warp a scheduler uses */
#define ALWAYS_LOST   0.028 /* of the slots, with any number of warps */

double ffma_cycles(const struct gpu *gpu)
{
    double lanes = gpu_rate(gpu, "fp32") * 1e6 / (2.0 * gpu->sm_count * gpu->clock_mhz);
    return lanes > 96 ? 1 : 2;
}

double fragment_slots(double floats, const struct lds_slots *slots)
{
    if (fmod(floats, 4) == 0) return floats / 4 * slots->four;
    if (fmod(floats, 2) == 0) return floats / 2 * slots->two;
    return floats * slots->one;
}

double latency_hidden(double warps, double lone)
{
    return warps < 1 ? TOO_FEW_WARPS : 1 - lone / (warps * warps) - ALWAYS_LOST;
}

double narrow_stores(double floats)
{
    return floats >= 4 ? 1 : floats >= 2 ? 1.02 : 1.06;
}

double overlapped_us(double x, double y, double power)
{
    double least = fmin(x, y), most = fmax(x, y);
    return most > 0 ? most * pow(1 + pow(least / most, power), 1 / power) : 0;
}
