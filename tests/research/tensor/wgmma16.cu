/* SPDX-License-Identifier: MIT */
/* wgmma16.cu — the product of tensor_mma.cu by wgmma and TMA (sm_90a): operands of 16 bits whose addresses
 * and leading dimensions are multiples of 16 bytes.
 *
 *     one warp: TMA --> STAGES tiles of BK k, full and empty mbarriers --> CONSUMERS warpgroups
 *
 * The left operand has 64 rows an instruction, the right one up to 256 columns; with SWAP the left one is B,
 * for few rows of C. An operand that lies along k has rows of 128 bytes in shared memory, one that lies
 * across has blocks of 64 x 64, both in the 128-byte swizzle. Tensor maps hold the true extents: what is
 * beyond is read as zero.
 *
 * Parameters: BM, BN, BK (a multiple of 64); CONSUMERS, each with a CONSUMERS-th of the left operand's rows;
 * STAGES, SPLIT_K, REDUCE, GROUP, SWAP, EPILOGUE as in tensor_mma.cu. wgmma.inc, the instruction for the
 * tile's width, is written by the program that compiles this.
 */
#define CONSUMER_THREADS (128 * CONSUMERS)
#define THREADS          (CONSUMER_THREADS + 32)
#define WARPS_K          1
#define SYNC_SUMS()      asm volatile("bar.sync 1, %0;" ::"n"(CONSUMER_THREADS) : "memory")
#include "tensor16.cuh"

constexpr int LEFT = SWAP ? BN : BM, RIGHT = SWAP ? BM : BN;
constexpr bool LEFT_ALONG_K = SWAP ? TRANS_B : !TRANS_A, RIGHT_ALONG_K = SWAP ? !TRANS_A : TRANS_B;
constexpr int BLOCKS = BK / 64, TALL = LEFT / CONSUMERS / 64; /* instructions down a warpgroup's rows */
constexpr int QUADS = TALL * RIGHT / 8;
constexpr int LEFT_BYTES = LEFT * 128, RIGHT_BYTES = RIGHT * 128,
              STAGE_BYTES = BLOCKS * (LEFT_BYTES + RIGHT_BYTES);
constexpr int RING_BYTES = max_of(STAGES * STAGE_BYTES, SUMS_BYTES);
static_assert(BK % 64 == 0, "BK must be a multiple of 64");
static_assert(LEFT % (64 * CONSUMERS) == 0 && LEFT <= 256,
              "a warpgroup has 64 or more rows, a box at most 256");
static_assert(RIGHT % 8 == 0 && RIGHT <= 256 && (RIGHT_ALONG_K || RIGHT % 64 == 0), "RIGHT");
static_assert(EPILOGUE == 0 || (SPLIT_K == 1 && SWAP == 0 && C_F32 == 0),
              "EPILOGUE 1 is for whole sums of 16 bits");

#include "wgmma.inc" /* multiply_add<Q>(sum, left, right): sum[Q...] += 64 x 16 by 16 x RIGHT */

struct alignas(64) tensor_map {
    unsigned long long opaque[16];
};

