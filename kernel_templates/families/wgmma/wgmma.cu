/* SPDX-License-Identifier: MIT */
/* wgmma.cu — C[m,n] = alpha * op(A) * op(B) + beta * C by the tensor-core instructions of sm_90a, which read
 * both operands from shared memory: FP16 or BF16 operands, exact products, sums in FP32, C in the operands'
 * type or FP32; or FP32 operands rounded to TF32, which the copies do (to nearest even: wgmma truncates).
 *
 *                          STAGES tiles of BK k
 *                        +-----+-----+-----+-----+        CONSUMERS groups of four warps, each with a
 *     one warp:  TMA --> |     |     |     |     | -----> share of the left operand's rows: sums in
 *         ^              +-----+-----+-----+-----+        registers --> shared memory --> C
 *         |                 full: bytes have landed       (wgmma_store.cuh)
 *         +---------------- empty: all groups have read it
 *
 * An operand that lies along k has lines of 64 k, 128 bytes, in shared memory; one that lies across k has
 * blocks of 64 x 64. Both are in the 128-byte swizzle, for which wgmma has descriptors. Tensor maps have the
 * operands' true extents: what is beyond is zeros. With SWAP the left operand, of 64 rows an instruction, is
 * B^T. Of TF32 lines have 32 k and blocks 32 x 32, and wgmma reads no blocks: the left operand's pass through
 * registers, the right operand is turned before (PACK).
 *
 * A block takes one tile of C, or every so many (WALK): then its warp for copies is ahead by the whole ring
 * while the others store a tile, and with WALK 2 each group has tiles of its own, in turns, so that one
 * stores while another multiplies. Blocks may share a tile of C and divide k among them (SPLIT_K): the last
 * one to arrive adds the parts (REDUCE 1), or they are a cluster and send each other their sums (REDUCE above
 * 1). Either order of additions is fixed, and with it the result, bit for bit.
 *
 * Parameters (-D) and their trade-offs: wgmma_params.def; legal combinations: wgmma_rules.h. TRANS_A, TRANS_B
 * are 0 or 1, TYPE_A and TYPE_C the elements' types. Launch and arguments: gemm_args.h, where pointers to
 * float stand for pointers to elements; tensor maps and PDL follow.
 */
#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_barrier.cuh"
#include "gt_cluster.cuh"
#include "gt_dependent.cuh"
#include "gt_epilogue.cuh"
#include "gt_memory.cuh"
#include "gt_reduce.cuh"
#include "gt_schedule.cuh"
#include "gt_store16.cuh"
#include "gt_teams.cuh"

/* TYPE_A is float for TF32. */
#define IS_float         1
#define ELEMENT_IS(type) IS_##type
#define IS_TF32(type)    ELEMENT_IS(type)
#if IS_TF32(TYPE_A)
#define TF32 1
#else
#define TF32 0
#endif

#if SWAP
#define WGMMA_N BM
#else
#define WGMMA_N BN
#endif
#include "gt_wgmma.cuh"
#include "gt_wgmma_tf32.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "wgmma_rules.h"

constexpr int QUADS = TALL * RIGHT / 8;

struct wgmma_args {
    struct gemm_args gemm;
    struct tensor_map left, right;
    alignas(64) int pdl; /* a parameter of the launch */
#if BOXES
    struct tensor_map c;
#endif
};
static_assert(sizeof(struct wgmma_args) == ARGUMENT_BYTES, "the host must know where everything is");

#if TF32
#include "gt_pack32.cuh"
#else
#include "gt_pack16.cuh"
#endif
#include "wgmma_store.cuh"

/* The block's shared memory. */
struct ring {
    float *memory; /* the stages */

    __device__ __forceinline__ shared_place stage(int i) const
    {
        return moved(place_in_shared(memory), i * STAGE_BYTES);
    }
    __device__ __forceinline__ struct mbarrier *full(int i) const
    {
        return reinterpret_cast<struct mbarrier *>(memory + AFTER_BYTES / 4) + i;
    }
    __device__ __forceinline__ struct mbarrier *empty(int i) const { return full(STAGES + i); }
    __device__ __forceinline__ float *inbox() const { return memory + (AFTER_BYTES + 16 * STAGES) / 4; }
    /* With WALK 2: that the group may multiply its next tile, since the group before has found all of its. */
    __device__ __forceinline__ struct mbarrier *go(int group) const
    {
        return reinterpret_cast<struct mbarrier *>(inbox()) + group;
    }
};

