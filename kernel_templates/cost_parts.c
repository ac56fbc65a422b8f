#include "cost_parts.h"

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

/* Clusters of so many blocks, a block an SM, that an H200 says it holds at once
 * (cuOccupancyMaxActiveClusters, tests/gpu/test_launcher_gpu.c): its 132 SMs are not spread evenly over its
 * GPCs. Other dies may differ. */
static const double h200_clusters[] = {[2] = 66, [3] = 39, [4] = 30, [5] = 22, [6] = 17, [7] = 15, [8] = 15};
enum { H200_SMS = 132, H200_SIZES = sizeof h200_clusters / sizeof *h200_clusters };

/* As if the SMs, in pairs, were spread evenly over the GPCs. */
static double clusters_of_even_gpcs(int sms, double size)
{
    const int gpcs = (int)fmax(1, round(sms / GPC_SMS)), pairs = sms / 2;
    double clusters = 0;
    for (int i = 0; i < gpcs; i++) clusters += floor(2 * (pairs / gpcs + (i < pairs % gpcs)) / size);
    return fmax(1, clusters);
}

double cluster_sms(const struct gpu *gpu, double size)
{
    if (gpu->sm_count == H200_SMS && size >= 2 && size < H200_SIZES) return h200_clusters[(int)size] * size;
    return clusters_of_even_gpcs(gpu->sm_count, size) * size;
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
