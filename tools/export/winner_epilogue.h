/* SPDX-License-Identifier: MIT */
/* winner_epilogue.h — winners of products with an epilogue, in headers that have some:
 * D = activation(alpha * op(A) * op(B) + beta * C + bias). C99 and C++; needs no library.
 *
 *     const struct gt_winner_set *set =
 *         gt_winner_epilogue_find(&gt_NAME_epilogues, GT_WINNER_BIAS_COLUMN, GT_WINNER_GELU, 0);
 *     const struct gt_winner_gpu *gpu = gt_winner_gpu_find(set, "NVIDIA H200", 90, 132);
 *
 * All else is as without an epilogue: shapes, gt_winner_find, and with kernels gt_winner_plan_make and
 * gt_winner_load; gt_winner_launch_extra takes the bias and what else there is. The winners of an epilogue
 * are a set of their own, so none answers for another one.
 */
#ifndef GT_WINNER_EPILOGUE
#define GT_WINNER_EPILOGUE 2

/* Of row-major C. Column-major callers, who pass n for m, ask for the other one. */
enum gt_winner_bias {
    GT_WINNER_BIAS_NONE = 0,
    GT_WINNER_BIAS_COLUMN = 1, /* n values: value j is added to column j */
    GT_WINNER_BIAS_ROW = 2     /* m values: value i is added to row i */
};

/* GELU: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). */
enum gt_winner_activation { GT_WINNER_ACTIVATION_NONE = 0, GT_WINNER_RELU = 1, GT_WINNER_GELU = 2 };

struct gt_winner_epilogue {
    int32_t bias;         /* an enum gt_winner_bias */
    int32_t activation;   /* an enum gt_winner_activation */
    int32_t out_of_place; /* 1: D is not C, which is only read; both have ldc and stride_c */
    const struct gt_winner_set *set;
};

/* Those of one exported header. */
struct gt_winner_epilogues {
    int32_t count;
    const struct gt_winner_epilogue *list;
};

#ifdef __cplusplus
extern "C" {
#endif

/* The winners of one epilogue; NULL if there are none. With beta = 0 C is not read: then ask for
 * out_of_place 0, whatever D is. */
GT_WINNERS_API const struct gt_winner_set *
gt_winner_epilogue_find(const struct gt_winner_epilogues *epilogues, int bias, int activation,
                        int out_of_place);

#ifdef __cplusplus
}
#endif

#elif GT_WINNER_EPILOGUE != 2
#error "headers exported by different versions of gemmtune do not go together: export them again"
#endif
