/* SPDX-License-Identifier: MIT */
/* gt_fragments.cuh — what a thread holds of A and B, for kernels whose tiles of either are rows of k in
 * shared memory: two sets, one of which is read while the other is multiplied. Included behind the rules of
 * the family, by whose names it goes.
 */
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
