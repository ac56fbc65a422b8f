/* SPDX-License-Identifier: MIT */
/* tensor_mma.cu — C[m,n] = alpha * op(A) * op(B) + beta * C by mma.sync m16n8k16: FP16 or BF16 operands, FP32
 * sums, C in the operands' type or FP32 (sm_80 and later; REDUCE 0 and 3 with SPLIT_K > 1 need sm_90).
 *
 *     global memory --> STAGES tiles of BK k in shared memory --> fragments --> sums --> sum of blocks --> C
 *        cp.async of 16, 8 or 4 bytes, loads of 2    ldmatrix(.trans)
 *
 * Tiles have the layout of global memory, in lines along k or across; 16-byte chunks of a line are exchanged
 * so that ldmatrix reads eight lines from different banks. Chunks past an edge are filled with zeros.
 *
 * Parameters: BM, BN, BK the block's tile; WM, WN a warp's; STAGES; SPLIT_K blocks that divide k; REDUCE how
 * their sums meet (tensor16.cuh); WARPS_K groups of warps that divide each BK; GROUP rows of tiles that
 * blocks go down together; SWAP 1: B's columns are the rows of the instruction (few rows of C: WM may be 8);
 * EPILOGUE 1: C goes through shared memory; ALIGN_A, ALIGN_B: bytes to which the operand's address and
 * leading dimension are aligned. Extents may be anything.
 */
#define THREADS     (32 * (BM / WM) * (BN / WN) * WARPS_K)
#define SYNC_SUMS() __syncthreads()
#include "tensor16.cuh"

static_assert(BK % (16 * WARPS_K) == 0, "BK must be a multiple of 16 for each of WARPS_K");
static_assert(STAGES >= 2, "STAGES must be at least 2");
static_assert(EPILOGUE == 0 || (SPLIT_K * WARPS_K == 1 && SWAP == 0 && C_F32 == 0),
              "EPILOGUE 1 is for whole sums of 16 bits");

template <int BYTES> DEVICE void copy_async(unsigned to, const void *from, int valid)
{
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(to), "l"(from),
                     "n"(BYTES), "r"(valid)
                     : "memory");
}

DEVICE void copies_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> DEVICE void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

template <bool TRANS>
DEVICE void load_matrices(unsigned &a, unsigned &b, unsigned &c, unsigned &d, unsigned from)
{
    if constexpr (TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "r"(from)
                     : "memory");
}

template <bool TRANS> DEVICE void load_matrices(unsigned &a, unsigned &b, unsigned from)
{
    if constexpr (TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(a), "=r"(b)
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(a), "=r"(b)
                     : "r"(from)
                     : "memory");
}

