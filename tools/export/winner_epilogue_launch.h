/* SPDX-License-Identifier: MIT */
/* winner_epilogue_launch.h — the launcher of winners with an epilogue, in headers that have some and were
 * written with kernels. It is used as that of winner_launch.h:
 *
 *     struct gt_winner_epilogue_loaded kernel;
 *     struct gt_winner_extra extra = {bias, 0, 0};
 *
 *     gt_winner_epilogue_load(gpu, match.winner, &kernel);
 *     gt_winner_epilogue_launch(&kernel, &plan, &shape, 1.0f, a, b, 0.0f, d, &extra, workspace, stream);
 *     gt_winner_unload(&kernel.loaded);
 */
#ifndef GT_WINNER_EPILOGUE_LAUNCH
#define GT_WINNER_EPILOGUE_LAUNCH 1

/* The argument of kernels with an epilogue. */
struct gt_winner_epilogue_block {
    struct gt_winner_block block;      /* what those without one are told, too */
    int32_t source, bias, stride_bias; /* offsets of three more values, each of 8 bytes */
    int32_t has_bias, out_of_place;    /* what its epilogue takes */
};

struct gt_winner_epilogue_loaded {
    struct gt_winner_loaded loaded;
    const struct gt_winner_epilogue_block *block;
};

/* What an epilogue takes besides A, B and C. */
struct gt_winner_extra {
    CUdeviceptr bias;    /* a multiple of 4 bytes; 0: it has none */
    int64_t stride_bias; /* elements from the bias of one item of a batch to the next; 0: all have the same */
    CUdeviceptr source;  /* out of place: C, which is not read if beta = 0; in place: 0 */
};

#ifdef __cplusplus
extern "C" {
#endif

/* As gt_winner_load, for a winner of a set of gt_winner_epilogue_find. CUDA_ERROR_NOT_FOUND for others. */
GT_WINNERS_API CUresult gt_winner_epilogue_load(const struct gt_winner_gpu *gpu,
                                                const struct gt_winner *winner,
                                                struct gt_winner_epilogue_loaded *loaded);

/* Enqueue D = activation(alpha * op(A) * op(B) + beta * C + bias), as gt_winner_launch. d: where the result
 * is written; in place it is C. extra: NULL for an activation alone. CUDA_ERROR_INVALID_VALUE, too, if extra
 * is not what the epilogue takes, or less aligned than the kernel needs. */
GT_WINNERS_API CUresult gt_winner_epilogue_launch(const struct gt_winner_epilogue_loaded *loaded,
                                                  const struct gt_winner_plan *plan,
                                                  const struct gt_winner_shape *shape, float alpha,
                                                  CUdeviceptr a, CUdeviceptr b, float beta, CUdeviceptr d,
                                                  const struct gt_winner_extra *extra, CUdeviceptr workspace,
                                                  CUstream stream);

#ifdef __cplusplus
}
#endif

#elif GT_WINNER_EPILOGUE_LAUNCH != 1
#error "headers exported by different versions of gemmtune do not go together: export them again"
#endif
