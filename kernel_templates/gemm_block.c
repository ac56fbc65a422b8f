#include "gemm_block.h"

#include "operand_layout.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct gemm_args, member)

/* What kernels without an epilogue are passed ends there. */
#define PLAIN_BYTES AT(source)
_Static_assert(PLAIN_BYTES == (AT(beta) + sizeof(float) + 7) / 8 * 8, "the size that these kernels know");

/* Of those that kernels without an epilogue are not passed, too. */
static const struct launch_slots slots = {.at = {[OPERAND_A] = AT(a),
                                                 [OPERAND_B] = AT(b),
                                                 [OPERAND_C] = AT(c),
                                                 [OPERAND_SOURCE] = AT(source),
                                                 [OPERAND_BIAS] = AT(bias)},
                                          .workspace = AT(workspace),
                                          .alpha_device = AT(alpha_device),
                                          .beta_device = AT(beta_device),
                                          .alpha = AT(alpha),
                                          .beta = AT(beta),
                                          .k = AT(k)};

_Static_assert(sizeof(struct gemm_args) <= LAUNCH_ARGUMENT_MAX, "struct gemm_args is one argument");

struct gemm_args gemm_args_of(const struct problem *p)
{
    return (struct gemm_args){.lda = p->lda,
                              .ldb = p->ldb,
                              .ldc = p->ldc,
                              .stride_a = p->stride_a,
                              .stride_b = p->stride_b,
                              .stride_c = p->stride_c,
                              .m = (int)p->m,
                              .n = (int)p->n,
                              .k = (int)p->k,
                              .splits = 1,
                              .k_per_split = (int)p->k,
                              .group = 1,
                              .stride_bias = p->stride_bias};
}

bool gemm_plan_begin(struct launch_plan *plan, const struct problem *p)
{
    launch_plan_clear(plan);
    return p->m > 0 && p->n > 0 && p->batch > 0;
}

void gemm_args_put(struct launch_plan *plan, const struct problem *p, const struct gemm_args *args)
{
    plan->counters = args->counters;
    plan->batch = p->batch;
    plan->k = p->k;
    plan->slots = slots;
    plan->argument_bytes = p->epilogue ? (int)sizeof *args : PLAIN_BYTES;
    for (int i = 0; i < OPERANDS; i++) {
        const struct operand_layout x = operand_layout(p, (enum operand)i);
        const int64_t bytes = element_bytes(x.element);
        const bool array = p->pointers && i <= OPERAND_C;
        plan->batch_step_bytes[i] = array ? (int64_t)sizeof(uint64_t) : bytes * x.stride;
        if (slots.at[i] >= plan->argument_bytes) plan->slots.at[i] = LAUNCH_NOWHERE;
        if (i == OPERAND_A) plan->k_step_bytes[i] = bytes * (p->trans_a ? x.ld : 1);
        if (i == OPERAND_B) plan->k_step_bytes[i] = bytes * (p->trans_b ? 1 : x.ld);
    }
    memcpy(plan->argument, args, (size_t)plan->argument_bytes);
}

struct gemm_args gemm_args_in(const struct launch_plan *plan)
{
    struct gemm_args args = {.a = NULL};
    const size_t bytes = (size_t)plan->argument_bytes;
    if (bytes >= PLAIN_BYTES) memcpy(&args, plan->argument, bytes < sizeof args ? bytes : sizeof args);
    return args;
}