DEVICE void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#if BF16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#endif
    asm(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* An operand's tile: EXTENT rows or columns of C by BK. ALONG_K: lines of memory run along k. */
template <int EXTENT, bool ALONG_K, int ALIGN> struct operand {
    static constexpr int LINE = ALONG_K ? BK : EXTENT, LINES = ALONG_K ? EXTENT : BK;
    static constexpr int UNIT = ALIGN == 2 ? 2 : ALIGN / 2; /* elements of a copy */
    static constexpr int PER_LINE = LINE / UNIT, STEP = THREADS / PER_LINE,
                         COPIES = (LINES + STEP - 1) / STEP;
    static constexpr int CHUNKS = LINE / 8, CYCLE = CHUNKS % 8 == 0   ? 8
                                                    : CHUNKS % 4 == 0 ? 4
                                                    : CHUNKS % 2 == 0 ? 2
                                                                      : 1;
    static constexpr int BYTES = EXTENT * BK * 2;
    static_assert(THREADS % PER_LINE == 0, "a line's copies must divide the threads");

    const unsigned short *from; /* this thread's first unit in the next tile */
    long long pitch, advance;   /* elements from line to line, from tile to tile */
    int line, at, left;         /* its place in the tile; lines or elements of the extent from there on */
    unsigned held[ALIGN == 2 ? COPIES : 1];

    /* Bytes from the tile's begin to element `at` of a line. */
    DEVICE int place(int l, int e)
    {
        return l * LINE * 2 + ((e / 8 ^ l / (8 / CYCLE) % CYCLE) * 16) + e % 8 * 2;
    }

    __device__ __forceinline__ void start(const void *base, long long ld, int origin, int extent, int k)
    {
        line = threadIdx.x / PER_LINE;
        at = threadIdx.x % PER_LINE * UNIT;
        pitch = ld;
        advance = ALONG_K ? BK : BK * ld;
        left = extent - origin - (ALONG_K ? line : at);
        from = (const unsigned short *)base +
               (ALONG_K ? (origin + line) * ld + k + at : (k + line) * ld + origin + at);
    }

    /* Starts the copies of a tile into `stage`; k_left elements of k remain from the tile's begin on. */
    template <bool TAIL> __device__ __forceinline__ void fetch(unsigned stage, int k_left)
    {
#pragma unroll
        for (int i = 0; i < COPIES; i++) {
            if (LINES % STEP != 0 && line + i * STEP >= LINES) break;
            int valid; /* elements */
            if (ALONG_K) {
                valid = TAIL ? min(max(k_left - at, 0), UNIT) : UNIT;
                if (i * STEP >= left) valid = 0;
            } else {
                valid = min(max(left, 0), UNIT);
                if (TAIL && line + i * STEP >= k_left) valid = 0;
            }
            const unsigned short *const source = from + i * STEP * pitch;
            if constexpr (ALIGN == 2) {
                held[i] = valid > 0 ? source[0] : 0;
                if (valid > 1) held[i] |= (unsigned)source[1] << 16;
            } else {
                copy_async<ALIGN>(stage + place(line + i * STEP, at), source, valid * 2);
            }
        }
        from += advance;
    }

    __device__ __forceinline__ void fetch(unsigned stage, int k_left)
    {
        if (k_left >= BK) fetch<false>(stage, k_left);
        else fetch<true>(stage, k_left);
    }

    /* Stores what a fetch of 2-byte elements holds. */
    __device__ __forceinline__ void put(unsigned stage)
    {
        if constexpr (ALIGN == 2) {
#pragma unroll
            for (int i = 0; i < COPIES; i++) {
                if (LINES % STEP != 0 && line + i * STEP >= LINES) break;
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(stage + place(line + i * STEP, at)), "r"(held[i])
                             : "memory");
            }
        }
    }

    /* Fragments of the left operand: 16 x 16 each, from row `first` on. */
    template <int COUNT> DEVICE void left_fragments(unsigned (&f)[COUNT][4], unsigned tile, int first, int k)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int row = first + i * 16;
            const int p = ALONG_K ? place(row + lane % 16, k + lane / 16 * 8)
                                  : place(k + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8);
            load_matrices<!ALONG_K>(f[i][0], f[i][1], f[i][2], f[i][3], tile + p);
        }
    }

    /* Fragments of the right operand: 16 x 8 each, from column `first` on, two at a time. */
    template <int COUNT> DEVICE void right_fragments(unsigned (&f)[COUNT][2], unsigned tile, int first, int k)
    {
        const int lane = threadIdx.x % 32;
        if constexpr (COUNT == 1) {
            const int p =
                ALONG_K ? place(first + lane % 8, k + lane / 8 % 2 * 8) : place(k + lane % 16, first);
            load_matrices<!ALONG_K>(f[0][0], f[0][1], tile + p);
        } else {
            static_assert(COUNT % 2 == 0 || COUNT == 1, "8 or a multiple of 16 columns");
#pragma unroll
            for (int j = 0; j < COUNT; j += 2) {
                const int column = first + j * 8;
                const int p = ALONG_K ? place(column + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)
                                      : place(k + lane % 16, column + lane / 16 * 8);
                load_matrices<!ALONG_K>(f[j][0], f[j][1], f[j + 1][0], f[j + 1][1], tile + p);
            }
        }
    }
};

using operand_a = operand<BM, !TRANS_A, ALIGN_A>;
using operand_b = operand<BN, TRANS_B, ALIGN_B>;

constexpr int STAGE_BYTES = operand_a::BYTES + operand_b::BYTES;
constexpr int W_LEFT = SWAP ? WN : WM, W_RIGHT = SWAP ? WM : WN;
constexpr int ROWS = W_LEFT / 16, COLUMNS = W_RIGHT / 8, QUADS = ROWS * COLUMNS;
static_assert(W_LEFT % 16 == 0 && W_RIGHT % 8 == 0, "a warp's tile must be of instructions of 16 x 8");

