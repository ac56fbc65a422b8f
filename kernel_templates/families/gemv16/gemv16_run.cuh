/* SPDX-License-Identifier: MIT */
/* gemv16_run.cuh — a lane's elements of an operand in a run of RUN_K k, and their loads. Part of gemv16.cu.
 *
 * Lane 4 g + t has k = 8 t + e, e = 0 .. 7, of COUNT lines x: place(j, g), j = 0 .. COUNT - 1. They come in
 * vectors of V, along k or along x as in memory, two elements a word; with V = 1 each has a word of its own,
 * because putting two together would wait for both.
 */
#ifndef GT_GEMV16_RUN_CUH
#define GT_GEMV16_RUN_CUH

template <int COUNT, bool ALONG_K, int V, bool ONCE> struct operand_runs {
    static constexpr int WORDS = RUN_WORDS(COUNT, V), EACH = V == 1 ? 1 : 2; /* elements a word */

    const unsigned short *from; /* the lane's first element of run 0 */
    long long ld;
    int left; /* x from there to the edge */

    /* Line j of lane group g, counted from the operand's first. */
    static __device__ __forceinline__ constexpr int place(int j, int g)
    {
        return ALONG_K ? 8 * j + g : j / V * (8 * V) + g * V + j % V;
    }

    static __device__ __forceinline__ constexpr int slot(int j, int e)
    {
        return ALONG_K ? 8 * j + e : COUNT * e + j;
    }

    /* Two neighbours along k, e = 2 q and 2 q + 1, in one word. */
    static __device__ __forceinline__ unsigned pair(const unsigned (&word)[WORDS], int j, int q)
    {
        const unsigned low = word[slot(j, 2 * q) / EACH], high = word[slot(j, 2 * q + 1) / EACH];
        if (V == 1) return low | high << 16;
        if (ALONG_K) return low;
        return j % 2 == 0 ? (low & 0xffff) | high << 16 : low >> 16 | (high & 0xffff0000u);
    }

    __device__ __forceinline__ void start(const unsigned short *matrix, long long leading, int x0, int x_end,
                                          int k0, int lane)
    {
        const int x = x0 + place(0, lane / 4), k = k0 + lane % 4 * 8;
        ld = leading;
        left = x_end - x;
        from = matrix + (ALONG_K ? x * leading + k : k * leading + x);
    }

    /* A run's lines in memory: along k COUNT of them, 8 apart, across k its 8 k. The compiler must not know
     * how far they are apart: it would keep the address of each. */
    static constexpr int LINES = ALONG_K ? COUNT : 8, LENGTH = ALONG_K ? 8 : COUNT;

    __device__ __forceinline__ const unsigned short *first_line(int run) const
    {
        return from + (ALONG_K ? run * RUN_K : run * RUN_K * ld);
    }

    __device__ __forceinline__ const unsigned short *next_line(const unsigned short *at) const
    {
        return reinterpret_cast<const unsigned short *>(
            opaque(reinterpret_cast<long long>(at + (ALONG_K ? 8 * ld : ld))));
    }

    /* Whole runs, vector by vector. If not `valid`, nothing is read; what is beyond the edge stays as it is.
     */
    __device__ __forceinline__ void fetch(unsigned (&word)[WORDS], int run, bool valid) const
    {
        const unsigned short *at = first_line(run);
#pragma unroll
        for (int line = 0; line < LINES; line++) {
#pragma unroll
            for (int i = 0; i < LENGTH; i += V) {
                const int x = ALONG_K ? 8 * line : place(i, 0);
                load_run<V, ONCE>(word + (line * LENGTH + i) / EACH, at + (ALONG_K ? i : x),
                                  valid && x < left);
            }
            at = next_line(at);
        }
    }

    /* The first `count` k of a run, element by element, and zeros. */
    __device__ __forceinline__ void fetch_rest(unsigned (&word)[WORDS], int run, int count) const
    {
        const int mine = count - thread_index() % 4 * 8;
        const unsigned short *at = first_line(run);
#pragma unroll
        for (int line = 0; line < LINES; line++) {
#pragma unroll
            for (int i = 0; i < LENGTH; i++) {
                const int x = ALONG_K ? 8 * line : place(i, 0), k = ALONG_K ? i : line;
                const unsigned bits = load_element(at + (ALONG_K ? i : x), k < mine && x < left);
                unsigned &to = word[(line * LENGTH + i) / EACH];
                to = i % EACH == 0 ? bits : to | bits << 16;
            }
            at = next_line(at);
        }
    }
};

#endif
