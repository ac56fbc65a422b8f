#include "launch_walk.h"

void launch_walk_start(struct launch_walk *walk, const struct launch_plan *plan,
                       const struct launch_call *call)
{
    memset(walk, 0, sizeof *walk);
    walk->plan = plan;
    walk->call = *call;
}

/* Integer arithmetic, because the result may lie beyond the end of the device's address space. */
static uintptr_t launch_moved(uintptr_t from, int64_t steps, int64_t step_bytes)
{
    return from + (uintptr_t)steps * (uintptr_t)step_bytes;
}

static void launch_find_operands(const struct launch_walk *walk, struct launch *launch)
{
    const struct launch_plan *plan = walk->plan;
    for (int i = 0; i < LAUNCH_OPERANDS; i++)
        launch->operand[i] = launch_moved(walk->call.operand[i], walk->item, plan->batch_step_bytes[i]);
    for (int i = OPERAND_A; i <= OPERAND_B; i++)
        launch->operand[i] = launch_moved(launch->operand[i], walk->k_done, plan->k_step_bytes[i]);
}

static void launch_fill_argument(const struct launch_walk *walk, struct launch *launch)
{
    const struct launch_plan *plan = walk->plan;
    const struct launch_slots *slots = &plan->slots;
    const bool adds = walk->k_done > 0; /* to the sum of the earlier slabs in C */
    unsigned char *argument = launch->argument;
    memcpy(argument, plan->argument, (size_t)plan->argument_bytes);
    for (int i = 0; i < OPERANDS; i++) launch_write_address(argument, slots->at[i], launch->operand[i]);
    launch_write_address(argument, slots->workspace, launch->operand[LAUNCH_WORKSPACE]);
    launch_write_address(argument, slots->alpha_device, walk->call.alpha_device);
    launch_write_address(argument, slots->beta_device, adds ? 0 : walk->call.beta_device);
    launch_write_scalar(argument, slots->alpha, walk->call.alpha);
    launch_write_scalar(argument, slots->beta, adds ? 1 : walk->call.beta);
    const int k = (int)launch->k;
    if (plan->k_slab) memcpy(argument + slots->k, &k, sizeof k);
    const uint16_t zero_at = plan->kernel[launch->index].zero_at;
    if (zero_at) memset(argument + zero_at, 0, sizeof(int));
    const int items = (int)launch->items;
    if (plan->kernel[launch->index].walks_items) memcpy(argument + slots->items, &items, sizeof items);
}

bool launch_walk_next(struct launch_walk *walk, struct launch *launch)
{
    const struct launch_plan *plan = walk->plan;
    if (plan->kernels == 0 || walk->item >= plan->batch) return false;
    const struct kernel_launch *kernel = &plan->kernel[walk->index];
    const int64_t left = plan->k - walk->k_done, items = plan->batch - walk->item;
    const bool last = plan->k_slab == 0 || left <= plan->k_slab;
    launch->index = walk->index;
    launch->items = items < plan->batch_per_launch ? items : plan->batch_per_launch;
    launch->k = last ? left : plan->k_slab;
    launch->touched = walk->item > 0 || walk->k_done > 0;
    launch->grid[0] = plan->k_slab && last ? kernel->last_slab : kernel->grid[0];
    launch->grid[1] = kernel->grid[1];
    launch->grid[2] = kernel->walks_items ? kernel->grid[2] : (unsigned)launch->items;
    launch_find_operands(walk, launch);
    launch_fill_argument(walk, launch);
    if (++walk->index < plan->kernels) return true;
    walk->index = 0;
    walk->k_done = last ? 0 : walk->k_done + plan->k_slab;
    if (last) walk->item += plan->batch_per_launch;
    return true;
}
