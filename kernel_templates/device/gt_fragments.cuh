/* SPDX-License-Identifier: MIT */
/* gt_fragments.cuh — a thread's fragments of A and B, for kernels whose tiles of both operands are rows of k
 * in shared memory: two sets, one of which is loaded while the other is multiplied. Included after the
 * family's rules, whose names it uses. */
#ifndef GT_FRAGMENTS_CUH
#define GT_FRAGMENTS_CUH

#include "gt_compute.cuh"

struct fragments {
    float a[2][TM], b[2][TN];

    __device__ __forceinline__ void load(int set, shared_place at_a, shared_place at_b, int k)
    {
        load_fragment<TM, CHUNK_M, LANES_M>(a[set], at_a + k * STRIDE_A);
        load_fragment<TN, CHUNK_N, LANES_N>(b[set], at_b + k * STRIDE_B);
    }
};

#endif
