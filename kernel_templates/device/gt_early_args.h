/* SPDX-License-Identifier: MIT */
/* gt_early_args.h — struct gemm_args, and behind it what kernels are told that may begin while the kernel
 * before them ends (gt_dependent.cuh); read by the host (C) and by the kernels (CUDA C++).
 */
#ifndef GT_EARLY_ARGS_H
#define GT_EARLY_ARGS_H

#include "gemm_args.h"

#define EARLY_AT    192 /* of pdl: behind struct gemm_args with and without an epilogue */
#define EARLY_BYTES (EARLY_AT + 64)
#define EARLY_K     128 /* k that `ask` counts in */

#ifdef __cplusplus
struct early_args {
    struct gemm_args gemm;
    alignas(64) int pdl; /* lets the next kernel begin: 1 at once, 2 when all loads have started */
    int ask; /* EARLY_K of these k of the operands are asked for before the kernel before has ended */
};
static_assert(sizeof(struct early_args) == EARLY_BYTES, "the host must know where everything is");
#endif

#endif
