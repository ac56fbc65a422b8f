/* launcher_own.c — kernels of users, whose parameters are as they wrote them: each lies in the plan's
 * argument. */
#include "launcher.h"

CUresult launcher_enqueue_own(CUfunction function, const struct kernel_launch *kernel, struct launch *launch,
                              CUstream stream)
{
    void *parameters[KERNEL_PARAMETERS_MAX];
    const unsigned y = kernel->own.block[0] ? kernel->own.block[0] : 1,
                   z = kernel->own.block[1] ? kernel->own.block[1] : 1;
    const unsigned x = kernel->threads / (y * z), *const grid = launch->grid,
                   *const cluster = kernel->cluster;
    for (int i = 0; i < kernel->own.count; i++) parameters[i] = launch->argument + kernel->own.at[i];
    if (!kernel->cluster_at_launch)
        return cuda.LaunchKernel(function, grid[0], grid[1], grid[2], x, y, z, kernel->smem_bytes, stream,
                                 parameters, NULL);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {cluster[0], cluster[1], cluster[2]}};
    const CUlaunchConfig config = {.gridDimX = grid[0],
                                   .gridDimY = grid[1],
                                   .gridDimZ = grid[2],
                                   .blockDimX = x,
                                   .blockDimY = y,
                                   .blockDimZ = z,
                                   .sharedMemBytes = kernel->smem_bytes,
                                   .hStream = stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    return cuda.LaunchKernelEx(&config, function, parameters, NULL);
}
