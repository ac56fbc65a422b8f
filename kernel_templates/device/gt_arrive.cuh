/* SPDX-License-Identifier: MIT */
/* gt_arrive.cuh — blocks that share a tile: who is the last to have stored its part? That one may read all
 * parts. Nobody waits for anybody, so it does not matter how many blocks run at a time. */
#ifndef GT_ARRIVE_CUH
#define GT_ARRIVE_CUH

#include "gt_memory.cuh"

/* True in all threads of the last of `blocks` blocks that count themselves with `counter`, which goes back to
 * 0 for the next launch. What the block has stored is seen by the last one. `flag` is a float of shared
 * memory, used until the block's next barrier. */
static __device__ __forceinline__ bool last_to_arrive(unsigned *counter, int blocks, float *flag)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool last = count_in(counter) == blocks - 1u;
        if (last) *counter = 0;
        const float answer = last ? 1.0f : 0.0f;
        store_shared<1>(flag, &answer);
    }
    __syncthreads();
    float answer;
    load_shared<1>(&answer, flag);
    return answer != 0.0f;
}

#endif
