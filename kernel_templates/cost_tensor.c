#include "cost_tensor.h"

#include "cost_registers.h"
#include "outcome.h"

#include <math.h>

double tensor_rate(const struct gpu *gpu, enum gemm_type type, double share)
{
    return gpu_peak_tflops(gpu, type) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 * share;
}

/* Cycles of the tensor cores of an SM with so many blocks. */
static double product_cycles(const struct tensor_kernel *t, double count)
{
    if (t->issue > 0) return ceil(count * t->threads / 32 / 4) * t->issue;
    const double products = count * t->products / t->rate;
    return t->full_warps > 0 ? products * fmax(1, t->full_warps / (count * t->threads / 32)) : products;
}

/* The same with what happens beside them. */
static double busy_cycles(const struct tensor_kernel *t, double count)
{
    double busy = product_cycles(t, count);
    if (t->groups > 0) busy = fmax(busy, busy / (count * t->groups) + t->load_cycles);
    if (t->copies == 0 && t->shared == 0) return busy;
    const double copies = count * t->step_k * t->copies,
                 shared = t->shared > 0 ? count * t->shared / t->shared_rate : 0;
    return overlapped_us(busy, fmax(shared, copies), t->overlap);
}

static double arrival_cycles(const struct tensor_kernel *t, double count, const struct gpu *gpu)
{
    if (t->arrival == 0) return 0;
    double rate = t->arrival_rate;
    if (t->latency_us > 0) rate = fmin(rate, count * t->on_the_way / t->latency_us / gpu->clock_mhz);
    return count * t->arrival / rate;
}

/* Of the k of a tile of each block. */
static double loop_cycles(const struct tensor_kernel *t, double count, const struct gpu *gpu)
{
    const double wait = t->wait_cycles / (t->waits_less ? count * count : count);
    const double step = fmax(busy_cycles(t, count) + wait, arrival_cycles(t, count, gpu));
    return t->steps * fmax(step, t->least_cycles);
}

static double store_cycles(const struct tensor_kernel *t, double count)
{
    return t->store > 0 ? count * t->store / t->store_rate : 0;
}

/* Of an SM with so many blocks, from the first copy to the last store. */
static double blocks_us(const struct tensor_kernel *t, double count, const struct gpu *gpu)
{
    return t->wave_us +
           (loop_cycles(t, count, gpu) + t->fill_cycles + store_cycles(t, count)) / gpu->clock_mhz;
}

/* The same where stores and copies of the next tile overlap; where groups take turns, stores and products,
 * too. */
static double walk_us(const struct tensor_kernel *t, const struct gpu *gpu)
{
    const double loop = loop_cycles(t, t->walkers, gpu);
    const double alone = loop + store_cycles(t, t->walkers) + t->walk_cycles;
    const double tile = t->takers > 0 ? fmax(loop + t->turn_cycles, alone / t->takers) : alone;
    return (t->fill_cycles + t->rounds * tile) / gpu->clock_mhz;
}

static double compute_us(const struct tensor_kernel *t, double at_once, const struct gpu *gpu)
{
    if (t->rounds > 0) return walk_us(t, gpu);
    const double full = floor(t->blocks / (at_once * t->sms)), rest = t->blocks - full * at_once * t->sms;
    const double time = full > 0 ? full * blocks_us(t, at_once, gpu) : 0;
    return time + (rest > 0 ? blocks_us(t, ceil(rest / t->sms), gpu) : 0);
}

/* Blocks that an SM holds; *slower: by how much spilled registers slow them down. */
static int resident(const struct tensor_kernel *t, const struct gpu *gpu, const struct kernel_facts *facts,
                    double *slower)
{
    *slower = 1;
    if (t->at_once > 0) return (int)t->at_once;
    const int limit = registers_limit(gpu, t->threads, t->min_blocks);
    const double spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(t->needed, limit);
    const int registers = facts ? facts->registers : (int)fmin(t->needed + t->liked, limit);
    *slower = registers_spill_factor(spills);
    return blocks_at_once(gpu, t->threads, registers, t->smem_bytes + (facts ? facts->static_smem_bytes : 0));
}

struct prediction tensor_predict(const struct tensor_kernel *t, const struct gpu *gpu,
                                 const struct kernel_facts *facts)
{
    double slower;
    struct prediction p = {.blocks_per_sm = resident(t, gpu, facts, &slower)};
    p.waves = t->blocks / ((double)p.blocks_per_sm * t->sms);
    p.compute_us = compute_us(t, p.blocks_per_sm, gpu) * slower;
    p.memory_us = t->memory_us;
    p.overhead_us = t->overhead_us;
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}
