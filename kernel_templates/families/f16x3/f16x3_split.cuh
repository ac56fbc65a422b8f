/* SPDX-License-Identifier: MIT */
/* f16x3_split.cuh — the kernel that scales A and B and splits them into pieces before they are multiplied.
 * Part of f16x3.cu.
 *
 * Lines are along k, whatever the op: a tile passes through shared memory, where it is turned if need be.
 * They begin at multiples of 128 bytes. Operands may have any alignment: each access reads one element.
 */
#ifndef GT_F16X3_SPLIT_CUH
#define GT_F16X3_SPLIT_CUH

/* The exponents of the block's item: of A's rows, then of B's columns. */
static __device__ __forceinline__ int *exponents_of(const struct gemm_args &args)
{
    float *const first = args.workspace + args.counters + gridDim.z * (PIECES * pieces_apart(args) / 2);
    return reinterpret_cast<int *>(first) + blockIdx.z * EXPONENT_WORDS((long long)args.m, args.n);
}

/* What is left of x without `high`, for the low piece. It has 12 bits, one more than FP16, so that a quarter
 * of all x lie between two sums of pieces. They become the larger one in magnitude, because products lose by
 * the truncation of their sums. */
static __device__ __forceinline__ float rest_of(float x, float high)
{
    const float rest = x - high, away = (rest < 0) == (x < 0) ? 0x1p-13f : -0x1p-13f;
    return fmaf(rest, away, rest);
}

/* Pieces of x and of y, rounded to nearest. */
static __device__ __forceinline__ void split_two(float x, float y, unsigned (&word)[2])
{
    word[0] = packed<false>(x, y);
    word[1] = packed<false>(rest_of(x, unpacked<false>((unsigned short)word[0])),
                            rest_of(y, unpacked<false>((unsigned short)(word[0] >> 16))));
}

/* Every `step`th tile of an operand, from the last on, which L2 still holds: element (row, k) of the
 * product's operand is at from[row * ld + k] if ALONG_K, else at from[k * ld + row]. to: piece 0 of the first
 * row. */
