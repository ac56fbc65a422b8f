/* SPDX-License-Identifier: MIT */
/* gemv16_run.cuh — a lane's elements of an operand in a run of RUN_K k, and their loads. Part of gemv16.cu.
 *
 * A run has SPAN pieces of 32 k. Of each, lane 4 g + t has k = 8 t + e, e = 0 .. 7, of COUNT lines x:
 * place(j, g), j = 0 .. COUNT - 1. They come in vectors of V, along k or along x as in memory, two elements a
 * word; with V = 1 each has a word of its own, because putting two together would wait for both.
 *
 * Memory is fast in long pieces. So 16-byte loads along k (SPREAD) take all of a run from as few lines as
 * possible, and SPAN groups of lanes exchange what they have when it has arrived. With SPAN = 2:
 *
 *              k  0 .. 31    32 .. 63                          k  0 .. 31    32 .. 63
 *     line h      lanes 2 h  2 h + 1    the first load         lanes 2 h     2 h          after the exchange
 *     line 4 + h  lanes 2 h  2 h + 1    the second             2 h + 1       2 h + 1
 */
#ifndef GT_GEMV16_RUN_CUH
#define GT_GEMV16_RUN_CUH

template <int COUNT, bool ALONG_K, int V, bool ONCE> struct operand_runs {
    static constexpr bool SPREAD = ALONG_K && V == 8;
    static constexpr int WORDS = RUN_WORDS(COUNT, V), PIECE = WORDS / SPAN;
    static constexpr int AT_ONCE = 8 / SPAN;    /* lines of a load, if SPREAD */
    static constexpr int EACH = V == 1 ? 1 : 2; /* elements a word */

    const unsigned short *from; /* the lane's first element of run 0, as it loads */
    long long ld;
    int left, group; /* x from there to the edge; g */

    /* Line j of lane group g, counted from the operand's first. */
    static __device__ __forceinline__ constexpr int place(int j, int g)
    {
        return SPREAD    ? 8 * j + g % SPAN * AT_ONCE + g / SPAN
               : ALONG_K ? 8 * j + g
                         : j / V * (8 * V) + g * V + j % V;
    }

    static __device__ __forceinline__ constexpr int slot(int j, int e)
    {
        return ALONG_K ? 8 * j + e : COUNT * e + j;
    }

    /* Two neighbours along k of a piece, e = 2 q and 2 q + 1, in one word. */
    static __device__ __forceinline__ unsigned pair(const unsigned (&word)[WORDS], int piece, int j, int q)
    {
        const unsigned low = word[piece * PIECE + slot(j, 2 * q) / EACH],
                       high = word[piece * PIECE + slot(j, 2 * q + 1) / EACH];
        if (V == 1) return low | high << 16;
        if (ALONG_K) return low;
        return j % 2 == 0 ? (low & 0xffff) | high << 16 : low >> 16 | (high & 0xffff0000u);
    }

    __device__ __forceinline__ void start(const unsigned short *matrix, long long leading, int x0, int x_end,
                                          int k0, int lane)
    {
        group = lane / 4;
        const int x = x0 + (SPREAD ? group / SPAN : place(0, group));
        const int k = k0 + lane % 4 * 8 + (SPREAD ? group % SPAN * 32 : 0);
        ld = leading;
        left = x_end - x;
        from = computed(matrix + (ALONG_K ? x * leading + k : k * leading + x));
    }

    /* The compiler must not know how far lines are apart: it would keep the address of each. */
    static __device__ __forceinline__ const unsigned short *moved_on(const unsigned short *at, long long by)
    {
        return reinterpret_cast<const unsigned short *>(opaque(reinterpret_cast<long long>(at + by)));
    }

    /* Of the lane's lines, along k 8 apart, across k its 8 k. */
    static constexpr int LINES = ALONG_K ? COUNT : 8, LENGTH = ALONG_K ? 8 : COUNT;

    __device__ __forceinline__ const unsigned short *piece_of(const unsigned short *first, int run,
                                                              int piece) const
    {
        const int k = run * RUN_K + piece * 32;
        return first + (ALONG_K ? k : k * ld);
    }

    /* Whole runs, vector by vector. If not `valid`, nothing is read; what is beyond the edge stays as it is.
     */
    __device__ __forceinline__ void fetch(unsigned (&word)[WORDS], int run, bool valid) const
    {
        if constexpr (SPREAD) {
            const unsigned short *at = piece_of(from, run, 0);
#pragma unroll
            for (int load = 0; load < SPAN * COUNT; load++) {
                load_run<V, ONCE>(word + load % SPAN * PIECE + load / SPAN * 4, at,
                                  valid && AT_ONCE * load < left);
                at = moved_on(at, AT_ONCE * ld);
            }
        } else {
#pragma unroll
            for (int piece = 0; piece < SPAN; piece++) {
                const unsigned short *at = piece_of(from, run, piece);
#pragma unroll
                for (int line = 0; line < LINES; line++) {
#pragma unroll
                    for (int i = 0; i < LENGTH; i += V) {
                        const int x = ALONG_K ? 8 * line : place(i, 0);
                        load_run<V, ONCE>(word + piece * PIECE + (line * LENGTH + i) / EACH,
                                          at + (ALONG_K ? i : x), valid && x < left);
                    }
                    at = moved_on(at, ALONG_K ? 8 * ld : ld);
                }
            }
        }
    }

    /* Whole warps: when a run has arrived, before it is multiplied. Loads by pieces become pieces by loads:
     * in each step two loads exchange a piece with those of the lanes whose group differs in one bit. */
    __device__ __forceinline__ void exchange(unsigned (&word)[WORDS]) const
    {
        if constexpr (SPREAD) {
#pragma unroll
            for (int bit = 1; bit < SPAN; bit *= 2) {
                const bool upper = group & bit;
#pragma unroll
                for (int i = 0; i < WORDS; i++) {
                    if (i / PIECE & bit) continue;
                    const unsigned low = word[i], high = word[i + bit * PIECE];
                    const unsigned other = __shfl_xor_sync(0xffffffffu, upper ? low : high, 4 * bit);
                    word[i] = upper ? other : low;
                    word[i + bit * PIECE] = upper ? high : other;
                }
            }
        }
    }

    /* The first `count` k of a run, element by element, and zeros; they need no exchange. */
    __device__ __forceinline__ void fetch_rest(unsigned (&word)[WORDS], int run, int count) const
    {
        const int moved =
            SPREAD ? place(0, group) - group / SPAN : 0; /* lines from the first that fetch loads */
        const unsigned short *const first = from + (SPREAD ? moved * ld - group % SPAN * 32 : 0);
#pragma unroll
        for (int piece = 0; piece < SPAN; piece++) {
            const int mine = count - piece * 32 - thread_index() % 4 * 8;
            const unsigned short *at = piece_of(first, run, piece);
#pragma unroll
            for (int line = 0; line < LINES; line++) {
#pragma unroll
                for (int i = 0; i < LENGTH; i++) {
                    const int x = ALONG_K ? 8 * line : place(i, 0), k = ALONG_K ? i : line;
                    const unsigned bits = load_element(at + (ALONG_K ? i : x), k < mine && x < left - moved);
                    unsigned &to = word[piece * PIECE + (line * LENGTH + i) / EACH];
                    to = i % EACH == 0 ? bits : to | bits << 16;
                }
                at = moved_on(at, ALONG_K ? 8 * ld : ld);
            }
        }
    }
};

#endif
