/* SPDX-License-Identifier: MIT */
/* gt_arrive.cuh — finds the last of the blocks that share a tile: the one that stores its part after all
 * others have stored theirs, and may therefore read all parts. No block waits for another, so it does not
 * matter how many blocks are resident at a time. */
#ifndef GT_ARRIVE_CUH
#define GT_ARRIVE_CUH

#include "gt_memory.cuh"

/* Returns true in all threads of the last of `blocks` blocks to call it with the same `counter`. That block
 * resets the counter to 0 for the next launch, and sees everything that the others stored before their calls.
 * `flag` is a float of shared memory that is in use until the block's next barrier. */
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