template <bool ALONG_K, bool OF_B>
static __device__ __forceinline__ void split_operand(const struct gemm_args &args, const float *from,
                                                     long long ld, int rows, unsigned short *to,
                                                     int *exponents, int first_tile, int step)
{
    constexpr int LOADS = SPLIT_SIDE * SPLIT_SIDE / SPLIT_THREADS, STEP = SPLIT_THREADS / SPLIT_SIDE;
    const long long line_k = piece_line(args), apart = pieces_apart(args);
    const int k = args.k, tiles_k = (k + SPLIT_SIDE - 1) / SPLIT_SIDE,
              tiles = (rows + SPLIT_SIDE - 1) / SPLIT_SIDE * tiles_k;
    const int lines = ALONG_K ? rows : k, length = ALONG_K ? k : rows;
    const int inner = threadIdx.x % SPLIT_SIDE, outer = threadIdx.x / SPLIT_SIDE;
    float *const shared = gt_shared_memory(), *const factor = shared + SPLIT_SIDE * SPLIT_LINE;
    const struct scale<OF_B> scale(args, reinterpret_cast<int *>(factor + SPLIT_SIDE));
    scale.tabulate(k);
#pragma unroll 1
    for (int tile = tiles - 1 - first_tile; tile >= 0; tile -= step) {
        const int first_row = tile / tiles_k * SPLIT_SIDE, first_k = tile % tiles_k * SPLIT_SIDE;
        /* Lines of the operand as it lies are apart, and a thread's elements STEP of them. */
        const int first_line = (ALONG_K ? first_row : first_k) + outer,
                  place = (ALONG_K ? first_k : first_row) + inner;
        const float *at = from + first_line * ld + place;
        float value[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++, at += STEP * ld) {
            value[i] = 0.0f;
            load_stream<1>(&value[i], at, first_line + i * STEP < lines && place < length);
        }
        if (threadIdx.x < SPLIT_SIDE) {
            const int own = first_k + threadIdx.x;
            const float by = own < k ? scale.factor(own) : 0.0f;
            store_shared<1>(factor + threadIdx.x, &by);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const int line = outer + i * STEP;
            store_shared<1>(shared + (ALONG_K ? line * SPLIT_LINE + inner : inner * SPLIT_LINE + line),
                            &value[i]);
        }
        /* A warp takes 8 rows x 4 runs of 8 k: so its lanes read from different banks. */
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp * 8 + lane % 8;
        const int exponent = first_row + row < rows ? scale.of_row(first_row + row) : 0;
        const int up = min(TOP_EXPONENT - exponent, 252), half = up >> 1;
        const float by[2] = {power_of_two(half), power_of_two(up - half)};
        if (first_row + row < rows && first_k == 0 && lane / 8 == 0) exponents[first_row + row] = exponent;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < LOADS / 8; i++) {
            const int run = (i * 4 + lane / 8) * 8;
            unsigned short piece[2][8];
            float of_k[8];
            load_shared<4>(&of_k[0], factor + run);
            load_shared<4>(&of_k[4], factor + run + 4);
#pragma unroll
            for (int e = 0; e < 8; e += 2) {
                float x[2];
                unsigned word[2];
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    load_shared<1>(&x[j], shared + row * SPLIT_LINE + run + e + j);
                    x[j] = x[j] * of_k[e + j] * by[0] * by[1];
                }
                split_two(x[0], x[1], word);
#pragma unroll
                for (int p = 0; p < 2; p++) {
                    piece[p][e] = (unsigned short)word[p];
                    piece[p][e + 1] = (unsigned short)(word[p] >> 16);
                }
            }
            if (first_row + row < rows && first_k + run < k) {
                unsigned short *const own = to + (first_row + row) * line_k;
#pragma unroll
                for (int p = 0; p < 2; p++) store_elements<8>(own + p * apart + first_k + run, piece[p]);
                if (LOW == 8) {
                    unsigned short eighths[4];
#pragma unroll
                    for (int e = 0; e < 8; e += 2)
                        eighths[e / 2] = (unsigned short)(rounded_to_e5m2(piece[1][e]) |
                                                          rounded_to_e5m2(piece[1][e + 1]) << 8);
                    store_elements<4>(own + 2 * apart + (first_k + run) / 2, eighths);
                }
            }
        }
        __syncthreads(); /* shared memory is free */
    }
}

static_assert(SPLIT_THREADS / 32 * 8 == SPLIT_SIDE, "a thread has one row of a tile");

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS)
    gemm_pack(const struct gemm_args args)
{
    wait_for_kernel_before();
    next_kernel_may_begin(true);
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) return;
    const long long tiles_a = (args.m + SPLIT_SIDE - 1) / SPLIT_SIDE,
                    tiles_b = (args.n + SPLIT_SIDE - 1) / SPLIT_SIDE;
    /* As many blocks for each operand as it has rows, at least one. */
    const int grid = gridDim.x, share = (int)(grid * tiles_a / (tiles_a + tiles_b)),
              blocks_a = share < 1      ? 1
                         : share < grid ? share
                                        : grid - 1;
    unsigned short *const to = reinterpret_cast<unsigned short *>(args.workspace + args.counters) +
                               blockIdx.z * (PIECES * pieces_apart(args));
    int *const exponents = exponents_of(args);
    if (blockIdx.x < blocks_a)
        split_operand<!TRANS_A, false>(args, ITEM_OF_BATCH(args, a), args.lda, args.m, to, exponents,
                                       blockIdx.x, blocks_a);
    else
        split_operand<TRANS_B, true>(args, ITEM_OF_BATCH(args, b), args.ldb, args.n,
                                     to + args.m * piece_line(args), exponents + args.m,
                                     blockIdx.x - blocks_a, grid - blocks_a);
}

#endif
