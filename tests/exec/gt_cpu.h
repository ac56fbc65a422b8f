/* gt_cpu.h — replaces CUDA when the tests run a kernel template on the CPU.
 *
 * Put in front of a template by `g++ -std=c++17 -DGT_CPU -include gt_cpu.h`. The template itself needs no
 * change: a block's threads are fibers that run one at a time, each as far as its next barrier, in an order
 * that the test chooses (cpu_block.h), so that a missing barrier gives a wrong result in every run and not
 * only sometimes.
 *
 * Static __shared__ arrays and gt_shared_memory() hold NaN when a block starts. An asynchronous copy makes
 * its target NaN when it is issued and fills it only when its own thread waits for its group, or when a phase
 * of an mbarrier lacks nothing else and is waited for. Fences do nothing here, and a missing one is not
 * detected, except of those between writes to a box and its store.
 */
#ifndef GT_CPU_H
#define GT_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__    const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...) /* struct kernel_launch has it */
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__       static __attribute__((section("gt_shared")))

struct gt_index {
    unsigned x, y, z;
};

extern "C" {
/* Set by the scheduler before a fiber runs. */
extern struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;

void gt_barrier(int line); /* __syncthreads(): all threads of the block, at the same line */
/* `count` threads of the block, in whole warps, at the barrier of this number. */
void gt_group_barrier(int id, int count);
void gt_cluster_barrier(void); /* all threads of all blocks of the cluster */
const float *gt_cluster_shared(const float *own,
                               unsigned rank);       /* the same address in another block's memory */
float *gt_cluster_target(float *own, unsigned rank); /* to write to: that block must have started */
void gt_warp_barrier(unsigned mask);
/* Exchanges 4 or 8 bytes: returns the value of lane `from` of this warp (the own value if `from` is outside
 * the warp). */
void gt_warp_exchange(unsigned mask, void *value, int bytes, int from);
/* Passes `bytes` (at most 48) and returns those of all lanes of this warp, which must be complete: 32 *
 * bytes. */
void gt_warp_share(const void *value, int bytes, void *all);
/* A matrix instruction got an operand that was not rounded to TF32: ends the test. */
void gt_not_tf32(float value);
/* No float is 2^e: ends the test. */
void gt_no_power(int e);

/* Elements of 16 bits (cpu_elements.h). */
uint16_t gt_element_bits(int bf16, float x);
float gt_element_value(int bf16, uint16_t bits);

/* Writes `bytes` to `to` when this thread waits: the first `valid` from `from` (nothing is read beyond them),
 * the rest zeros. */
void gt_copy_issue(void *to, const void *from, int bytes, int valid);
void gt_copy_commit(void);      /* what was issued since the last commit becomes one group */
void gt_copy_wait(int pending); /* until at most `pending` groups, the youngest ones, are in flight */
void gt_copy_wait_all(void);    /* committed or not */

/* The scheduler keeps the state of a barrier in shared memory; the barrier's 8 bytes must not be used
 * otherwise. */
void gt_mbarrier_init(void *barrier, int count);
/* One arrival that announces bytes, if `who`. Other threads may run before this one goes on. */
void gt_mbarrier_end(void *barrier); /* before its memory is used for something else */
void gt_mbarrier_arrive(void *barrier, unsigned bytes, int who);
void gt_mbarrier_arrive_copies(void *barrier); /* when this thread's earlier copies have completed */
void gt_mbarrier_wait(void *barrier, unsigned parity);
void gt_send(void *to, const void *from, unsigned bytes, void *barrier); /* addresses in another block */
/* Makes its target NaN at once and completes as late as allowed: when the barrier's phase lacks nothing else
 * and a thread waits for it, or goes on to the next phase. */
void gt_bulk_copy(void *to, const void *from, unsigned bytes, void *barrier);

/* The same for a box of a tensor map (cpu_tensor_map.h), with zeros for what is beyond its extents. */
void gt_tensor_copy(void *to, const void *map, int x, int y, int z, void *barrier);

/* The other way: reads the box when it starts and again when this thread waits for its group. */
void gt_tensor_store(const void *map, int x, int y, int z, const void *from);
void gt_tensor_store_end(void);
void gt_tensor_store_wait(int pending); /* until at most `pending` groups, the youngest ones, read a box */
void gt_shared_write(const void *to,
                     int bytes); /* this thread wrote there: it needs a fence before a store */
void gt_shared_fence(void);

void gt_product_begin(void); /* before a product with sums that no other one has on the way */
/* A thread's part of sums[quads][4] += left * right, of 64 x 16 by 16 x 8 quads, which reads the matrices
 * when this thread waits for its group; until then the sums are NaN. */
void gt_product_issue(float (*sums)[4], int quads, uint64_t left, uint64_t right, int left_along_k,
                      int right_along_k, int bf16, int anew); /* anew: what is in the sums is not added to */
/* The same for TF32, of 64 x 8 by 8 x 8 quads, with lines along k; x: the thread's four elements of the left
 * operand, where it is in registers, else NULL. */
void gt_product_issue_tf32(float (*sums)[4], int quads, uint64_t left, const float *x, uint64_t right);
/* The same for FP8 (E5M2), of 64 x 32 by 32 x 8 quads, with lines along k. */
void gt_product_issue_e5m2(float (*sums)[4], int quads, uint64_t left, uint64_t right, int anew);
/* Of BF16, with lines along k: x: the thread's four pairs of elements of the left operand. */
void gt_product_issue_left(float (*sums)[4], int quads, const unsigned *x, uint64_t right, int anew);
extern int gt_sums_again;          /* calls of sums_again() */
void gt_product_commit(void);      /* what was issued since the last commit becomes one group */
void gt_product_wait(int pending); /* until at most `pending` groups, the youngest ones, are on the way */

/* What a dependent kernel finds in global memory before it has waited is not yet what the kernel before
 * writes there (cpu_block.h: struct region). */
void gt_wait_for_kernel_before(void);

float *gt_dynamic_shared(void); /* exactly as many bytes as the launch asked for */

void gt_misaligned(const void *address, int bytes); /* ends the test */
}

