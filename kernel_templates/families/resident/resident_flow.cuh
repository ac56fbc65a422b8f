/* SPDX-License-Identifier: MIT */
/* resident_flow.cuh — iterates over the stages without a barrier of the whole block: each stage has two
 * mbarriers, one that says it is full and one that says it is free.
 *
 *     warp 0   k 0 | k 1 | k 2 | store C | k 0 | k 1 ...   A warp waits until the stage that it is to
 *     warp 1    k 0 | k 1 | k 2 | store C | k 0 ...        read is full. Before it copies to another
 *     warp 2   k 0 | k 1 |  k 2 | store C | ...            one, it waits until all warps have left that.
 *
 * A stage is refilled LAG stages after it was left: one warp may store C while another still multiplies. A
 * tile of C consists of groups of UNROLL rows of k; where k is not a multiple of UNROLL, the first stage ends
 * with rows of zeros.
 */
#ifndef GT_RESIDENT_FLOW_CUH
#define GT_RESIDENT_FLOW_CUH

#define LAG   (STAGES > 2 ? 2 : 1)
#define AHEAD (STAGES - LAG) /* stages in flight while one is read */

/* A position in the ring of stages, and the parity of the round. */
struct ring_place {
    int stage;
    unsigned parity;

    __device__ __forceinline__ void move_on()
    {
        const bool wraps = ++stage == STAGES;
        if (wraps) stage = 0;
        parity ^= wraps;
    }
};

/* The block's iteration over the stages, in step with the copies. */
struct flow {
    flow_stream in;
    struct fragments f;
    float *stages;
    struct mbarrier *full, *empty;
    shared_place at_resident, at_stream;
    struct ring_place read, fill;
    int rows_left, stages_left; /* left of the stage, left of the tile */

    __device__ __forceinline__ void start(const struct view &v)
    {
        stages = gt_shared_memory();
        full = reinterpret_cast<struct mbarrier *>(stages + STAGES * STAGE_FLOATS);
        empty = full + STAGES;
        float *const resident = stages + STAGES * STAGE_FLOATS + BARRIER_FLOATS;
        if (thread_index() == 0) {
#pragma unroll 1
            for (int i = 0; i < STAGES; i++) {
                mbarrier_init(full + i, flow_stream::ARRIVALS);
                mbarrier_init(empty + i, WARPS);
            }
            mbarrier_ready();
        }
        copy_resident(resident, v);
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        in.start(v);
        read = fill = {0, 0};
#pragma unroll 1
        for (int i = 0; i <= AHEAD; i++) copy(v);
        const struct thread_place place = place_of(thread_index());
        at_resident = place_in_shared(resident + (SIDE == 0 ? place.row : place.column));
        at_stream = place_in_shared(stages + (SIDE == 0 ? place.column : place.row));
        stages_left = v.k.tiles;
        rows_left = v.first_rows;
        mbarrier_wait(full, 0);
        load(0, 0);
    }

    __device__ __forceinline__ void load(int set, int k)
    {
        f.load(set, SIDE == 0 ? at_resident : at_stream, SIDE == 0 ? at_stream : at_resident, k);
    }

    /* Starts the next copies, into a stage that all warps have left. */
    __device__ __forceinline__ void copy(const struct view &v)
    {
        in.copy(stages + fill.stage * STAGE_FLOATS, full + fill.stage, empty + fill.stage, fill.parity ^ 1,
                v);
        fill.move_on();
    }

    /* From the last group of a stage to the next stage. Pointers are set so that its first row is UNROLL rows
     * further on, as if another group followed. Returns whether the next stage belongs to the same tile. */
    __device__ __forceinline__ bool next_stage(const struct view &v)
    {
        const int rows = stages_left == v.k.tiles ? v.first_rows : BK;
        const int from = read.stage;
        __syncwarp();
        mbarrier_arrive(empty + from, thread_index() % 32 == 0);
        read.move_on();
        at_stream += (read.stage - from) * STAGE_FLOATS - rows * STRIDE_STREAM;
        rows_left = BK;
        const bool more = --stages_left > 0;
        if (!more) {
            stages_left = v.k.tiles;
            rows_left = v.first_rows;
            at_resident += -v.k_rows * STRIDE_RESIDENT;
        }
        copy(v);
        mbarrier_wait(full + read.stage, read.parity);
        return more;
    }

    /* sum += the products of one tile. */
    __device__ __forceinline__ void multiply(float (&sum)[TM][TN], const struct view &v)
    {
        bool more = true;
#pragma unroll 1
        do {
#pragma unroll
            for (int u = 0; u < UNROLL - 1; u++) {
                load((u + 1) % 2, u + 1);
                add_outer_product<ORDER>(sum, f.a[u % 2], f.b[u % 2]);
            }
            rows_left -= UNROLL;
            if (rows_left == 0) more = next_stage(v);
            load(0, UNROLL);
            add_outer_product<ORDER>(sum, f.a[1], f.b[1]);
            at_resident += UNROLL * STRIDE_RESIDENT;
            at_stream += UNROLL * STRIDE_STREAM;
        } while (more);
    }
};

#endif
