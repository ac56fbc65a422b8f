#include "model_parts.h"

#include <math.h>

#define TOO_FEW_WARPS 0.72  /* share of the slots that less than a warp a scheduler uses */
#define ALWAYS_LOST   0.028 /* of the slots, with any number of warps */
#define GPC_SMS       16.5  /* on average */

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

/* Nobody asked the driver how many SMs each GPC of an H200 has. These numbers agree with the times of
 * kernels: at once it holds 64 clusters of 2 blocks, less than 42 of 3, less than 32 of 4, less than 22 of 6
 * and less than 16 of 8; with two blocks an SM less than 64 of 4 and less than 48 of 5. That it holds 15 of 8
 * follows from one kernel: 700x35x2048 in 48x40 tiles takes 8.3 us, as predicted then; if it held only 14,
 * some SMs would have two blocks, and 12.4 us are predicted. */
double cluster_sms(const struct gpu *gpu, double size)
{
    static const double beside_mean[] = {-3.5, -0.5, -0.5, 0.5, 0.5, 0.5, 1.5, 1.5};
    const int gpcs = (int)fmax(1, round(gpu->sm_count / GPC_SMS));
    double clusters = 0;
    for (int i = 0; i < gpcs; i++)
        clusters += floor(((double)gpu->sm_count / gpcs + beside_mean[i % 8]) / size);
    return fmax(1, clusters) * size;
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