#define threadIdx gt_thread_index
#define blockIdx  gt_block_index
#define blockDim  gt_block_size
#define gridDim   gt_grid_size
static const int warpSize = 32;

#define __syncthreads() gt_barrier(__LINE__)
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    gt_warp_barrier(mask);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

/* The scheduler fills the static shared arrays between these symbols with NaN. Weak: a template may have
 * none. */
extern "C" {
extern char __start_gt_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_gt_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((used, visibility("default"))) void gt_static_shared(char **begin, char **end)
{
    *begin = __start_gt_shared;
    *end = __stop_gt_shared;
}
}

/* Vector types with the same alignment requirements as on the GPU; the undefined-behaviour sanitizer stops at
 * a misaligned one. */
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <typename T> static inline void __stcs(T *p, T value)
{
    *p = value;
}
template <typename T> static inline void __stcg(T *p, T value)
{
    *p = value;
}

/* The functions of gt_memory.cuh and similar headers: V floats at once, at an address that is a multiple of
 * their size. */
template <int V> static inline void gt_move(float *to, const float *from, const float *aligned)
{
    if ((uintptr_t)aligned % (4 * V)) gt_misaligned(aligned, 4 * V);
    for (int i = 0; i < V; i++) to[i] = from[i];
}
template <int V> static inline void load_global(float *v, const float *g, bool valid)
{
    if (valid) gt_move<V>(v, g, g);
}
template <int V> static inline void load_stream(float *v, const float *g, bool valid)
{
    load_global<V>(v, g, valid);
}
template <int V> static inline void load_own(float *v, const float *g)
{
    gt_move<V>(v, g, g);
}
static inline void ask_for(const float *g)
{
    (void)*(const volatile float *)g; /* must be accessible */
}
template <int V> static inline void store_global(float *g, const float *v)
{
    gt_move<V>(g, v, g);
}
template <int V> static inline void store_stream(float *g, const float *v)
{
    store_global<V>(g, v);
}
template <int V> static inline void load_shared(float *v, const float *s)
{
    gt_move<V>(v, s, s);
}
typedef float *shared_place;
static inline shared_place moved(shared_place p, int bytes)
{
    return (float *)((char *)p + bytes);
}
static inline long long opaque(long long x)
{
    return x;
}
static inline shared_place place_in_shared(float *s)
{
    return s;
}
template <int V> static inline void store_shared(float *s, const float *v)
{
    gt_move<V>(s, v, s);
}
template <int V> static inline void cp_async(float *s, const float *g, bool valid)
{
    gt_copy_issue(s, g, 4 * V, valid ? 4 * V : 0);
}
static inline void cp_async_commit()
{
    gt_copy_commit();
}
template <int N> static inline void cp_async_wait()
{
    gt_copy_wait(N);
}
struct mbarrier {
    unsigned long long state;
};
static inline void mbarrier_init(struct mbarrier *b, int count)
{
    gt_mbarrier_init(b, count);
}
static inline void mbarrier_end(struct mbarrier *b)
{
    gt_mbarrier_end(b);
}
static inline void mbarrier_ready() {}
static inline void mbarrier_ready_for_send() {}
static inline void mbarrier_arrive(struct mbarrier *b, bool who)
{
    gt_mbarrier_arrive(b, 0, who);
}
static inline void mbarrier_arrive_expect(struct mbarrier *b, unsigned bytes, bool who)
{
    gt_mbarrier_arrive(b, bytes, who);
}
static inline void mbarrier_arrive_copies(struct mbarrier *b, bool who)
{
    if (who) gt_mbarrier_arrive_copies(b);
}
static inline void mbarrier_wait(struct mbarrier *b, unsigned parity)
{
    gt_mbarrier_wait(b, parity);
}
static inline void bulk_copy(float *s, const float *g, unsigned bytes, struct mbarrier *b, bool valid)
{
    if (valid) gt_bulk_copy(s, g, bytes, b);
}
static inline void bulk_copy_fence()
{
    gt_shared_fence();
}
static inline void cluster_barrier()
{
    gt_cluster_barrier();
}
static inline void cluster_arrive() {}
static inline void cluster_wait()
{
    gt_cluster_barrier();
}
template <int V> static inline void load_cluster(float *v, const float *s, unsigned rank)
{
    const float *there = gt_cluster_shared(s, rank);
    gt_move<V>(v, there, there);
}
template <int V> static inline void send(float *s, const float *v, struct mbarrier *b, unsigned rank)
{
    float *there = gt_cluster_target(s, rank);
    if ((uintptr_t)there % (4 * V)) gt_misaligned(there, 4 * V);
    gt_send(there, v, 4 * V, gt_cluster_target(reinterpret_cast<float *>(b), rank));
}
static inline int thread_index()
{
    return (int)threadIdx.x;
}
static inline bool one_lane()
{
    return threadIdx.x % 32 == 0;
}
static inline int block_index()
{
    return (int)blockIdx.x;
}
static inline float *gt_shared_memory()
{
    return gt_dynamic_shared();
}

