/* pointer_sets.h — operands of problems with pointers: the arrays, whose addresses are not in the order of
 * the items in memory. */
#ifndef GT_POINTER_SETS_H
#define GT_POINTER_SETS_H

#include "runtime_fakes.h"

struct pointer_set {
    struct operand_set o;
    const float **a, **b;
    float **c;
};

/* Item i lies where that of a strided batch with the number batch - 1 - i does. */
static inline struct pointer_set pointer_set_make(const char *text, int skew)
{
    struct pointer_set s = {.o = operands_make(text, skew)};
    const struct problem *p = &s.o.problem;
    const size_t bytes = (size_t)p->batch * sizeof(float *);
    s.a = malloc(bytes), s.b = malloc(bytes), s.c = malloc(bytes);
    assert_true(s.a && s.b && s.c);
    for (int64_t i = 0; i < p->batch; i++) {
        const int64_t place = p->batch - 1 - i;
        s.a[i] = s.o.a + place * p->stride_a;
        s.b[i] = s.o.b + place * p->stride_b;
        s.c[i] = s.o.c + place * p->stride_c;
    }
    return s;
}

static inline void pointer_set_free(struct pointer_set *s)
{
    operands_free(&s->o);
    free(s->a);
    free(s->b);
    free(s->c);
}

static inline enum gt_status launch_pointers(struct gt_plan *plan, const struct pointer_set *s)
{
    float alpha = (float)s->o.problem.alpha, beta = (float)s->o.problem.beta;
    return launch(plan, &alpha, s->a, s->b, &beta, s->c, stream);
}

static inline enum gt_status gemm_pointers(struct gt_handle *handle, const struct gt_problem *p,
                                           const struct pointer_set *s)
{
    float alpha = (float)s->o.problem.alpha, beta = (float)s->o.problem.beta;
    return gemm(handle, p, &alpha, s->a, s->b, &beta, s->c, stream);
}

/* For items at any element. */
#define SIMT_ELEMENTS config_text(3, "VA=1 VB=1 VC=1")

#endif
