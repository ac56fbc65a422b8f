/* SPDX-License-Identifier: MIT */
/* gt_ptx.cuh — memory access and asynchronous copies of the kernels. PTX is wrapped here and nowhere else.
 *
 * The contract with whoever executes kernels elsewhere (with GT_CPU defined, gt_cpu.h is included instead of
 * this file and supplies all of it). V is 1, 2 or 4 floats; addresses are multiples of 4 V bytes; the kernels
 * touch memory that other threads see through these functions only.
 *
 *   gt_shared_memory()       the block's dynamic shared memory, 16-byte aligned
 *   load_global<V>(v, g, ok) v[0..V) = g[0..V) if ok, else v is left as it is and g is not touched.
 *                            For memory that nobody writes while the kernel runs
 *   load_stream<V>(v, g, ok) the same, for what is read once
 *   load_own<V>(v, g)        the same, always, for memory that this thread alone writes (C), or that
 *                            others wrote before a fence
 *   ask_for(g)               the line of g to L2, if it is not there: load_own will soon read it
 *   store_global<V>(g, v)
 *   store_stream<V>(g, v)    the same, for what is not read again soon
 *   load_shared<V>(v, s), store_shared<V>(s, v)
 *   struct shared_place      a place in shared memory as the hardware counts it, in 32 bits: cheap to move
 *                            around in a loop. place_in_shared(s) makes one of a pointer, p + n and p += n
 *                            move it by n floats, moved(p, n) by n bytes; load_shared and cp_async take
 *                            it for s
 *   opaque(x)                x, of which the compiler knows nothing
 *   cp_async<V>(s, g, ok)    start s[0..V) = g[0..V), or zeros if not ok (g is not touched). It has
 *                            landed for this thread after a cp_async_wait that covers its group, for
 *                            the others after a __syncthreads() that follows
 *   count_in(c)              *c += 1, and what it was; what this block stored before a __syncthreads()
 *                            is seen, after their next one, by blocks that count later
 *   cp_async_commit()        close the group of the copies started since the last commit
 *   cp_async_wait<N>()       wait until at most the N youngest groups are in flight
 *   cluster_barrier()        all threads of all blocks of the cluster (sm_90)
 *   cluster_arrive(), cluster_wait()
 *                            the two halves of a barrier that orders mbarrier_ready alone: after it all
 *                            blocks of the cluster have begun, and one may send to them
 *   load_cluster<V>(v, s, r) v[0..V) = what lies at s, a place in this block's shared memory, in that of
 *                            block r of the cluster
 *
 * A barrier that threads pass in two steps, each with work of its own in between: `struct mbarrier`, 8 bytes
 * of shared memory. Its phases follow each other; a phase is complete when `count` arrivals have been made
 * and as many bytes have been copied as were announced. What a thread did before it arrived is seen by who
 * waited for that phase.
 *
 *   mbarrier_init(b, count)  by one thread; the others may use b after mbarrier_ready() of that thread
 *                            and a __syncthreads()
 *   mbarrier_ready(), mbarrier_ready_for_send() where no copy counts as copied
 *   mbarrier_arrive(b, who)  one arrival if `who`. One lane may arrive for its warp after a __syncwarp()
 *   mbarrier_arrive_expect(b, bytes, who)
 *                            the same, and so many bytes of bulk copies or of send belong to the phase,
 *                            started before or after (sm_90)
 *   mbarrier_arrive_copies(b, who)
 *                            one arrival if `who`, as soon as all cp_async that this thread has started
 *                            have landed; whoever waits for the phase sees them
 *   mbarrier_wait(b, parity) until phase 0, 2, 4 ... (parity 0) or 1, 3, 5 ... (parity 1) is complete;
 *                            that is the phase that runs, or the one before it
 *   mbarrier_end(b)          by one thread, when nobody uses b any more and before its memory is used for
 *                            something else, which others may do after a __syncthreads()
 *   bulk_copy(s, g, bytes, b, ok)
 *                            start s[0..bytes/4) = g[0..bytes/4) if ok; counts as copied for the phase
 *                            of b that runs. Bytes and addresses are multiples of 16 (sm_90)
 *   send<V>(s, v, b, r)      v[0..V) to the place s, in the shared memory of block r of the cluster;
 *                            counts as copied for the phase of b there (sm_90)
 *   bulk_copy_fence()        between stores of this thread to shared memory and bulk copies to the same
 *                            place, which somebody starts who has waited for this thread afterwards
 *   one_lane()               true in one lane of a warp that is whole; what a bulk copy is given by that lane
 *                            costs least
 *
 * Otherwise the kernels use plain C++17 and: __global__ __device__ __launch_bounds__ __forceinline__,
 * threadIdx, blockIdx, gridDim, blockDim, __syncthreads(), __threadfence(), atomicAdd, __shfl_xor_sync, fmaf,
 * #pragma unroll. cp_async and mbarriers need sm_80.
 */