constexpr int RING_BYTES = max_of(STAGES * STAGE_BYTES, SUMS_BYTES);

using sums = reduction<QUADS, THREADS>;

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const tensor_args args)
{
    const unsigned stages = shared_address(shared_memory);
    const work w = work_of_block(args.m, args.n);
    sums reduce;
    reduce.start(stages + RING_BYTES + 16, stages + RING_BYTES);
    const int all = (args.k + BK - 1) / BK, begin = (int)((long long)all * w.split / SPLIT_K);
    const int tiles = (int)((long long)all * (w.split + 1) / SPLIT_K) - begin;
    operand_a a;
    operand_b b;
    a.start(args.a, args.lda, w.m, args.m, begin * BK);
    b.start(args.b, args.ldb, w.n, args.n, begin * BK);
    int k_left = args.k - begin * BK;

    float sum[QUADS][4] = {};
    wait_for_previous_kernel();
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < tiles) {
            a.fetch(stages + i * STAGE_BYTES, k_left);
            b.fetch(stages + i * STAGE_BYTES + operand_a::BYTES, k_left);
            a.put(stages + i * STAGE_BYTES);
            b.put(stages + i * STAGE_BYTES + operand_a::BYTES);
        }
        k_left -= BK;
        copies_commit();
    }
    constexpr int WARPS = BM / WM * (BN / WN); /* that divide the tile; WARPS_K such groups divide each BK */
    const int warp = threadIdx.x / 32 % WARPS, row = warp / (BN / WN) * WM, column = warp % (BN / WN) * WN;
    const int k_of_warp = threadIdx.x / 32 / WARPS * (BK / WARPS_K);
    unsigned now = stages, free = stages + (STAGES - 1) * STAGE_BYTES;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        const bool more = tile + STAGES - 1 < tiles;
        if (more) {
            a.fetch(free, k_left);
            b.fetch(free + operand_a::BYTES, k_left);
        }
        k_left -= BK;
        copies_commit();
        unsigned x[2][ROWS][4], y[2][COLUMNS][2];
        auto load = [&](int set, int k) {
#if SWAP
            operand_b::left_fragments(x[set], now + operand_a::BYTES, column, k_of_warp + k);
            operand_a::right_fragments(y[set], now, row, k_of_warp + k);
#else
            operand_a::left_fragments(x[set], now, row, k_of_warp + k);
            operand_b::right_fragments(y[set], now + operand_a::BYTES, column, k_of_warp + k);
#endif
        };
        load(0, 0);
#pragma unroll
        for (int k = 0; k < BK / WARPS_K; k += 16) {
            const int set = k / 16 % 2;
            if (k + 16 < BK / WARPS_K) load(1 - set, k + 16);
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) {
                    const int back = i % 2 == 0 ? j : COLUMNS - 1 - j;
                    multiply_add(sum[i * COLUMNS + back], x[set][i], y[set][back]);
                }
        }
        if (more) {
            a.put(free);
            b.put(free + operand_a::BYTES);
        }
        free = now;
        now = now == stages + (STAGES - 1) * STAGE_BYTES ? stages : now + STAGE_BYTES;
    }

    const int lane = threadIdx.x % 32;
    const int left = (SWAP ? column : row) + lane / 4, right = (SWAP ? row : column) + lane % 4 * 2;
#if EPILOGUE
    if (args.beta == 0) {
        copies_wait<0>();
        __syncthreads();
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const float(&v)[4] = sum[q];
            unsigned char *const to =
                shared_memory + (left + q / COLUMNS * 16) * STAGED_LINE + (right + q % COLUMNS * 8) * 2;
            *(unsigned *)to = pack(args.alpha * v[0], args.alpha * v[1]);
            *(unsigned *)(to + 8 * STAGED_LINE) = pack(args.alpha * v[2], args.alpha * v[3]);
        }
        __syncthreads();
        store_staged<THREADS>(args, w, threadIdx.x);
        return;
    }
#endif
    reduce.store(args, w, sum, threadIdx.x, (float *)shared_memory,
                 [&](int q) { return make_int2(left + q / COLUMNS * 16, right + q % COLUMNS * 8); });
}
