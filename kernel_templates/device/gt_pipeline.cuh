/* SPDX-License-Identifier: MIT */
/* gt_pipeline.cuh — the main loop of families whose blocks multiply tiles of A and B: stages in shared
 * memory, filled by cp.async or through registers, and two sets of fragments (simt.cu has a picture).
 * Included after the family's rules, whose names it uses, and after its source_of_a and source_of_b, which
 * say what is read.
 */
#ifndef GT_PIPELINE_CUH
#define GT_PIPELINE_CUH

#include "gt_async_copy.cuh"
#include "gt_barrier.cuh"
#include "gt_compute.cuh"
#include "gt_load.cuh"
#include "gt_memory.cuh"
#include "gt_schedule.cuh"

/* The mbarrier of a stage (TWO_STEPS) is stored in the padding after A's first row. */
static __device__ __forceinline__ struct mbarrier *barrier_of(float *stage)
{
    return reinterpret_cast<struct mbarrier *>(stage + STRIDE_A - 4);
}

/* One mbarrier per stage. A warp arrives when it has stored the values that it held in registers, and so no
 * longer reads the previous stage. A thread arrives as soon as its asynchronous copies have landed. */
static __device__ __forceinline__ void start_barriers(float *stages, int thread)
{
    if constexpr (!TWO_STEPS) return;
    if (thread == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++)
            mbarrier_init(barrier_of(stages + i * STAGE_FLOATS),
                          THREADS / 32 + (ASYNC_A || ASYNC_B ? THREADS : 0));
        mbarrier_ready();
    }
    __syncthreads();
}

/* Called when all threads have passed the last mbarrier. Afterwards the stages' memory may be used for
 * something else. */
static __device__ __forceinline__ void end_barriers(float *stages, int thread)
{
    if constexpr (!TWO_STEPS) return;
    if (thread == 0)
#pragma unroll
        for (int i = 0; i < STAGES; i++) mbarrier_end(barrier_of(stages + i * STAGE_FLOATS));
    __syncthreads();
}

/* The loaders of both operands. */
struct operands {
    operand<tile_loader<BM, BK, STRIDE_A, VA, THREADS, !ALONG_M>, ASYNC_A> a;
    operand<tile_loader<BN, BK, STRIDE_B, VB, THREADS, !ALONG_N>, ASYNC_B> b;
    bool leads; /* the lane that arrives for its warp */

    /* awaited: whether next_stage_ready() will wait for this stage. */
    template <bool GUARD>
    __device__ __forceinline__ void copy(float *stage, bool valid, bool awaited, int count)
    {
        a.copy_async<GUARD>(stage, valid, count);
        b.copy_async<GUARD>(stage + BK * STRIDE_A, valid, count);
        if constexpr (TWO_STEPS && (ASYNC_A || ASYNC_B)) mbarrier_arrive_copies(barrier_of(stage), awaited);
        else if constexpr (ASYNC_A || ASYNC_B) cp_async_commit();
    }

    template <bool GUARD> __device__ __forceinline__ void fetch(bool valid, int count)
    {
        a.fetch_registers<GUARD>(valid, count);
        b.fetch_registers<GUARD>(valid, count);
    }

    __device__ __forceinline__ void put(float *stage) const
    {
        a.put_registers(stage);
        b.put_registers(stage + BK * STRIDE_A);
        if constexpr (TWO_STEPS) {
            __syncwarp();
            mbarrier_arrive(barrier_of(stage), leads);
        }
    }
};

/* Waits until the next stage is complete and all threads may read it. The stage that was read before it, or
 * (TWO_STEPS) the one before that, is then free. parity: of the rounds through all stages. */
static __device__ __forceinline__ void next_stage_ready(float *stage, unsigned parity)
{
    if constexpr (TWO_STEPS) {
        mbarrier_wait(barrier_of(stage), parity);
    } else {
        if constexpr (ASYNC_A || ASYNC_B) cp_async_wait<STAGES - 2>();
        __syncthreads();
    }
}

/* Waits until no copy to shared memory is in flight, including the zero fills beyond the last tile. After a
 * barrier the memory may be used for something else. */
static __device__ __forceinline__ void wait_for_copies()
{
    if constexpr (!ASYNC_A && !ASYNC_B) return;
    if constexpr (TWO_STEPS) cp_async_commit();
    cp_async_wait<0>();
}

#include "gt_fragments.cuh"

/* Position of the first piece of a thread's rows and columns within the block's tile, and its team's share of
 * each tile of k. */
struct thread_place {
    int row, column, team;
};

static __device__ __forceinline__ struct thread_place place_of(int thread)
{
    const int warp = thread / 32 % WARPS;
    const struct lane_place lane = lane_place_of<LANES_M, LANES_N>(thread % 32);
    return {warp / WARPS_N * WM + lane.m * CHUNK_M, warp % WARPS_N * WN + lane.n * CHUNK_N,
            thread / 32 / WARPS};
}

/* Stages are counted in bytes, so that an address is one addition. */
static __device__ __forceinline__ float *stage_at(float *stages, int bytes)
{
    return reinterpret_cast<float *>(reinterpret_cast<char *>(stages) + bytes);
}

static __device__ __forceinline__ int following(int stage)
{
    return stage == (STAGES - 1) * STAGE_BYTES ? 0 : stage + STAGE_BYTES;
}

/* Sets the sums to a 0 that is hidden from the assembler: it clears registers known to be 0 in pairs, and
 * such pairs would keep it from spreading the accumulators over the banks of the register file. */
static __device__ __forceinline__ void clear(const struct gemm_args &args, float (&sum)[TM][TN])
{
    const float zero = args.k < 0 ? 1.0f : 0.0f;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] = zero;
}

/* The main loop is text that is included, so that families may start to load before they have done with the
 * sums of the tile before: put into functions, the compiler makes other machine code of the same statements.
 */

/* sum = A * B over the block's range of k. */
static __device__ __forceinline__ void multiply(const struct gemm_args &args, struct tile_origin origin,
                                                struct k_range range, float (&sum)[TM][TN])
{
    const int thread = thread_index();
    float *const stages = gt_shared_memory();
    struct operands in;
#include "gt_start_product.cuh"

#include "gt_finish_product.cuh"
}

#endif