#ifndef GT_PTX_CUH
#define GT_PTX_CUH

static __device__ __forceinline__ float *gt_shared_memory()
{
    extern __shared__ float4 gt_dynamic_shared[];
    return reinterpret_cast<float *>(gt_dynamic_shared);
}

static __device__ __forceinline__ long long opaque(long long x)
{
    asm("" : "+l"(x));
    return x;
}

static __device__ __forceinline__ int thread_index()
{
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    __builtin_assume(x >= 0); /* halving takes one instruction then, not three */
    return x;
}

/* The assembler knows what this means: what that lane does it need not repeat for others. */
static __device__ __forceinline__ bool one_lane()
{
#if __CUDA_ARCH__ >= 900
    int yes;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p;}" : "=r"(yes));
    return yes != 0;
#else
    return thread_index() % 32 == 0;
#endif
}

static __device__ __forceinline__ int block_index()
{
    int x;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
    return x;
}

/* A predicated instruction rather than a branch: the main loop stays one basic block. */
template <int V> static __device__ __forceinline__ void load_global(float *v, const float *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
    if constexpr (V == 4)
        asm volatile(
            "{.reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.nc.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];}"
            : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
            : "l"(g), "r"((int)valid));
    else if constexpr (V == 2)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; @p ld.global.nc.L2::128B.v2.f32 {%0, %1}, [%2];}"
                     : "+f"(v[0]), "+f"(v[1])
                     : "l"(g), "r"((int)valid));
    else
        asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.nc.L2::128B.f32 %0, [%1];}"
                     : "+f"(v[0])
                     : "l"(g), "r"((int)valid));
}

/* For what is read once and by one thread alone: it need not stay in L1. */
template <int V> static __device__ __forceinline__ void load_stream(float *v, const float *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
    if constexpr (V == 4)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %5, 0; "
                     "@p ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];}"
                     : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
                     : "l"(g), "r"((int)valid));
    else if constexpr (V == 2)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; "
                     "@p ld.global.nc.L1::no_allocate.L2::128B.v2.f32 {%0, %1}, [%2];}"
                     : "+f"(v[0]), "+f"(v[1])
                     : "l"(g), "r"((int)valid));
    else
        asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; "
                     "@p ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];}"
                     : "+f"(v[0])
                     : "l"(g), "r"((int)valid));
}

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

template <int V> struct gt_vector;
template <> struct gt_vector<1> {
    using type = float;
};
template <> struct gt_vector<2> {
    using type = float2;
};
template <> struct gt_vector<4> {
    using type = float4;
};

/* One access of V floats; the address space follows from the pointer. */
template <int V> static __device__ __forceinline__ void gt_read(float *v, const float *p)
{
    union {
        typename gt_vector<V>::type whole;
        float part[V];
    } x;
    x.whole = *reinterpret_cast<const typename gt_vector<V>::type *>(p);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = x.part[i];
}

template <int V> static __device__ __forceinline__ void gt_write(float *p, const float *v)
{
    union {
        typename gt_vector<V>::type whole;
        float part[V];
    } x;
#pragma unroll
    for (int i = 0; i < V; i++) x.part[i] = v[i];
    *reinterpret_cast<typename gt_vector<V>::type *>(p) = x.whole;
}

template <int V> static __device__ __forceinline__ void load_own(float *v, const float *g)
{
    gt_read<V>(v, g);
}
static __device__ __forceinline__ void ask_for(const float *g)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(g));
}
template <int V> static __device__ __forceinline__ void store_global(float *g, const float *v)
{
    gt_write<V>(g, v);
}
template <int V> static __device__ __forceinline__ void store_stream(float *g, const float *v)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
    if constexpr (V == 4)
        asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(g), "f"(v[0]), "f"(v[1]), "f"(v[2]),
                     "f"(v[3])
                     : "memory");
    else if constexpr (V == 2)
        asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(g), "f"(v[0]), "f"(v[1]) : "memory");
    else asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(g), "f"(v[0]) : "memory");
}
template <int V> static __device__ __forceinline__ void load_shared(float *v, const float *s)
{
    gt_read<V>(v, s);
}
template <int V> static __device__ __forceinline__ void store_shared(float *s, const float *v)
{
    gt_write<V>(s, v);
}