DEVICE void copy_box(unsigned to, const tensor_map &map, int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

/* One block of 64 k of an operand's EXTENT rows. */
template <bool ALONG_K, int EXTENT>
DEVICE void copy_block(unsigned to, const tensor_map &map, int row, int k, unsigned barrier)
{
    if constexpr (ALONG_K) {
        copy_box(to, map, k, row, barrier);
    } else {
#pragma unroll
        for (int i = 0; i < EXTENT / 64; i++) copy_box(to + i * 8192, map, row + i * 64, k, barrier);
    }
}

/* Descriptor of a block in the 128-byte swizzle; groups of eight lines follow each other, and blocks of 64
 * x 64. */
DEVICE unsigned long long block_at(unsigned address)
{
    return 1ull << 62 | (unsigned long long)(1024 >> 4) << 32 | (unsigned long long)(8192 >> 4) << 16 |
           (address & 0x3ffff) >> 4;
}

/* 16 k further, in units of 16 bytes. */
constexpr int LEFT_STEP = LEFT_ALONG_K ? 2 : 128, RIGHT_STEP = RIGHT_ALONG_K ? 2 : 128;

DEVICE void multiply_rows(float (&sum)[QUADS][4], unsigned long long left, unsigned long long right)
{
    multiply_add<0>(sum, left, right);
    if constexpr (TALL > 1) multiply_add<RIGHT / 8>(sum, left + (8192 >> 4), right);
    static_assert(TALL <= 2, "a warpgroup has at most 128 rows");
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ tensor_map left, const __grid_constant__ tensor_map right,
         const tensor_args args)
{
    const unsigned stages = (shared_address(shared_memory) + 1023) & ~1023u;
    const unsigned full = stages + RING_BYTES, empty = full + 8 * STAGES;
    const work w = work_of_block(args.m, args.n);
    if (threadIdx.x == CONSUMER_THREADS) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&left) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&right) : "memory");
    }
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, CONSUMERS * 4);
        }
        barriers_visible();
    }
    reduction<QUADS, CONSUMER_THREADS> reduce;
    const unsigned together = (empty + 8 * STAGES + 15) & ~15u;
    reduce.start(together + 16, together);
    __syncthreads();
    wait_for_previous_kernel();
    const int all = (args.k + BK - 1) / BK, begin = (int)((long long)all * w.split / SPLIT_K);
    const int tiles = (int)((long long)all * (w.split + 1) / SPLIT_K) - begin;
    const int first = SWAP ? w.n : w.m, second = SWAP ? w.m : w.n;

    if (threadIdx.x >= CONSUMER_THREADS) {
        if (threadIdx.x == CONSUMER_THREADS) {
            for (int tile = 0, slot = 0, round = 0; tile < tiles; tile++) {
                barrier_wait(empty + 8 * slot, round & 1 ^ 1);
                barrier_expect(full + 8 * slot, STAGE_BYTES);
#pragma unroll
                for (int i = 0; i < BLOCKS; i++) {
                    const unsigned to = stages + slot * STAGE_BYTES + i * (LEFT_BYTES + RIGHT_BYTES);
                    const int k = (begin + tile) * BK + i * 64;
                    copy_block<LEFT_ALONG_K, LEFT>(to, left, first, k, full + 8 * slot);
                    copy_block<RIGHT_ALONG_K, RIGHT>(to + LEFT_BYTES, right, second, k, full + 8 * slot);
                }
                if (++slot == STAGES) slot = 0, round++;
            }
        }
        reduce.stand_by();
        return;
    }

    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float sum[QUADS][4] = {};
    for (int tile = 0, slot = 0, round = 0, before = 0; tile < tiles; tile++) {
        barrier_wait(full + 8 * slot, round & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            const unsigned at = stages + slot * STAGE_BYTES + i * (LEFT_BYTES + RIGHT_BYTES);
            const unsigned long long l = block_at(at + group * TALL * 8192), r = block_at(at + LEFT_BYTES);
#pragma unroll
            for (int k = 0; k < 4; k++) multiply_rows(sum, l + k * LEFT_STEP, r + k * RIGHT_STEP);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (tile > 0 && lane == 0) barrier_arrive(empty + 8 * before);
        before = slot;
        if (++slot == STAGES) slot = 0, round++;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        asm volatile("" : "+f"(sum[q][0]), "+f"(sum[q][1]), "+f"(sum[q][2]), "+f"(sum[q][3])::"memory");

    const int row = group * TALL * 64 + warp * 16 + lane / 4, column = lane % 4 * 2;
#if EPILOGUE
    if (args.beta == 0) {
        SYNC_SUMS();
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const float(&v)[4] = sum[q];
            unsigned char *const to = shared_memory + (row + q / (RIGHT / 8) * 64) * STAGED_LINE +
                                      (column + q % (RIGHT / 8) * 8) * 2;
            *(unsigned *)to = pack(args.alpha * v[0], args.alpha * v[1]);
            *(unsigned *)(to + 8 * STAGED_LINE) = pack(args.alpha * v[2], args.alpha * v[3]);
        }
        SYNC_SUMS();
        store_staged<CONSUMER_THREADS>(args, w, threadIdx.x);
        return;
    }
#endif
    float *const tile = (float *)(shared_memory + (stages - shared_address(shared_memory)));
    reduce.store(args, w, sum, threadIdx.x, tile,
                 [&](int q) { return make_int2(row + q / (RIGHT / 8) * 64, column + q % (RIGHT / 8) * 8); });
}
