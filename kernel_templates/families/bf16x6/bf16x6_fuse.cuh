/* SPDX-License-Identifier: MIT */
/* bf16x6_fuse.cuh — pieces of A and B made by the block that multiplies them (FUSE), in place of a kernel
 * before and of copies: four warps load FP32, split it, and store its pieces where copies would have put
 * them. Part of bf16x6.cu.
 *
 * A thread takes runs of 8 k of a row, which are 16 bytes of each piece. Neighbouring threads have
 * neighbouring runs of an operand that lies along k, and neighbouring rows of one that lies across: both read
 * whole lines and write to different banks. Loads of a step are on their way while the step before is split.
 */
#ifndef GT_BF16X6_FUSE_CUH
#define GT_BF16X6_FUSE_CUH

/* ROWS rows of an operand: of op(A), or columns of op(B). V: elements an access, if it lies along k. */
template <bool ALONG_K, int ROWS, int V> struct raw_tile {
    static constexpr int RUNS = ROWS * (BK / 8) / WARPGROUP; /* of a thread */
    static_assert(ROWS * (BK / 8) % WARPGROUP == 0, "threads have equally many runs");
    float value[RUNS][8];

    static __device__ __forceinline__ int row_of(int i)
    {
        const int number = i * WARPGROUP + threadIdx.x % WARPGROUP;
        return ALONG_K ? number / (BK / 8) : number % ROWS;
    }
    static __device__ __forceinline__ int run_of(int i)
    {
        const int number = i * WARPGROUP + threadIdx.x % WARPGROUP;
        return ALONG_K ? number % (BK / 8) : number / ROWS;
    }

    /* k elements of the operand are left from `from` on, and `rows` rows; what is beyond is 0. */
    __device__ __forceinline__ void load(const float *from, long long ld, int rows, int k)
    {
#pragma unroll
        for (int i = 0; i < RUNS; i++) {
            const int row = row_of(i), first = run_of(i) * 8;
            const float *const at = from + (ALONG_K ? row * ld + first : first * ld + row);
#pragma unroll
            for (int e = 0; e < 8; e++) value[i][e] = 0.0f;
            if (ALONG_K && V == 4 && first + 8 <= k) {
                load_global<V>(&value[i][0], at, row < rows);
                load_global<V>(&value[i][4], at + 4, row < rows);
            } else {
#pragma unroll
                for (int e = 0; e < 8; e++)
                    load_global<1>(&value[i][e], at + (ALONG_K ? e : e * ld), row < rows && first + e < k);
            }
        }
    }

    /* to[p]: where piece p of the tile is. */
    __device__ __forceinline__ void split(float *const (&to)[PIECES]) const
    {
#pragma unroll
        for (int i = 0; i < RUNS; i++) {
            const int row = row_of(i), place = row * 32 + (run_of(i) ^ row % 8) * 4; /* in the swizzle */
            float piece[PIECES][4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                union {
                    unsigned bits;
                    float number;
                } two;
                unsigned word[PIECES];
                split_two(value[i][2 * e], value[i][2 * e + 1], word);
#pragma unroll
                for (int p = 0; p < PIECES; p++) {
                    two.bits = word[p];
                    piece[p][e] = two.number;
                }
            }
#pragma unroll
            for (int p = 0; p < PIECES; p++) store_shared<4>(to[p] + place, piece[p]);
        }
    }
};

/* The four warps that do not multiply. */
static __device__ __forceinline__ void produce(const struct bf16x6_args &args, struct ring ring,
                                               const struct share &share, struct turns &turns)
{
    const struct gemm_args &gemm = args.gemm;
    const struct tile_origin origin = share.origin(gemm);
    if (share.begin >= share.end) return; /* then A and B are not read */
    const float *a = ITEM_OF_BATCH(gemm, a), *b = ITEM_OF_BATCH(gemm, b);
    const long long step_a = TRANS_A ? gemm.lda : 1, step_b = TRANS_B ? 1 : gemm.ldb;
    a += (TRANS_A ? origin.m : origin.m * gemm.lda) + share.begin * step_a;
    b += (TRANS_B ? origin.n * gemm.ldb : origin.n) + share.begin * step_b;
    const int rows = gemm.m - origin.m, columns = gemm.n - origin.n;
    raw_tile<!TRANS_A, BM, VA> tile_a;
    raw_tile<TRANS_B, BN, VB> tile_b;
    tile_a.load(a, gemm.lda, rows, share.end - share.begin);
#pragma unroll 1
    for (int left = share.end - share.begin; left > 0; left -= BK) {
        float *to_a[PIECES], *to_b[PIECES];
        turn_of<STAGES> taken[PIECES];
        tile_b.load(b, gemm.ldb, columns, left);
        a += BK * step_a;
        b += BK * step_b;
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            taken[i] = turns.piece.taken();
            mbarrier_wait(ring.empty(taken[i].stage), taken[i].parity ^ 1);
            to_a[piece_in_turn(i)] = ring.memory + taken[i].stage * (STAGE_BYTES / 4);
            to_b[piece_in_turn(i)] = ring.memory + taken[i].stage * (STAGE_BYTES / 4) + LEFT_BYTES / 4;
        }
        tile_a.split(to_a);
        if (left > BK) tile_a.load(a, gemm.lda, rows, left - BK);
        tile_b.split(to_b);
        bulk_copy_fence(); /* wgmma reads as copies do */
        __syncwarp();
#pragma unroll
        for (int i = 0; i < PIECES; i++) mbarrier_arrive(ring.full(taken[i].stage), threadIdx.x % 32 == 0);
    }
}

#endif