/* Which stage of the ring is next, and the parity of its phase. */
struct turn {
    int stage = 0;
    unsigned parity = 0;

    __device__ __forceinline__ void step()
    {
        if (++stage < STAGES) return;
        stage = 0;
        parity ^= 1;
    }

    /* Passes over stages that others read. */
    __device__ __forceinline__ void skip(int stages)
    {
        stage += stages;
        parity ^= stage / STAGES % 2;
        stage %= STAGES;
    }
};

/* A piece of EXTENT rows of an operand, from `row` and k on. */
template <bool ALONG_K, int EXTENT>
static __device__ __forceinline__ void copy_piece(shared_place to, const struct tensor_map &map, int row,
                                                  int k, int item, struct mbarrier *full)
{
    if constexpr (ALONG_K) {
        tensor_copy(to, map, k, row, item, full);
    } else {
#pragma unroll
        for (int i = 0; i < EXTENT / PIECE_K; i++)
            tensor_copy(moved(to, i * BLOCK_BYTES), map, row + i * PIECE_K, k, item, full);
    }
}

/* One thread. An operand that all items of the batch share has one item in its map. */
static __device__ __forceinline__ void produce(const struct wgmma_args &args, struct ring ring,
                                               struct tile_origin origin, int begin, int tiles,
                                               struct turn &turn)
{
    const int left = SWAP ? origin.n : origin.m, right = SWAP ? origin.m : origin.n;
    const int item_a = PACK_A || args.gemm.stride_a != 0 ? blockIdx.z : 0,
              item_b = PACK_B || args.gemm.stride_b != 0 ? blockIdx.z : 0;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++, turn.step()) {
        struct mbarrier *const full = ring.full(turn.stage);
        mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);
        mbarrier_arrive_expect(full, STAGE_BYTES, true);
#pragma unroll
        for (int piece = 0; piece < BK / PIECE_K; piece++) {
            const shared_place to = moved(ring.stage(turn.stage), piece * (LEFT_BYTES + RIGHT_BYTES));
            const int k = begin + tile * BK + piece * PIECE_K;
            copy_piece<LEFT_ALONG_K, LEFT>(to, args.left, left, k, SWAP ? item_b : item_a, full);
            copy_piece<RIGHT_ALONG_K, RIGHT>(moved(to, LEFT_BYTES), args.right, right, k,
                                             SWAP ? item_a : item_b, full);
        }
    }
}

/* An instruction's k further in a descriptor, in units of 16 bytes. */
constexpr int LEFT_STEP = LEFT_ALONG_K ? 2 : 128, RIGHT_STEP = RIGHT_ALONG_K ? 2 : 128;

template <int FIRST>
static __device__ __forceinline__ void multiply(float (&sum)[QUADS][4], unsigned long long left,
                                                unsigned long long right)
{
#if TF32
    wgmma_tf32<RIGHT, FIRST>(sum, left, right);
#else
    wgmma<BF16, LEFT_ALONG_K, RIGHT_ALONG_K, RIGHT, FIRST>(sum, left, right);
#endif
}

/* The products of a stage. */
static __device__ __forceinline__ void multiply_stage(shared_place stage, int group, float (&sum)[QUADS][4])
{
#pragma unroll
    for (int piece = 0; piece < BK / PIECE_K; piece++) {
        const shared_place at = moved(stage, piece * (LEFT_BYTES + RIGHT_BYTES));
        const unsigned long long left = matrix_at(moved(at, group * TALL * 8192)),
                                 right = matrix_at(moved(at, LEFT_BYTES));
#pragma unroll
        for (int k = 0; k < PIECE_K / WGMMA_K; k++) {
            multiply<0>(sum, left + k * LEFT_STEP, right + k * RIGHT_STEP);
            if constexpr (TALL > 1)
                multiply<RIGHT / 8>(sum, left + k * LEFT_STEP + (8192 >> 4), right + k * RIGHT_STEP);
        }
    }
}

#if TF32
/* A lane's elements of some of a piece's instructions along k, of the left operand that lies across k, for
 * TALL instructions each: with g = lane / 4 and t = lane % 4 those of rows g and g + 8 at k = t, then t + 4.
 * Lanes of odd t load the second k first, so that a load has each bank once: the swizzle moves 16 bytes of
 * line k to place ^ k.
 */
