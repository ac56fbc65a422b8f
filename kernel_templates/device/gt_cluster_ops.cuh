/* SPDX-License-Identifier: MIT */
/* gt_cluster_ops.cuh — blocks of a cluster wait for each other and access each other's shared memory (sm_90).
 *
 *   cluster_barrier()        all threads of all blocks of the cluster
 *   cluster_arrive(), cluster_wait()
 *                            the two halves of a barrier that orders nothing but mbarrier_ready: after it all
 *                            blocks of the cluster have started, and data may be sent to them
 *   load_cluster<V>(v, s, r) v[0..V) = the floats at s in the shared memory of block r of the cluster; s is
 *                            given as the address in this block's shared memory
 *   send<V>(s, v, b, r)      store v[0..V) at s in the shared memory of block r of the cluster; the bytes
 *                            count for the current phase of b there
 *   TOGETHER                 attribute of a kernel: blocks that share a tile of C along k are a cluster,
 *                            whose size is the family's REDUCE
 */
#ifndef GT_CLUSTER_OPS_CUH
#define GT_CLUSTER_OPS_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else
#include "gt_barrier.cuh"

/* release and acquire: what was written to shared memory before is read after it. */
static __device__ __forceinline__ void cluster_barrier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

static __device__ __forceinline__ void cluster_arrive()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

static __device__ __forceinline__ void cluster_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

template <int V> static __device__ __forceinline__ void load_cluster(float *v, const float *s, unsigned rank)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
#if __CUDA_ARCH__ >= 900
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"((unsigned)__cvta_generic_to_shared(s)), "r"(rank));
    if constexpr (V == 4)
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                     : "r"(there)
                     : "memory");
    else if constexpr (V == 2)
        asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
                     : "=f"(v[0]), "=f"(v[1])
                     : "r"(there)
                     : "memory");
    else asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v[0]) : "r"(there) : "memory");
#else
    static_assert(V == 0, "clusters need sm_90");
#endif
}

/* A single one-way transfer. With a fence or a barrier instead, the block would wait for a round trip to
 * L2. */
template <int V>
static __device__ __forceinline__ void send(float *s, const float *v, struct mbarrier *b, unsigned rank)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
#if __CUDA_ARCH__ >= 900
    unsigned to, count;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to)
        : "r"((unsigned)__cvta_generic_to_shared(s)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(count) : "r"(gt_address_of(b)), "r"(rank));
    if constexpr (V == 4)
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, [%1];" ::
                "r"(to),
            "r"(count), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
            : "memory");
    else if constexpr (V == 2)
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%2, %3}, [%1];" ::"r"(to),
            "r"(count), "f"(v[0]), "f"(v[1])
            : "memory");
    else
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %2, [%1];" ::"r"(to),
                     "r"(count), "f"(v[0])
                     : "memory");
#else
    static_assert(V == 0, "clusters need sm_90");
#endif
}

#endif

#if REDUCE > 1
#define TOGETHER __cluster_dims__(1, REDUCE, 1)
#else
#define TOGETHER
#endif

#endif
