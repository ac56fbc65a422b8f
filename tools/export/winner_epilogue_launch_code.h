/* SPDX-License-Identifier: MIT */
/* winner_epilogue_launch_code.h — the definitions to winner_epilogue_launch.h, behind those of
 * winner_launch.h.
 */
#ifndef GT_WINNER_EPILOGUE_LAUNCH_CODE
#define GT_WINNER_EPILOGUE_LAUNCH_CODE

#ifdef __cplusplus
extern "C" {
#endif

GT_WINNERS_API CUresult gt_winner_epilogue_load(const struct gt_winner_gpu *gpu,
                                                const struct gt_winner *winner,
                                                struct gt_winner_epilogue_loaded *loaded)
{
    struct gt_winner plain;
    CUresult result;
    if (!loaded) return CUDA_ERROR_INVALID_VALUE;
    memset(loaded, 0, sizeof *loaded);
    if (!gpu || !winner) return CUDA_ERROR_INVALID_VALUE;
    if (winner->kernel >= -1) return CUDA_ERROR_NOT_FOUND;
    plain = *winner;
    plain.kernel = -2 - winner->kernel;
    result = gt_winner_load(gpu, &plain, &loaded->loaded);
    /* The block of a kernel with an epilogue is the first member of this. */
    if (result == CUDA_SUCCESS)
        loaded->block = (const struct gt_winner_epilogue_block *)(const void *)loaded->loaded.block;
    return result;
}

/* 1 if these operands are what the kernel takes. */
static inline int gt_winner_extra_valid(const struct gt_winner_epilogue_loaded *loaded,
                                        const struct gt_winner_extra *extra, float beta, CUdeviceptr d)
{
    const struct gt_winner_epilogue_block *block = loaded->block;
    if ((extra->bias != 0) != (block->has_bias != 0) || extra->bias % 4) return 0;
    if (!block->out_of_place) return extra->source == 0 || extra->source == d;
    if (beta == 0) return 1;
    return extra->source != 0 &&
           gt_winner_at(extra->source, loaded->loaded.needs >> 8, block->block.element_bytes[2]);
}

static inline void gt_winner_extra_write(struct gt_winner_args *args, int32_t offset, int64_t value)
{
    memcpy(args->argument.bytes + offset, &value, sizeof value);
}

/* There are no slabs of k: an epilogue is for the whole sum. */
GT_WINNERS_API CUresult gt_winner_epilogue_launch(const struct gt_winner_epilogue_loaded *loaded,
                                                  const struct gt_winner_plan *plan,
                                                  const struct gt_winner_shape *shape, float alpha,
                                                  CUdeviceptr a, CUdeviceptr b, float beta, CUdeviceptr d,
                                                  const struct gt_winner_extra *extra, CUdeviceptr workspace,
                                                  CUstream stream)
{
    const struct gt_winner_extra none = {0, 0, 0};
    struct gt_winner_args args;
    const int32_t *bytes;
    CUdeviceptr source;
    CUresult result = CUDA_SUCCESS;
    int32_t needs;
    int64_t first;
    if (!loaded || !plan || !shape) return CUDA_ERROR_INVALID_VALUE;
    if (!loaded->loaded.module) return CUDA_ERROR_NOT_FOUND;
    if (plan->workspace_bytes > 0 && workspace == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!extra) extra = &none;
    bytes = loaded->block->block.element_bytes;
    needs = loaded->loaded.needs;
    if (!gt_winner_at(a, needs & 15, bytes[0]) || !gt_winner_at(b, needs >> 4 & 15, bytes[1]) ||
        !gt_winner_at(d, needs >> 8, bytes[2]) || !gt_winner_extra_valid(loaded, extra, beta, d))
        return CUDA_ERROR_INVALID_VALUE;
    if (plan->kernels == 0) return CUDA_SUCCESS;
    source = loaded->block->out_of_place && beta != 0 ? extra->source : d;
    gt_winner_args_start(&args, plan, shape, workspace);
    args.value[GT_WINNER_ALPHA] = gt_winner_bits(alpha);
    args.value[GT_WINNER_BETA] = gt_winner_bits(beta);
    gt_winner_extra_write(&args, loaded->block->stride_bias, extra->stride_bias);
    for (first = 0; first < shape->batch && result == CUDA_SUCCESS; first += plan->batch_per_launch) {
        const int64_t items = gt_winner_least(shape->batch - first, plan->batch_per_launch);
        const int64_t to_c = bytes[2] * first * shape->stride_c;
        args.value[GT_WINNER_A] = (int64_t)a + bytes[0] * first * shape->stride_a;
        args.value[GT_WINNER_B] = (int64_t)b + bytes[1] * first * shape->stride_b;
        args.value[GT_WINNER_C] = (int64_t)d + to_c;
        gt_winner_extra_write(&args, loaded->block->source, (int64_t)source + to_c);
        gt_winner_extra_write(&args, loaded->block->bias,
                              (int64_t)extra->bias + bytes[2] * first * extra->stride_bias);
        result = gt_winner_enqueue(&loaded->loaded, plan, &args, (unsigned)items, 0, stream);
    }
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
