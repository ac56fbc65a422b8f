/* SPDX-License-Identifier: MIT */
/* bf16x6_raw.cuh — pieces made by the block from rows of FP32 that arrive as they are (FUSE 2 and 3). Part of
 * bf16x6.cu.
 *
 *     one thread: TMA ---> | left, FP32  | ---> each group: pieces of its 64 rows, 48 registers of a thread
 *                          | right, FP32 | ---> seven warps (FUSE 3): stages of pieces
 *
 * wgmma takes the left operand from registers. While one group splits, the others multiply.
 */
#ifndef GT_BF16X6_RAW_CUH
#define GT_BF16X6_RAW_CUH

constexpr bool LEFT_ALONG_K = SWAP ? TRANS_B : !TRANS_A, RIGHT_ALONG_K = SWAP ? !TRANS_A : TRANS_B;

/* ROWS rows of BK k: boxes of lines of 128 bytes in the 128-byte swizzle, of 32 k for each row, or of 32 rows
 * for each k. */
template <bool ALONG_K, int ROWS>
static __device__ __forceinline__ void copy_rows(shared_place to, const struct tensor_map &map, int row,
                                                 int k, int item, struct mbarrier *full)
{
    if (ALONG_K) {
#pragma unroll
        for (int i = 0; i < BK / 32; i++)
            tensor_copy(moved(to, i * (128 * ROWS)), map, k + 32 * i, row, item, full);
    } else {
#pragma unroll
        for (int i = 0; i < (ROWS + 31) / 32; i++)
            tensor_copy(moved(to, i * (128 * BK)), map, row + 32 * i, k, item, full);
    }
}

/* One thread. */
static __device__ __forceinline__ void copy_raw(const struct bf16x6_args &args, struct ring ring,
                                                struct tile_origin origin, int k, turn_of<RAW_STAGES> turn)
{
    constexpr int RIGHT_ROWS = RIGHT_ALONG_K ? RIGHT : (RIGHT + 31) / 32 * 32;
    constexpr int BYTES = RAW_LEFT_BYTES + (RIGHT_RAW ? 4 * BK * RIGHT_ROWS : 0);
    struct mbarrier *const full = ring.raw_full(turn.stage);
    const shared_place to = ring.raw(turn.stage);
    const int item_a = args.gemm.stride_a != 0 ? blockIdx.z : 0,
              item_b = args.gemm.stride_b != 0 ? blockIdx.z : 0;
    mbarrier_wait(ring.raw_empty(turn.stage), turn.parity ^ 1);
    mbarrier_arrive_expect(full, BYTES, true);
    copy_rows<LEFT_ALONG_K, LEFT>(to, args.left, left_of(origin), k, SWAP ? item_b : item_a, full);
    if (RIGHT_RAW)
        copy_rows<RIGHT_ALONG_K, RIGHT>(moved(to, RAW_LEFT_BYTES), args.right, right_of(origin), k,
                                        SWAP ? item_a : item_b, full);
}

/* Of 64 rows by BK k. With g = lane / 4 and t = lane % 4 a thread holds, of the warp's 16 rows, those that
 * row_in_eight(g) and 8 more tell, and of each 16 k two each from 2 t and from 2 t + 8 on. In this order of
 * rows half a warp reads 8 bytes each from different banks. */
struct left_pieces {
    unsigned word[PIECES][BK / 16][4];

    /* Two neighbours along k of a row: those of the 16 k from 16 `step` on, the first 8 of them or the
     * others, and the thread's first row or the one 8 below. */
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

#if RIGHT_RAW
/* A thread's runs of 8 k of a row, which are 16 bytes of each piece. Neighbouring threads have neighbouring
 * rows: so they read from different banks, and write to different banks. */
struct right_runs {
    static constexpr int ALL = RIGHT * (BK / 8), COUNT = (ALL + SPLITTERS - 1) / SPLITTERS;
    int from[COUNT], to[COUNT]; /* bytes from where the rows, or a piece, begin */

    __device__ __forceinline__ right_runs()
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int number = threadIdx.x - (CONSUMER_THREADS + 32) + i * SPLITTERS;
            const int row = number % RIGHT, run = number / RIGHT;
            to[i] = row * 128 + (run ^ row % 8) * 16;
            from[i] = RIGHT_ALONG_K ? run / 4 * (128 * RIGHT) + row * 128 + (run % 4 * 2 ^ row % 8) * 16
                                    : row / 32 * (128 * BK) + run * (128 * 8) + row % 32 * 4;
        }
    }

    static __device__ __forceinline__ bool is_one(int i)
    {
        return (i + 1) * SPLITTERS <= ALL || threadIdx.x - (CONSUMER_THREADS + 32) + i * SPLITTERS < ALL;
    }

    __device__ __forceinline__ void load(float (&value)[8], shared_place raw, int i) const
    {
        const shared_place first = moved(raw, from[i]);
        if (RIGHT_ALONG_K) {
            load_shared<4>(&value[0], first);
            load_shared<4>(&value[4], flipped(first, 16));
        } else {
#pragma unroll
            for (int e = 0; e < 8; e++) load_shared<1>(&value[e], moved(flipped(first, e << 4), e * 128));
        }
    }

    __device__ __forceinline__ void store(const shared_place (&stage)[PIECES], const float (&value)[8],
                                          int i) const
    {
        unsigned word[4][PIECES];
#pragma unroll
        for (int e = 0; e < 4; e++) split_two(value[2 * e], value[2 * e + 1], word[e]);
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            store_words(moved(stage[p], to[i]), word[0][p], word[1][p], word[2][p], word[3][p]);
    }

    /* stage[p]: of piece p. */
    __device__ __forceinline__ void split(shared_place raw, const shared_place (&stage)[PIECES]) const
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            float value[8];
            if (!is_one(i)) continue;
            load(value, raw, i);
            store(stage, value, i);
        }
    }
};

/* One thread. */
static __device__ __forceinline__ void produce(const struct bf16x6_args &args, struct ring ring,
                                               const struct share &share, struct turns &turns)
{
    const struct tile_origin origin = share.origin(args.gemm);
#pragma unroll 1
    for (int k = share.begin; k < share.end; k += BK) copy_raw(args, ring, origin, k, turns.raw.taken());
}

/* The seven warps that split. */
static __device__ __forceinline__ void split_share(struct ring ring, const struct right_runs &runs,
                                                   const struct share &share, struct turns &turns)
{
    const bool speaks = threadIdx.x % 32 == 0;
#pragma unroll 1
    for (int k = share.begin; k < share.end; k += BK) {
        shared_place stage[PIECES];
        turn_of<STAGES> taken[PIECES];
        const turn_of<RAW_STAGES> raw = turns.raw.taken();
        mbarrier_wait(ring.raw_full(raw.stage), raw.parity);
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            taken[i] = turns.piece.taken();
            mbarrier_wait(ring.empty(taken[i].stage), taken[i].parity ^ 1);
            stage[piece_in_turn(i)] = ring.stage(taken[i].stage);
        }
        runs.split(moved(ring.raw(raw.stage), RAW_LEFT_BYTES), stage);
        bulk_copy_fence(); /* wgmma reads as copies do */
        __syncwarp();
#pragma unroll
        for (int i = 0; i < PIECES; i++) mbarrier_arrive(ring.full(taken[i].stage), speaks);
        mbarrier_arrive(ring.raw_empty(raw.stage), speaks);
    }
}
#endif

#endif
