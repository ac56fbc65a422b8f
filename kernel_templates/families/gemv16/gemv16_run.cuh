/* SPDX-License-Identifier: MIT */
/* gemv16_run.cuh — a lane's elements of an operand in a run of RUN_K k, and their loads. Part of gemv16.cu.
 *
 * A run has two halves of 32 k. Of each, lane 4 g + t has k = 8 t + e, e = 0 .. 7, of COUNT lines x: place(j,
 * g), j = 0 .. COUNT - 1. They come in vectors of V, along k or along x as in memory, two elements a word;
 * with V = 1 each has a word of its own, because putting two together would wait for both.
 *
 * L2 sends a whole line of memory in the time of a half. So 16-byte loads along k (PAIRED) ask for whole
 * lines, four at a time, and neighbouring groups of lanes exchange halves when they have arrived:
 *
 *              k  0 .. 31    32 .. 63                          k  0 .. 31    32 .. 63
 *     line h      lanes 2 h  2 h + 1    the first load         lanes 2 h     2 h          after the exchange
 *     line 4 + h  lanes 2 h  2 h + 1    the second             2 h + 1       2 h + 1
 */
#ifndef GT_GEMV16_RUN_CUH
#define GT_GEMV16_RUN_CUH

template <int COUNT, bool ALONG_K, int V, bool ONCE> struct operand_runs {
    static constexpr bool PAIRED = ALONG_K && V == 8;
    static constexpr int WORDS = RUN_WORDS(COUNT, V), HALF = WORDS / 2;
    static constexpr int EACH = V == 1 ? 1 : 2; /* elements a word */

    const unsigned short *from; /* the lane's first element of run 0, as it loads; PAIRED: of whole lines */
    long long ld;
    int left, group; /* x from there to the edge; g */

    /* Line j of lane group g, counted from the operand's first. */
    static __device__ __forceinline__ constexpr int place(int j, int g)
    {
        return PAIRED ? 8 * j + g % 2 * 4 + g / 2 : ALONG_K ? 8 * j + g : j / V * (8 * V) + g * V + j % V;
    }

    static __device__ __forceinline__ constexpr int slot(int j, int e)
    {
        return ALONG_K ? 8 * j + e : COUNT * e + j;
    }

    /* Two neighbours along k of a half, e = 2 q and 2 q + 1, in one word. */
    static __device__ __forceinline__ unsigned pair(const unsigned (&word)[WORDS], int half, int j, int q)
    {
        const unsigned low = word[half * HALF + slot(j, 2 * q) / EACH],
                       high = word[half * HALF + slot(j, 2 * q + 1) / EACH];
        if (V == 1) return low | high << 16;
        if (ALONG_K) return low;
        return j % 2 == 0 ? (low & 0xffff) | high << 16 : low >> 16 | (high & 0xffff0000u);
    }

    __device__ __forceinline__ void start(const unsigned short *matrix, long long leading, int x0, int x_end,
                                          int k0, int lane)
    {
        group = lane / 4;
        const int x = x0 + (PAIRED ? group / 2 : place(0, group));
        const int k = k0 + lane % 4 * 8 + (PAIRED ? group % 2 * 32 : 0);
        ld = leading;
        left = x_end - x;
        from = matrix + (ALONG_K ? x * leading + k : k * leading + x);
    }

    /* The compiler must not know how far lines are apart: it would keep the address of each. */
    static __device__ __forceinline__ const unsigned short *moved_on(const unsigned short *at, long long by)
    {
        return reinterpret_cast<const unsigned short *>(opaque(reinterpret_cast<long long>(at + by)));
    }

    /* Of the lane's lines, along k 8 apart, across k its 8 k. */
    static constexpr int LINES = ALONG_K ? COUNT : 8, LENGTH = ALONG_K ? 8 : COUNT;

    __device__ __forceinline__ const unsigned short *half_of(const unsigned short *first, int run,
                                                             int half) const
    {
        const int k = run * RUN_K + half * 32;
        return first + (ALONG_K ? k : k * ld);
    }

    /* Whole runs, vector by vector. If not `valid`, nothing is read; what is beyond the edge stays as it is.
     */
    __device__ __forceinline__ void fetch(unsigned (&word)[WORDS], int run, bool valid) const
    {
        if constexpr (PAIRED) {
            const unsigned short *at = half_of(from, run, 0);
#pragma unroll
            for (int line = 0; line < 2 * COUNT; line++) {
                load_run<V, ONCE>(word + line % 2 * HALF + line / 2 * 4, at, valid && 4 * line < left);
                at = moved_on(at, 4 * ld);
            }
        } else {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const unsigned short *at = half_of(from, run, half);
#pragma unroll
                for (int line = 0; line < LINES; line++) {
#pragma unroll
                    for (int i = 0; i < LENGTH; i += V) {
                        const int x = ALONG_K ? 8 * line : place(i, 0);
                        load_run<V, ONCE>(word + half * HALF + (line * LENGTH + i) / EACH,
                                          at + (ALONG_K ? i : x), valid && x < left);
                    }
                    at = moved_on(at, ALONG_K ? 8 * ld : ld);
                }
            }
        }
    }

    /* Whole warps: when a run has arrived, before it is multiplied. */
    __device__ __forceinline__ void exchange(unsigned (&word)[WORDS]) const
    {
        if constexpr (PAIRED) {
            const bool odd = group % 2;
#pragma unroll
            for (int i = 0; i < HALF; i++) {
                const unsigned low = word[i], high = word[HALF + i];
                const unsigned other = __shfl_xor_sync(0xffffffffu, odd ? low : high, 4);
                word[i] = odd ? other : low;
                word[HALF + i] = odd ? high : other;
            }
        }
    }

    /* The first `count` k of a run, element by element, and zeros; they need no exchange. */
    __device__ __forceinline__ void fetch_rest(unsigned (&word)[WORDS], int run, int count) const
    {
        const int moved =
            PAIRED ? place(0, group) - group / 2 : 0; /* lines from the first that fetch loads */
        const unsigned short *const first = from + (PAIRED ? moved * ld - group % 2 * 32 : 0);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int mine = count - half * 32 - thread_index() % 4 * 8;
            const unsigned short *at = half_of(first, run, half);
#pragma unroll
            for (int line = 0; line < LINES; line++) {
#pragma unroll
                for (int i = 0; i < LENGTH; i++) {
                    const int x = ALONG_K ? 8 * line : place(i, 0), k = ALONG_K ? i : line;
                    const unsigned bits = load_element(at + (ALONG_K ? i : x), k < mine && x < left - moved);
                    unsigned &to = word[half * HALF + (line * LENGTH + i) / EACH];
                    to = i % EACH == 0 ? bits : to | bits << 16;
                }
                at = moved_on(at, ALONG_K ? 8 * ld : ld);
            }
        }
    }
};

#endif