template <int STEPS> struct fragments {
    float of[STEPS][TALL][4];

    __device__ __forceinline__ void load(shared_place block)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x % WARPGROUP / 32, g = lane / 4, t = lane % 4;
        const bool odd = t % 2 == 1;
        const int k = t + (odd ? 4 : 0), sixteen = warp % 2 * 4 + g / 4;
        const shared_place first = moved(block, warp / 2 * BLOCK_BYTES + g % 4 * 4);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const shared_place early = moved(first, k * 128 + (sixteen ^ half * 2 ^ k) * 16);
            const shared_place late = moved(first, (k ^ 4) * 128 + (sixteen ^ half * 2 ^ k ^ 4) * 16);
#pragma unroll
            for (int i = 0; i < STEPS; i++)
#pragma unroll
                for (int tall = 0; tall < TALL; tall++) {
                    const int at = tall * (2 * BLOCK_BYTES) + i * WGMMA_K * 128;
                    float x, y;
                    load_shared<1>(&x, moved(early, at));
                    load_shared<1>(&y, moved(late, at));
                    of[i][tall][half] = odd ? y : x;
                    of[i][tall][2 + half] = odd ? x : y;
                }
        }
    }

    __device__ __forceinline__ void multiply(float (&sum)[QUADS][4], unsigned long long right) const
    {
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            wgmma_tf32<RIGHT, 0>(sum, of[k][0], right + k * RIGHT_STEP);
            if constexpr (TALL > 1)
                wgmma_tf32<RIGHT, RIGHT / 8>(sum, of[k][TALL - 1], right + k * RIGHT_STEP);
        }
        wgmma_end();
    }
};

/* The products of a stage whose left operand passes through registers. They are done when it returns: the
 * other group of the block, or another block, multiplies while this one loads. */
static __device__ __forceinline__ void multiply_fragments(shared_place stage, int group,
                                                          float (&sum)[QUADS][4])
{
#pragma unroll
    for (int piece = 0; piece < BK / PIECE_K; piece++) {
        const shared_place at = moved(stage, piece * (LEFT_BYTES + RIGHT_BYTES));
        const unsigned long long right = matrix_at(moved(at, LEFT_BYTES));
        struct fragments<PIECE_K / WGMMA_K> left;
        left.load(moved(at, group * TALL * (2 * BLOCK_BYTES)));
        left.multiply(sum, right);
        wgmma_done();
    }
}
#endif

#if PRELOAD > 0
/* The same with two sets of elements of PRELOAD instructions along k each: one is loaded while the other's
 * products are on the way. When it returns, those of the last set are. */
static __device__ __forceinline__ void multiply_preloaded(shared_place stage, int group,
                                                          struct mbarrier *empty, bool speaks,
                                                          struct fragments<PRELOAD> (&left)[2],
                                                          float (&sum)[QUADS][4])
{
    constexpr int SETS = PIECE_K / WGMMA_K / PRELOAD;
#pragma unroll
    for (int i = 0; i < BK / PIECE_K * SETS; i++) {
        const shared_place at = moved(stage, i / SETS * (LEFT_BYTES + RIGHT_BYTES));
        const int k = i % SETS * PRELOAD;
        left[i % 2].load(moved(at, group * TALL * (2 * BLOCK_BYTES) + k * WGMMA_K * 128));
        left[i % 2].multiply(sum, matrix_at(moved(at, LEFT_BYTES)) + k * RIGHT_STEP);
        wgmma_wait<1>(sum);
        if (i == 0) mbarrier_arrive(empty, speaks);
    }
}
#endif

/* A stage is empty as soon as the products of the next one have been started. With WALK 2 the groups go on
 * one after the other: who waits for a stage that is further ahead than the ring is long takes an older phase
 * for the one it waits for. */