struct shared_place {
    unsigned address;

    __device__ __forceinline__ struct shared_place operator+(int floats) const
    {
        return {address + 4 * floats};
    }
    __device__ __forceinline__ void operator+=(int floats) { address += 4 * floats; }
};

static __device__ __forceinline__ struct shared_place moved(struct shared_place p, int bytes)
{
    return {p.address + bytes};
}

static __device__ __forceinline__ struct shared_place place_in_shared(const float *s)
{
    return {(unsigned)__cvta_generic_to_shared(s)};
}

/* There and back: the compiler sees an address in shared memory. */
template <int V> static __device__ __forceinline__ void load_shared(float *v, struct shared_place s)
{
    gt_read<V>(v, static_cast<const float *>(__cvta_shared_to_generic(s.address)));
}

/* Release and acquire: two full fences (__threadfence) around a relaxed count would cost a microsecond more.
 */
static __device__ __forceinline__ unsigned count_in(unsigned *counter)
{
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

/* A source size of 0 fills with zeros. 16-byte copies bypass L1 (.cg), which narrower ones cannot. */
template <int V>
static __device__ __forceinline__ void cp_async(struct shared_place s, const float *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
#if __CUDA_ARCH__ >= 800
    const int bytes = valid ? 4 * V : 0;
    if constexpr (V == 4)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(s.address), "l"(g),
                     "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(s.address), "l"(g),
                     "n"(4 * V), "r"(bytes)
                     : "memory");
#else
    static_assert(V == 0, "cp.async needs sm_80");
#endif
}

template <int V> static __device__ __forceinline__ void cp_async(float *s, const float *g, bool valid)
{
    cp_async<V>(place_in_shared(s), g, valid);
}

static __device__ __forceinline__ void cp_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> static __device__ __forceinline__ void cp_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

struct mbarrier {
    unsigned long long state;
};

static __device__ __forceinline__ unsigned gt_address_of(const struct mbarrier *b)
{
    return (unsigned)__cvta_generic_to_shared(b);
}

static __device__ __forceinline__ void mbarrier_init(struct mbarrier *b, int count)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(gt_address_of(b)), "r"(count) : "memory");
#endif
}

/* Without it the memory may get a late write of the barrier's state, long after the last phase (seen on an
 * H200). */
static __device__ __forceinline__ void mbarrier_end(struct mbarrier *b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(gt_address_of(b)) : "memory");
#endif
}

/* Bulk copies see shared memory through another proxy than threads do. */
static __device__ __forceinline__ void bulk_copy_fence()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_ready_for_send()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_ready()
{
    mbarrier_ready_for_send();
    bulk_copy_fence();
}

/* Predicated, as the loads are. */
static __device__ __forceinline__ void mbarrier_arrive(struct mbarrier *b, bool who)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p; .reg .b64 state; setp.ne.b32 p, %1, 0; "
                 "@p mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(gt_address_of(b)),
                 "r"((int)who)
                 : "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_arrive_expect(struct mbarrier *b, unsigned bytes, bool who)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p; .reg .b64 state; setp.ne.b32 p, %2, 0; "
                 "@p mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;}" ::"r"(gt_address_of(b)),
                 "r"(bytes), "r"((int)who)
                 : "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_arrive_copies(struct mbarrier *b, bool who)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p; setp.ne.b32 p, %1, 0; "
                 "@p cp.async.mbarrier.arrive.noinc.shared.b64 [%0];}" ::"r"(gt_address_of(b)),
                 "r"((int)who)
                 : "memory");
#endif
}

/* From sm_90 on the hardware lets a thread sleep for a while before it says no. */
static __device__ __forceinline__ void mbarrier_wait(struct mbarrier *b, unsigned parity)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra again;}" ::"r"(gt_address_of(b)),
                 "r"(parity)
                 : "memory");
#elif __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p;\n"
                 "again: mbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra again;}" ::"r"(gt_address_of(b)),
                 "r"(parity)
                 : "memory");
#endif
}

static __device__ __forceinline__ void bulk_copy(float *s, const float *g, unsigned bytes, struct mbarrier *b,
                                                 bool valid)
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %4, 0; "
        "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];}" ::"r"(
            (unsigned)__cvta_generic_to_shared(s)),
        "l"(g), "r"(bytes), "r"(gt_address_of(b)), "r"((int)valid)
        : "memory");
#endif
}

/* One trip: neither a fence nor a barrier, which would wait for the way to L2 and back. */
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
