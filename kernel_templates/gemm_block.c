#include "gemm_block.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct gemm_args, member)

static const struct launch_slots slots = {.a = AT(a),
                                          .b = AT(b),
                                          .c = AT(c),
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
                              .group = 1};
}

void gemm_args_put(struct launch_plan *plan, const struct problem *p, const struct gemm_args *args)
{
    const int64_t a = element_bytes(ELEMENT_F32), b = element_bytes(ELEMENT_F32),
                  c = element_bytes(ELEMENT_F32);
    plan->counters = args->counters;
    plan->batch = p->batch;
    plan->k = p->k;
    plan->batch_step_bytes[LAUNCH_A] = a * p->stride_a;
    plan->batch_step_bytes[LAUNCH_B] = b * p->stride_b;
    plan->batch_step_bytes[LAUNCH_C] = c * p->stride_c;
    plan->k_step_bytes[LAUNCH_A] = a * (p->trans_a ? p->lda : 1);
    plan->k_step_bytes[LAUNCH_B] = b * (p->trans_b ? 1 : p->ldb);
    plan->slots = slots;
    plan->argument_bytes = sizeof *args;
    memcpy(plan->argument, args, sizeof *args);
}

struct gemm_args gemm_args_in(const struct launch_plan *plan)
{
    struct gemm_args args = {.a = NULL};
    if (plan->argument_bytes == sizeof args) memcpy(&args, plan->argument, sizeof args);
    return args;
}
