/* epilogue_sets.h — operands of problems with an epilogue, and the answers to expect. */
#ifndef GT_EPILOGUE_SETS_H
#define GT_EPILOGUE_SETS_H

#include "fake_epilogue.h"
#include "runtime_fakes.h"

/* Small whole numbers, as in operands_make: only GELU rounds. */
struct epilogue_set {
    struct operand_set o; /* c is where the result goes */
    float *bias, *source; /* source: c itself unless out of place */
    float *memory[2];
};

static inline struct epilogue_set epilogue_set_make(const char *text, int skew)
{
    struct epilogue_set s = {.o = operands_make(text, skew)};
    s.bias = some_floats(problem_span_bias(&s.o.problem), 0, &s.memory[0]);
    s.source = some_floats(s.o.span, 0, &s.memory[1]);
    if (!epilogue_out_of_place(s.o.problem.epilogue)) s.source = s.o.c;
    return s;
}

static inline void epilogue_set_free(struct epilogue_set *s)
{
    operands_free(&s->o);
    free(s->memory[0]);
    free(s->memory[1]);
}

/* In s->o.want, from what is in C now. */
static inline void epilogue_set_expect(struct epilogue_set *s)
{
    const struct problem *p = &s->o.problem;
    float *want = s->o.want;
    memcpy(want, s->source, (size_t)s->o.span * sizeof *want);
    reference_ijk(p, s->o.a, s->o.b, want);
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const float *bias = s->bias + item * p->stride_bias;
                float *x = &want[item * p->stride_c + i * p->ldc + j];
                if (epilogue_bias(p->epilogue) == BIAS_COLUMN) *x += bias[j];
                if (epilogue_bias(p->epilogue) == BIAS_ROW) *x += bias[i];
                *x = fake_activate(p->epilogue, (double)*x);
            }
}

static inline void epilogue_set_check(const struct epilogue_set *s, const char *who)
{
    const struct problem *p = &s->o.problem;
    char text[PROBLEM_TEXT_MAX];
    problem_format(p, text);
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t at = item * p->stride_c + i * p->ldc + j;
                if (!(fabsf(s->o.c[at] - s->o.want[at]) <= 1e-6F * (1 + fabsf(s->o.want[at]))))
                    fail_msg("%s, %s: C[%lld] is %g, expected %g", text, who, (long long)at,
                             (double)s->o.c[at], (double)s->o.want[at]);
            }
}

/* The call of the set; alpha and beta must live as long. */
struct epilogue_call {
    float alpha, beta;
    struct gt_call call;
};

static inline void epilogue_call_make(struct epilogue_call *x, const struct epilogue_set *s)
{
    const struct problem *p = &s->o.problem;
    x->alpha = (float)p->alpha;
    x->beta = (float)p->beta;
    x->call = gt_call_make(&x->alpha, s->o.a, s->o.b, &x->beta, s->o.c, stream);
    if (epilogue_bias(p->epilogue) != BIAS_NONE) x->call.bias = s->bias;
    if (epilogue_out_of_place(p->epilogue)) x->call.source = s->source;
}

static inline enum gt_status launch_epilogue(struct gt_plan *plan, struct epilogue_set *s)
{
    struct epilogue_call x;
    epilogue_call_make(&x, s);
    epilogue_set_expect(s);
    return gt_launch(plan, &x.call);
}

static inline enum gt_status gemm_epilogue_flagged(struct gt_handle *handle, struct epilogue_set *s,
                                                   unsigned flags)
{
    struct epilogue_call x;
    struct gt_problem p = public_problem(&s->o.problem);
    p.flags |= flags;
    epilogue_call_make(&x, s);
    epilogue_set_expect(s);
    return gt_gemm(handle, &p, &x.call);
}

static inline enum gt_status gemm_epilogue(struct gt_handle *handle, struct epilogue_set *s)
{
    return gemm_epilogue_flagged(handle, s, 0);
}

/* Every epilogue there is: "bias", ..., "rowbias+gelu+out"; NULL after the last. Valid until the next call.
 */
static inline const char *epilogue_text(int number)
{
    static char text[EPILOGUE_TEXT_MAX];
    for (int code = 1; code < EPILOGUE_CODES; code++)
        if (epilogue_is_known(code) && number-- == 0) {
            epilogue_format(code, text);
            return text;
        }
    return NULL;
}

static inline struct gt_plan *epilogue_plan(struct gt_handle *handle, const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    struct gt_problem said = public_problem(&p);
    struct gt_plan *plan = NULL;
    if (p.beta != 0) said.flags |= GT_ADDS_TO_C;
    assert_gt(gt_plan_open(handle, &said, &plan));
    return plan;
}

/* How many products the rivals and the kernels computed since the last time. */
static inline int counted(int *counter)
{
    const int count = *counter;
    *counter = 0;
    return count;
}

#endif
