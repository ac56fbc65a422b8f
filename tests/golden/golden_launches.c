/* golden_launches.c — what the launcher of an exported header asks of the driver, for headers.sh: a line for
 * each launch of each winner, with the argument that the kernel is passed. Prints that of the header HEADER;
 * WITH_EPILOGUES: it has such sets.
 */
#define GT_WINNERS_IMPLEMENTATION
#include HEADER

#include "fake_driver.h"
#include "run_shape.h"

#include <stdio.h>
#include <string.h>

/* All different, and aligned. */
#define A         0x10000000000u
#define B         0x20000000000u
#define C         0x30000000000u
#define WORKSPACE 0x40000000000u
#define SOURCE    0x50000000000u
#define BIAS      0x60000000000u

static int takes(const struct gt_winner_planned *planned, int operand)
{
    return planned->takes >> operand & 1;
}

static void print_lengths(const struct gt_winner_planned *planned)
{
    const struct gt_launch_lengths *l = &planned->lengths;
    printf(" takes bias=%d out=%d aligned=%x", takes(planned, GT_WINNER_OPERAND_BIAS),
           takes(planned, GT_WINNER_OPERAND_SOURCE), (unsigned)planned->aligned);
    for (int i = 0; i < GT_LAUNCH_LENGTHS; i++) printf(" %lld@%d", (long long)l->planned[i], (int)l->at[i]);
    printf("\n");
}

static void print_launch(const struct fake_launch *l, const struct gt_winner_plan *plan)
{
    printf("  %s grid=%u,%u,%u threads=%u smem=%u cluster=%u,%u,%u dependent=%d ", fake_names[l->kernel],
           l->grid[0], l->grid[1], l->grid[2], l->threads, l->smem_bytes, l->cluster[0], l->cluster[1],
           l->cluster[2], l->dependent);
    for (int i = 0; i < plan->argument_bytes; i++) printf("%02x", l->args[i]);
    printf("\n");
}

static void print_launches(const struct gt_winner_gpu *gpu, const struct gt_winner *w,
                           const struct gt_winner_shape *s)
{
    const struct gt_winner_planned *planned = &gpu->plans[w->kernel];
    const int bias = takes(planned, GT_WINNER_OPERAND_BIAS);
    const struct gt_winner_extra extra = {.bias = bias ? BIAS : 0,
                                          .stride_bias = bias ? 7 : 0,
                                          .source = takes(planned, GT_WINNER_OPERAND_SOURCE) ? SOURCE : 0};
    struct gt_winner_loaded loaded;
    struct gt_winner_plan plan;
    if (!gt_winner_plan_make(gpu, w, s, &plan)) {
        printf(" no plan\n");
        return;
    }
    printf(" workspace=%lld counters=%d\n", (long long)plan.workspace_bytes, plan.counters);
    memset(fake.launch, 0, sizeof fake.launch);
    fake.launch_count = 0;
    CUresult result = gt_winner_load(gpu, w, &loaded);
    if (result == CUDA_SUCCESS)
        result = gt_winner_launch_extra(&loaded, &plan, s, 1.5f, A, B, 0.25f, C, &extra,
                                        plan.workspace_bytes ? WORKSPACE : 0, NULL);
    if (result != CUDA_SUCCESS) printf(" refused: %d\n", (int)result);
    for (int i = 0; i < fake.launch_count; i++) print_launch(&fake.launch[i], &plan);
    gt_winner_unload(&loaded);
}

static void print_set(const struct gt_winner_set *set)
{
    for (int32_t i = 0; i < set->gpu_count; i++) {
        const struct gt_winner_gpu *gpu = &set->gpus[i];
        fake.major = gpu->arch / 10;
        fake.minor = gpu->arch % 10;
        for (int32_t j = 0; j < gpu->count; j++) {
            const struct gt_winner *w = &gpu->winners[j];
            printf("%d %d %dx%dx%d batch=%d %s\n", (int)w->type, (int)w->op, (int)w->m, (int)w->n, (int)w->k,
                   (int)w->batch, w->config);
            if (w->kernel < 0) continue;
            print_lengths(&gpu->plans[w->kernel]);
            for (int padding = 0; padding <= 32; padding += 32) {
                const struct gt_winner_shape s = own_shape(w, padding);
                print_launches(gpu, w, &s);
            }
        }
    }
}

int main(void)
{
    print_set(&gt_golden_winners);
#ifdef WITH_EPILOGUES
    for (int32_t i = 0; i < gt_golden_winners_epilogues.count; i++)
        print_set(gt_golden_winners_epilogues.list[i].set);
#endif
    return 0;
}
