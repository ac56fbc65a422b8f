/* SPDX-License-Identifier: MIT */
/* gemm_args.h — the one argument of every GEMM kernel; read by the host (C) and by the kernels (CUDA C++).
 *
 * Row-major C[m,n] = alpha * op(A) * op(B) + beta * C with leading dimensions and strided batch, as problem.h
 * says. A kernel reads alpha from alpha_device when that is not null, else from alpha; likewise beta. With
 * beta == 0 C is not read, with alpha == 0 or k == 0 A and B are not. With an epilogue (epilogue.h) c is
 * where the result is stored, and source is read. With the macro POINTERS a, b and c are arrays of the
 * addresses of batch items, and strides mean nothing (gt_batch.cuh).
 *
 * Grid: x = tiles (the template orders them), y = splits of K, z = batch items (at most 65535 a launch; the
 * host cuts longer batches). With splits > 1 the kernel `gemm` writes its plain partial sum A*B of split s of
 * batch item b to workspace + ((int64)b * splits + s) * m * n, row-major with leading dimension n, and
 * `gemm_reduce` adds the splits in ascending order and applies alpha, beta. The result is the same bit for
 * bit in every launch.
 *
 * A template may lay out its workspace in another way, have a kernel before `gemm` that copies operands there
 * (simt_workspace.h), and let the last block of a tile to arrive add the parts. It counts arrivals in
 * `counters` unsigned integers at the start of the workspace. They must be 0 when a launch begins, and every
 * launch resets them to 0, so the first 4 * counters bytes of a workspace are zeroed once, after its
 * allocation. Launches that may overlap (several streams) need separate workspaces.
 *
 * The blocks of streamk are counted over x and z; `splits` is the number of those that share all tiles, and
 * y is 1.
 */
#ifndef GT_GEMM_ARGS_H
#define GT_GEMM_ARGS_H

struct gemm_args {
    const float *a;
    const float *b;
    float *c;
    float *workspace;          /* when splits > 1, else unused; launch_plan says how large */
    const float *alpha_device; /* null: use alpha */
    const float *beta_device;  /* null: use beta */
    long long lda, ldb, ldc;
    long long stride_a, stride_b, stride_c;
    int m, n, k;
    int splits;      /* >= 1 */
    int k_per_split; /* multiple of BK; splits * k_per_split >= k */
    int group;       /* rasterisation: rows of tiles walked together; >= 1 */
    int counters;    /* length of the array of counters at the start of the workspace; 0: none */
    float alpha, beta;
#if EPILOGUE || !defined(__CUDACC__) /* kernels without an epilogue are passed no more than the above */
    const float *source;             /* C as it is read: c, unless D is out of place; batch stride stride_c */
    const float *bias;               /* null without one */
    long long stride_bias;
#endif
};

#endif
