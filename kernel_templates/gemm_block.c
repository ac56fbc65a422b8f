#include "gemm_block.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct gemm_args, member)

/* What kernels without an epilogue are passed ends there. */
#define PLAIN_BYTES AT(source)
_Static_assert(PLAIN_BYTES == (AT(beta) + sizeof(float) + 7) / 8 * 8, "the size that these kernels know");

static const struct launch_slots slots = {.a = AT(a),
                                          .b = AT(b),
                                          .c = AT(c),
                                          .workspace = AT(workspace),
                                          .source = LAUNCH_NOWHERE,
                                          .bias = LAUNCH_NOWHERE,
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
    const struct gemm_type_row *type = gemm_type_row(p->type);
    const int64_t a = element_bytes(type->a), b = element_bytes(type->b), c = element_bytes(type->c);
    plan->counters = args->counters;
    plan->batch = p->batch;
    plan->k = p->k;
    plan->batch_step_bytes[LAUNCH_A] = a * p->stride_a;
    plan->batch_step_bytes[LAUNCH_B] = b * p->stride_b;
    plan->batch_step_bytes[LAUNCH_C] = c * p->stride_c;
    plan->batch_step_bytes[LAUNCH_SOURCE] = c * p->stride_c;
    plan->batch_step_bytes[LAUNCH_BIAS] = c * p->stride_bias;
    if (p->pointers)
        for (int i = LAUNCH_A; i <= LAUNCH_C; i++) plan->batch_step_bytes[i] = sizeof(uint64_t);
    plan->k_step_bytes[LAUNCH_A] = a * (p->trans_a ? p->lda : 1);
    plan->k_step_bytes[LAUNCH_B] = b * (p->trans_b ? 1 : p->ldb);
    plan->slots = slots;
    plan->argument_bytes = PLAIN_BYTES;
    if (p->epilogue) {
        plan->argument_bytes = sizeof *args;
        plan->slots.source = AT(source);
        plan->slots.bias = AT(bias);
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