/* The functions of gt_fast_math.cuh. */
static inline float infinite()
{
    return __builtin_inff();
}
static inline float fast_exp2(float x)
{
    return __builtin_exp2f(x);
}
static inline float fast_reciprocal(float x)
{
    return 1.0f / x;
}

/* The product of two floats is exact in double: one rounding of the sum to double and one to float. */
static inline float fmaf(float a, float b, float c)
{
    return (float)((double)a * b + c);
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}

#define GT_MIN_MAX(T)                                                                                        \
    static inline T min(T x, T y)                                                                            \
    {                                                                                                        \
        return y < x ? y : x;                                                                                \
    }                                                                                                        \
    static inline T max(T x, T y)                                                                            \
    {                                                                                                        \
        return x < y ? y : x;                                                                                \
    }
GT_MIN_MAX(int)
GT_MIN_MAX(unsigned)
GT_MIN_MAX(long)
GT_MIN_MAX(unsigned long)
GT_MIN_MAX(long long)
GT_MIN_MAX(unsigned long long)
GT_MIN_MAX(float)
#undef GT_MIN_MAX

/* One thread runs at a time. */
template <typename T> static inline T atomicAdd(T *p, T value)
{
    T old = *p;
    *p += value;
    return old;
}
static inline unsigned count_in(unsigned *counter)
{
    return atomicAdd(counter, 1u);
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32)
{
    int self = (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
    gt_warp_exchange(mask, &value, sizeof value, self / width * width + lane % width);
    return value;
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    int self = (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
    int from = self ^ bits;
    gt_warp_exchange(mask, &value, sizeof value, from / width == self / width ? from : self);
    return value;
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    int self = (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
    int from = self + (int)by;
    gt_warp_exchange(mask, &value, sizeof value, from / width == self / width ? from : self);
    return value;
}

/* The functions of gt_exponent.cuh. */
static inline unsigned bits_of(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float power_of_two(int e)
{
    const unsigned bits = (unsigned)(e + 127) << 23;
    float x;
    if (e < -126 || e > 127) gt_no_power(e);
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline int leading_zeros(unsigned x)
{
    return x ? __builtin_clz(x) : 32;
}
static inline unsigned warp_maximum(unsigned x)
{
    unsigned all[32], most = 0;
    gt_warp_share(&x, sizeof x, all);
    for (int i = 0; i < 32; i++) most = max(most, all[i]);
    return most;
}
template <typename T> static inline void raise(T *p, T x)
{
    *p = max(*p, x);
}

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

/* The functions of gt_dependent.cuh. */
static inline void wait_for_kernel_before()
{
    gt_wait_for_kernel_before();
}
static inline void next_kernel_may_begin(bool now)
{
    (void)now;
}

/* The functions of gt_stream16.cuh. */
template <int V, bool ONCE> static inline void load_run(unsigned *w, const unsigned short *g, bool valid)
{
    if (!valid) return;
    if ((uintptr_t)g % (2 * V)) gt_misaligned(g, 2 * V);
    for (int i = 0; i < V; i += 2) w[i / 2] = g[i] | (i + 1 < V ? (unsigned)g[i + 1] << 16 : 0);
}
static inline const unsigned short *computed(const unsigned short *g)
{
    return g;
}
static inline void ask_for_line(const unsigned short *g)
{
    (void)*(const volatile unsigned short *)g; /* must be accessible */
}
static inline void ask_for_run(const unsigned short *g, int bytes)
{
    (void)*(const volatile unsigned short *)g; /* all of it must be accessible */
    (void)*(const volatile unsigned short *)(g + bytes / 2 - 1);
}

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
