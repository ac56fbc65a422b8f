/* gt_cpu_wgmma.h — the functions of gt_wgmma.cuh and of the headers upon it, for the CPU: tensor maps and
 * products of a warpgroup's matrices.
 */
#ifndef GT_CPU_WGMMA_H
#define GT_CPU_WGMMA_H

#include "gt_cpu_memory.h"
#include "gt_cpu_mma.h"

/* The functions of gt_wgmma.cuh. A descriptor is an address in units of 16 bytes. */
struct alignas(64) tensor_map {
    unsigned char opaque[128];
};
static inline void tensor_prefetch(const struct tensor_map &map)
{
    (void)*(const volatile unsigned char *)map.opaque;
}
static inline void tensor_copy(shared_place s, const struct tensor_map &map, int x, int y, int z,
                               struct mbarrier *b)
{
    gt_tensor_copy(s, &map, x, y, z, b);
}
static inline void tensor_store(const struct tensor_map &map, int x, int y, int z, shared_place s)
{
    gt_tensor_store(&map, x, y, z, s);
}
static inline void tensor_store_end()
{
    gt_tensor_store_end();
}
template <int N> static inline void tensor_store_wait()
{
    gt_tensor_store_wait(N);
}
static inline void store_matrices(shared_place s, const unsigned (&v)[4])
{
    char *row[32];
    const int lane = (int)threadIdx.x % 32;
    if ((uintptr_t)s % 16) gt_misaligned(s, 16);
    gt_warp_share(&s, sizeof s, row);
    for (int i = 0; i < 4; i++) {
        char *const to = row[8 * i + lane / 4] + lane % 4 * 4;
        memcpy(to, &v[i], sizeof v[i]);
        gt_shared_write(to, sizeof v[i]);
    }
}
static inline void store_two(shared_place s, float x, float y)
{
    if ((uintptr_t)s % 8) gt_misaligned(s, 8);
    s[0] = x;
    s[1] = y;
    gt_shared_write(s, 8);
}
static inline float *swizzle_aligned(float *s)
{
    return (float *)(((uintptr_t)s + 1023) / 1024 * 1024);
}
static inline void group_sync(int id, int threads)
{
    gt_group_barrier(id, threads);
}
static inline unsigned long long matrix_at(shared_place s)
{
    if ((uintptr_t)s % 1024) gt_misaligned(s, 1024);
    return (uintptr_t)s / 16;
}
static inline void wgmma_begin()
{
    gt_product_begin();
}
static inline void wgmma_end()
{
    gt_product_commit();
}
template <int N, int COUNT> static inline void wgmma_wait(float (&sum)[COUNT][4])
{
    gt_product_wait(N);
}
template <bool BF16, bool LEFT_ALONG_K, bool RIGHT_ALONG_K, int WIDTH, int FIRST, int COUNT>
static inline void wgmma(float (&sum)[COUNT][4], unsigned long long left, unsigned long long right)
{
    static_assert(WIDTH % 8 == 0 && WIDTH >= 8 && WIDTH <= 256, "not an instruction's width");
    static_assert(FIRST + WIDTH / 8 <= COUNT, "an instruction has a quad for 8 columns");
    gt_product_issue(sum + FIRST, WIDTH / 8, left, right, LEFT_ALONG_K, RIGHT_ALONG_K, BF16, 0);
}

/* The functions of gt_wgmma_tf32.cuh. */
static inline void wgmma_done()
{
    gt_product_wait(0);
}
template <int WIDTH, int FIRST, int COUNT>
static inline void wgmma_tf32(float (&sum)[COUNT][4], unsigned long long left, unsigned long long right)
{
    static_assert(WIDTH % 8 == 0 && WIDTH >= 8 && WIDTH <= 256, "not an instruction's width");
    gt_product_issue_tf32(sum + FIRST, WIDTH / 8, left, nullptr, right);
}
template <int WIDTH, int FIRST, int COUNT>
static inline void wgmma_tf32(float (&sum)[COUNT][4], const float (&x)[4], unsigned long long right)
{
    gt_product_issue_tf32(sum + FIRST, WIDTH / 8, 0, x, right);
}

/* The functions of gt_promoted.cuh. */
template <int COUNT>
static inline void wgmma_anew(float (&sum)[COUNT][4], unsigned long long left, unsigned long long right)
{
    gt_product_issue(sum, COUNT, left, right, 1, 1, 1, 1);
}
/* Of gt_promoted16.cuh. */
template <int COUNT>
static inline void wgmma_anew16(float (&sum)[COUNT][4], unsigned long long left, unsigned long long right)
{
    gt_product_issue(sum, COUNT, left, right, 1, 1, 0, 1);
}
template <bool ANEW, int COUNT>
static inline void wgmma_e5m2(float (&sum)[COUNT][4], unsigned long long left, unsigned long long right)
{
    gt_product_issue_e5m2(sum, COUNT, left, right, ANEW);
}
static inline unsigned rounded_to_e5m2(unsigned bits)
{
    return (bits + 0x7f + (bits >> 8 & 1)) >> 8 & 0xff;
}
template <bool ANEW, int COUNT>
static inline void wgmma_left(float (&sum)[COUNT][4], const unsigned (&x)[4], unsigned long long right)
{
    gt_product_issue_left(sum, COUNT, x, right, ANEW);
}
static inline unsigned packed_finite(float x, float y)
{
    const float most = 3.38953139e38f;
    return packed<true>(x > most ? most : x < -most ? -most : x, y > most ? most : y < -most ? -most : y);
}
static inline shared_place flipped(shared_place s, unsigned bits)
{
    return (float *)((uintptr_t)s ^ bits);
}
static inline void store_words(shared_place s, unsigned w0, unsigned w1, unsigned w2, unsigned w3)
{
    const unsigned words[4] = {w0, w1, w2, w3};
    if ((uintptr_t)s % 16) gt_misaligned(s, 16);
    memcpy(s, words, sizeof words);
    gt_shared_write(s, sizeof words);
}
static inline void sums_again()
{
    gt_sums_again++;
}
template <int REGISTERS> static inline void leave_registers() {}
template <int REGISTERS> static inline void take_registers() {}

#endif
