/* SPDX-License-Identifier: MIT */
/* bf16x6_left.cuh — pieces of the left operand made in the registers of those that multiply (FUSE 2 and 3):
 * its rows arrive as they are, each group splits its own, and wgmma takes them from there. While it does so,
 * the others multiply. Part of bf16x6.cu.
 *
 *     one thread: TMA -----> | rows of 64 k, FP32 | -----> pieces of 64 rows: 48 registers of a thread
 *
 * With g = lane / 4 and t = lane % 4 a thread holds of the warp's 16 rows those that row_in_eight(g) and 8
 * more tell, and of each 16 k those from 2 t and 2 t + 8 on, two each. In this order of rows half a warp reads
 * 8 bytes each from different banks.
 */
#ifndef GT_BF16X6_LEFT_CUH
#define GT_BF16X6_LEFT_CUH

constexpr bool LEFT_ALONG_K = SWAP ? TRANS_B : !TRANS_A;

/* A box has lines of 128 bytes in the 128-byte swizzle: of 32 k for each row, or of 32 rows for each k. */
static __device__ __forceinline__ void copy_raw(const struct bf16x6_args &args, struct ring ring, int left,
                                                int k, turn_of<RAW_STAGES> turn)
{
    struct mbarrier *const full = ring.raw_full(turn.stage);
    const shared_place to = ring.raw(turn.stage);
    const long long stride = SWAP ? args.gemm.stride_b : args.gemm.stride_a;
    const int item = stride != 0 ? blockIdx.z : 0;
    mbarrier_wait(ring.raw_empty(turn.stage), turn.parity ^ 1);
    mbarrier_arrive_expect(full, RAW_BYTES, true);
    if (LEFT_ALONG_K) {
#pragma unroll
        for (int i = 0; i < BK / 32; i++)
            tensor_copy(moved(to, i * (128 * LEFT)), args.left, k + 32 * i, left, item, full);
    } else {
#pragma unroll
        for (int i = 0; i < LEFT / 32; i++)
            tensor_copy(moved(to, i * (128 * BK)), args.left, left + 32 * i, k, item, full);
    }
}

/* Of 64 rows by BK k. */
struct left_pieces {
    unsigned word[PIECES][BK / 16][4];

    /* Two neighbours along k of a row: those of the 16 k from 16 `step` on, the first 8 of them or the others,
     * and the thread's first row or the one 8 below. */
    static __device__ __forceinline__ void load(float (&two)[2], shared_place raw, int group, int step,
                                                int half, int below)
    {
        const int lane = threadIdx.x % 32, t = lane % 4;
        const int row = threadIdx.x / 32 % 4 * 16 + row_in_eight(lane / 4);
        if (LEFT_ALONG_K) {
            const int first = row * 128 + ((t / 2 ^ row % 8) << 4) + t % 2 * 8;
            load_shared<2>(two, moved(raw, step / 2 * (128 * LEFT) + group * (128 * 64) + below * (128 * 8) +
                                               (first ^ step % 2 << 6 ^ half << 5)));
        } else {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int k = 2 * t + e, first = k * 128 + (row % 32 * 4 ^ k << 4);
                load_shared<1>(&two[e], moved(raw, (group * 2 + row / 32) * (128 * BK) + step * (128 * 16) +
                                                       half * (128 * 8) + (first ^ below << 5)));
            }
        }
    }

    __device__ __forceinline__ void split(shared_place raw, int group)
    {
#pragma unroll
        for (int step = 0; step < BK / 16; step++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float two[2];
                unsigned piece[PIECES];
                load(two, raw, group, step, i / 2, i % 2);
                split_two(two[0], two[1], piece);
#pragma unroll
                for (int p = 0; p < PIECES; p++) word[p][step][i] = piece[p];
            }
    }

    /* Products of a piece with one of the right operand. */
    template <int PIECE, bool ANEW>
    __device__ __forceinline__ void multiply(shared_place stage, float (&part)[QUADS][4]) const
    {
        const unsigned long long right = matrix_at(stage);
#pragma unroll
        for (int step = 0; step < BK / 16; step++) {
            if (ANEW && step == 0) wgmma_left<true>(part, word[PIECE][step], right);
            else wgmma_left<false>(part, word[PIECE][step], right + step * 2);
        }
    }
};

#endif
