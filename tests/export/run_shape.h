/* run_shape.h — the shape that a winner of an exported header was measured for, for programs that launch it.
 * They include the header first.
 */
#ifndef GT_RUN_SHAPE_H
#define GT_RUN_SHAPE_H

/* Tight but for what its alignment came from; or with other leading dimensions and strides, as aligned if
 * padding is a multiple of 4. */
static inline struct gt_winner_shape own_shape(const struct gt_winner *w, int padding)
{
    struct gt_winner_shape s = gt_winner_shape_make(w->op / 2, w->op % 2, w->m, w->n, w->k);
    s.type = w->type;
    s.batch = w->batch;
    s.adds_to_c = w->adds_to_c;
    if ((w->align & 15) < (gt_winner_align(&s) & 15)) s.lda++;
    s.lda += padding;
    s.ldb += 2 * padding;
    s.ldc += 3 * padding;
    s.stride_a = w->shared & 1 ? 0 : (s.trans_a ? s.k : s.m) * s.lda + 4 * padding;
    s.stride_b = w->shared & 2 ? 0 : (s.trans_b ? s.n : s.k) * s.ldb + 8 * padding;
    s.stride_c = s.m * s.ldc + 12 * padding;
    return s;
}

#endif
