/* launcher_toy.cu — two kernels for test_launcher_gpu.c, which describes what they compute. */
#define TILE 32
struct alignas(64) tensor_map {
    unsigned char bytes[128];
};
struct toy {
    tensor_map a;
    float *c, *workspace;
    long long stride_c;
    int m, k;
    float alpha, beta;
};

static __device__ unsigned long long now()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* After the factors: the time when this kernel ended, and when the next one began. */
static __device__ unsigned long long *times(const toy &p)
{
    return (unsigned long long *)(p.workspace + (p.m + 1) / 2 * 2);
}

extern "C" __global__ void toy_factors(const __grid_constant__ toy p)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    const unsigned long long begin = now();
    while (now() - begin < 200000) continue;
    for (int i = threadIdx.x; i < p.m; i += blockDim.x) p.workspace[i] = (float)(i % 5 - 2);
    if (threadIdx.x == 0) times(p)[0] = now();
}

extern "C" __global__ void toy_sums(const __grid_constant__ toy p)
{
    __shared__ alignas(128) float tile[TILE][TILE];
    __shared__ float sums[TILE];
    __shared__ alignas(8) unsigned long long full;
    const unsigned long long begin = now();
    const unsigned full_at = (unsigned)__cvta_generic_to_shared(&full);
    const unsigned tile_at = (unsigned)__cvta_generic_to_shared(tile);
    unsigned rank, blocks, phase = 0;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    const int row = (int)(blockIdx.x / blocks) * TILE;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full_at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    float sum = 0;
    for (int k = (int)rank * TILE; k < p.k; k += (int)blocks * TILE, phase ^= 1) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full_at),
                         "r"((unsigned)sizeof tile)
                         : "memory");
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(tile_at),
                         "l"(&p.a), "r"(k), "r"(row), "r"((int)blockIdx.z), "r"(full_at)
                         : "memory");
        }
        asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; "
                     "@!p bra again;}" ::"r"(full_at),
                     "r"(phase)
                     : "memory");
        for (int j = 0; j < TILE; j++) sum += tile[threadIdx.x][j];
        __syncthreads();
    }
    sums[threadIdx.x] = sum;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0)
        for (unsigned other = 1; other < blocks; other++) {
            unsigned there;
            float more;
            asm("mapa.shared::cluster.u32 %0, %1, %2;"
                : "=r"(there)
                : "r"((unsigned)__cvta_generic_to_shared(&sums[threadIdx.x])), "r"(other));
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(more) : "r"(there) : "memory");
            sum += more;
        }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const int i = row + (int)threadIdx.x;
    if (rank != 0 || blocks != 2) return; /* without its cluster the kernel leaves C unchanged */
    if (blockIdx.x == 0 && blockIdx.z == 0 && threadIdx.x == 0) times(p)[1] = begin;
    if (i >= p.m) return;
    float *c = p.c + blockIdx.z * p.stride_c + i;
    *c = p.alpha * p.workspace[i] * sum + p.beta * *c;
}
