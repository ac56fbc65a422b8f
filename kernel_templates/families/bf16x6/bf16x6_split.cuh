/* SPDX-License-Identifier: MIT */
/* bf16x6_split.cuh — the kernel that splits A and B into pieces before they are multiplied. Part of
 * bf16x6.cu.
 *
 * Lines are along k, whatever the op: a tile passes through shared memory, where it is turned if need be.
 * They begin at multiples of 128 bytes. Operands may have any alignment: each access reads one element. An
 * operand that all items of the batch share is split once, for the first item of a launch.
 */
#ifndef GT_BF16X6_SPLIT_CUH
#define GT_BF16X6_SPLIT_CUH

/* The largest BF16: what is larger is not rounded to infinity. */
#define PIECE_MAX 3.38953139e38f

/* The item of the workspace that holds the pieces of an operand of the block's batch item. */
static __device__ __forceinline__ unsigned item_of_a(const struct gemm_args &args)
{
    return SHARED_ITEMS && args.stride_a == 0 ? 0 : blockIdx.z;
}
static __device__ __forceinline__ unsigned item_of_b(const struct gemm_args &args)
{
    return SHARED_ITEMS && args.stride_b == 0 ? 0 : blockIdx.z;
}

/* word[p] = piece p of x and of y; what is left of x and y is 0 then, unless they are not finite. */
static __device__ __forceinline__ void split_two(float x, float y, unsigned (&word)[PIECES])
{
#if LEFT_RAW
    word[0] = packed_finite(x, y);
#else
    const float high_x = x > PIECE_MAX ? PIECE_MAX : x < -PIECE_MAX ? -PIECE_MAX : x;
    const float high_y = y > PIECE_MAX ? PIECE_MAX : y < -PIECE_MAX ? -PIECE_MAX : y;
    word[0] = packed<true>(high_x, high_y);
#endif
#pragma unroll
    for (int p = 1; p < PIECES; p++) {
        x -= unpacked<true>((unsigned short)word[p - 1]);
        y -= unpacked<true>((unsigned short)(word[p - 1] >> 16));
        word[p] = packed<true>(x, y);
    }
}

#if FUSE == 0 || FUSE == 2
/* A tile of an operand: element (row, k) of the product's operand is at from[row * ld + k] if ALONG_K, else
 * at from[k * ld + row]. to: piece 0 of the first row; pieces are `apart` elements from each other. */
template <bool ALONG_K>
static __device__ __forceinline__ void split_tile(const float *from, long long ld, int rows, int k,
                                                  unsigned short *to, long long line, long long apart,
                                                  int tile)
{
    constexpr int LOADS = SPLIT_SIDE * SPLIT_SIDE / SPLIT_THREADS;
    const int tiles_k = (k + SPLIT_SIDE - 1) / SPLIT_SIDE;
    const int first_row = tile / tiles_k * SPLIT_SIDE, first_k = tile % tiles_k * SPLIT_SIDE;
    float *const shared = gt_shared_memory();
    float value[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int at = i * SPLIT_THREADS + threadIdx.x, inner = at % SPLIT_SIDE, outer = at / SPLIT_SIDE;
        const int row = first_row + (ALONG_K ? outer : inner), own_k = first_k + (ALONG_K ? inner : outer);
        value[i] = 0.0f;
        load_stream<1>(&value[i], from + (ALONG_K ? row * ld + own_k : own_k * ld + row),
                       row < rows && own_k < k);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int at = i * SPLIT_THREADS + threadIdx.x, inner = at % SPLIT_SIDE, outer = at / SPLIT_SIDE;
        store_shared<1>(shared + (ALONG_K ? outer * SPLIT_LINE + inner : inner * SPLIT_LINE + outer),
                        &value[i]);
    }
    __syncthreads();
    /* A warp takes 8 rows x 4 runs of 8 k: so its lanes read from different banks. */
#pragma unroll
    for (int i = 0; i < LOADS / 8; i++) {
        const int warp = i * (SPLIT_THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
        const int row = warp % (SPLIT_SIDE / 8) * 8 + lane % 8;
        const int run = (warp / (SPLIT_SIDE / 8) * 4 + lane / 8) * 8;
        unsigned short piece[PIECES][8];
#pragma unroll
        for (int e = 0; e < 8; e += 2) {
            float x, y;
            unsigned word[PIECES];
            load_shared<1>(&x, shared + row * SPLIT_LINE + run + e);
            load_shared<1>(&y, shared + row * SPLIT_LINE + run + e + 1);
            split_two(x, y, word);
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                piece[p][e] = (unsigned short)word[p];
                piece[p][e + 1] = (unsigned short)(word[p] >> 16);
            }
        }
        if (first_row + row < rows && first_k + run < k)
#pragma unroll
            for (int p = 0; p < PIECES; p++)
                store_elements<8>(to + p * apart + (first_row + row) * line + first_k + run, piece[p]);
    }
}

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS) gemm_pack(const struct gemm_args args)
{
    next_kernel_may_begin(true);
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) return; /* then A and B are not read */
    const long long line = piece_line(args), apart = pieces_apart(args);
    const int tiles_k = (args.k + SPLIT_SIDE - 1) / SPLIT_SIDE;
    const int tiles_a = (args.m + SPLIT_SIDE - 1) / SPLIT_SIDE * tiles_k;
    unsigned short *const to =
        reinterpret_cast<unsigned short *>(args.workspace + args.counters) + blockIdx.z * (PIECES * apart);
    if (blockIdx.x < tiles_a) {
        if (item_of_a(args) == blockIdx.z)
            split_tile<!TRANS_A>(ITEM_OF_BATCH(args, a), args.lda, args.m, args.k, to, line, apart,
                                 blockIdx.x);
    } else {
        if (item_of_b(args) == blockIdx.z)
            split_tile<TRANS_B>(ITEM_OF_BATCH(args, b), args.ldb, args.n, args.k, to + args.m * line, line,
                                apart, blockIdx.x - tiles_a);
    }
}
#endif

#endif