static __device__ __forceinline__ void consume(struct ring ring, int tiles, int group, struct turn &turn,
                                               float (&sum)[QUADS][4])
{
    const bool speaks = threadIdx.x % 32 == 0;
    int before = 0;
#if PRELOAD > 0
    struct fragments<PRELOAD> left[2];
#endif
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        mbarrier_wait(ring.full(turn.stage), turn.parity);
        if (WALK == 2) mbarrier_arrive(ring.go((group + 1) % CONSUMERS), speaks && tile == tiles - 1);
#if PRELOAD > 0
        multiply_preloaded(ring.stage(turn.stage), WALK == 2 ? 0 : group, ring.empty(before),
                           speaks && tile > 0, left, sum);
#else
#if TF32
        if constexpr (LEFT_IN_REGISTERS) {
            multiply_fragments(ring.stage(turn.stage), WALK == 2 ? 0 : group, sum);
            mbarrier_arrive(ring.empty(turn.stage), speaks);
            turn.step();
            continue;
        }
#endif
        wgmma_begin();
        multiply_stage(ring.stage(turn.stage), WALK == 2 ? 0 : group, sum);
        wgmma_end();
        wgmma_wait<1>(sum);
        mbarrier_arrive(ring.empty(before), speaks && tile > 0);
#endif
        before = turn.stage;
        turn.step();
    }
    wgmma_wait<0>(sum);
    if (WALK && (PRELOAD || !LEFT_IN_REGISTERS)) mbarrier_arrive(ring.empty(before), speaks && tiles > 0);
}

/* Tiles of C that the blocks of an item take. */
static __device__ __forceinline__ unsigned tiles_of_c(const struct gemm_args &args)
{
    return WALK ? ((args.m - 1) / BM + 1) * ((args.n - 1) / BN + 1) : gridDim.x;
}

extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(const __grid_constant__ struct wgmma_args args)
{
    const struct ring ring = {swizzle_aligned(gt_shared_memory())};
    if (threadIdx.x == CONSUMER_THREADS) {
        tensor_prefetch(args.left);
        tensor_prefetch(args.right);
    }
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(ring.full(i), 1);
            mbarrier_init(ring.empty(i), SHARERS * 4);
        }
#pragma unroll
        for (int i = 0; WALK == 2 && i < CONSUMERS; i++) mbarrier_init(ring.go(i), 4);
        mbarrier_ready();
    }
    if constexpr (CLUSTER) cluster::join(ring.inbox());
    __syncthreads();
    next_kernel_may_begin(args.pdl == 1);
    wait_for_kernel_before();

    const int begin = blockIdx.y * args.gemm.k_per_split, k_left = args.gemm.k - begin;
    int tiles = ((k_left < args.gemm.k_per_split ? k_left : args.gemm.k_per_split) + BK - 1) / BK;
    if (scalar_of(args.gemm.alpha_device, args.gemm.alpha) == 0.0f) tiles = 0;
    struct turn turn;
    struct boxes boxes = {ring.memory};
    const bool producer = threadIdx.x >= CONSUMER_THREADS;
    const int group = producer ? 0 : threadIdx.x / WARPGROUP;
    /* With WALK 2 a group's first tile, and the distance to its next one. */
    const unsigned first = WALK == 2 ? group : 0, step = WALK == 2 && !producer ? CONSUMERS : 1;
    unsigned go_parity = group == 0; /* the first group finds the phase before the first complete */
    if (WALK == 2) turn.skip(group * tiles);
    for (unsigned block = blockIdx.x + first * gridDim.x; block < tiles_of_c(args.gemm);
         block += step * gridDim.x) {
        const struct tile_origin origin =
            tile_of_block<BM, BN>(block, args.gemm.m, args.gemm.n, args.gemm.group);
        if (producer) {
            if (threadIdx.x == CONSUMER_THREADS) {
                produce(args, ring, origin, begin, tiles, turn);
                next_kernel_may_begin(args.pdl == 2 && block + gridDim.x >= tiles_of_c(args.gemm));
            }
            if (!WALK) stand_by(args.gemm, ring.inbox());
        } else {
            float sum[QUADS][4];
#pragma unroll
            for (int q = 0; q < QUADS; q++)
#pragma unroll
                for (int e = 0; e < 4; e++) sum[q][e] = 0.0f;
            if (WALK == 2 && tiles > 0) mbarrier_wait(ring.go(group), go_parity);
            go_parity ^= 1;
            consume(ring, tiles, group, turn, sum);
            if (WALK == 2) turn.skip((CONSUMERS - 1) * tiles);
            store_sums(args, origin, ring.memory, ring.inbox(), boxes, sum);
        }
        if (!WALK) break;
    }
    boxes.wait();
}
