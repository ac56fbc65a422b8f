/* gt_cpu_memory.h — the functions of the device headers that move data and wait for it, for the CPU. */
#ifndef GT_CPU_MEMORY_H
#define GT_CPU_MEMORY_H

#include "gt_cpu.h"

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

static inline unsigned count_in(unsigned *counter)
{
    return atomicAdd(counter, 1u);
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

#endif
