#include "shape.h"

#include "shape_weights.h"

#include <math.h>

static bool is_tight(const struct problem *p)
{
    return p->lda == problem_cols_a(p) && p->ldb == problem_cols_b(p) && p->ldc == p->n;
}

static float log_size(int64_t size)
{
    return log2f(1 + (float)size);
}

struct shape shape_of(const struct problem *p)
{
    return (struct shape){
        .log_m = log_size(p->m),
        .log_n = log_size(p->n),
        .log_k = log_size(p->k),
        .log_batch = log_size(p->batch),
        .type = (uint8_t)p->type,
        .op = (uint8_t)(2 * p->trans_a + p->trans_b),
        .epilogue = (uint8_t)p->epilogue,
        .align = {(uint8_t)problem_align_a(p), (uint8_t)problem_align_b(p), (uint8_t)problem_align_c(p)},
        .tight = is_tight(p),
        .pointers = p->pointers,
        .prepared = (uint8_t)p->prepared,
        .invariant = p->invariant,
        .adds = p->beta != 0,
        .nulls = p->alpha == 0,
        .one_a = p->batch > 1 && problem_count_a(p) == 1,
        .one_b = p->batch > 1 && problem_count_b(p) == 1};
}

static float square(float x)
{
    return x * x;
}

bool shape_answers(const struct shape *tuned, const struct shape *wanted)
{
    return tuned->op == wanted->op && tuned->epilogue == wanted->epilogue &&
           tuned->pointers == wanted->pointers && tuned->invariant == wanted->invariant &&
           (tuned->prepared == wanted->prepared || tuned->prepared == PREPARED_NONE ||
            wanted->prepared == PREPARED_NONE) &&
           gemm_type_answers((enum gemm_type)tuned->type, (enum gemm_type)wanted->type);
}

double shape_distance(const struct shape *x, const struct shape *y)
{
    const float sizes = square(x->log_m - y->log_m) + square(x->log_n - y->log_n) +
                        square(x->log_k - y->log_k) + square(x->log_batch - y->log_batch);
    const int aligned =
        (x->align[0] != y->align[0]) + (x->align[1] != y->align[1]) + (x->align[2] != y->align[2]);
    const bool other_scalars = x->nulls != y->nulls || x->adds != y->adds,
               other_shared = x->one_a != y->one_a || x->one_b != y->one_b;
    const int small = (x->type != y->type) + (x->epilogue != y->epilogue) + (x->tight != y->tight) +
                      (x->pointers != y->pointers) + (x->prepared != y->prepared) + other_scalars +
                      other_shared;
    return sqrt((double)sizes) + GT_SHAPE_ALIGNMENT * aligned + GT_SHAPE_DETAIL * small;
}
