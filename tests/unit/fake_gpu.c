/* fake_gpu.c — a driver and a cuBLAS made of host memory, opened in place of the real ones by tests that have
 * no GPU.
 *
 * Device memory is host memory, so copies are real and cuBLAS's answers can be compared. Kernels are not run:
 * their launches are recorded. FAKE_GPU_FAIL="cuName=RESULT" makes one entry point fail, or the process die
 * of signal -RESULT; FAKE_GPU_VERSION is the driver's.
 */
#include "fake_gpu.h"

#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_launch fake_launches[FAKE_LAUNCHES_MAX];
int fake_launch_count;
int fake_attributes_set[8];
int fake_open; /* buffers, modules, streams and contexts that were not released */

static CUresult result_of(const char *name)
{
    const char *fail = getenv("FAKE_GPU_FAIL");
    size_t length = strlen(name);
    if (!fail || strncmp(fail, name, length) != 0 || fail[length] != '=') return CUDA_SUCCESS;
    int result = atoi(fail + length + 1);
    if (result < 0) raise(-result);
    return (CUresult)result;
}

#define RESULT result_of(__func__)

CUresult cuInit(unsigned int flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : RESULT;
}

CUresult cuDriverGetVersion(int *version)
{
    const char *text = getenv("FAKE_GPU_VERSION");
    *version = text ? atoi(text) : CUDA_VERSION;
    return RESULT;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return RESULT;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return RESULT;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)room, "NVIDIA H200");
    return RESULT;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    (void)device;
    for (int i = 0; i < 16; i++) uuid->bytes[i] = (char)(0xf0 + i);
    return RESULT;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    switch ((int)attribute) { /* an H200's answers */
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *value = 2048;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        *value = 32;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
        *value = 65536;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *value = 233472;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = 232448;
        break;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        *value = 1024;
        break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        *value = 62914560;
        break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        *value = 1980000;
        break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        *value = 3201000;
        break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *value = 6144;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return RESULT;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)140 << 30;
    return RESULT;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    static int anything;
    *context = (CUcontext)(void *)&anything;
    fake_open++;
    return RESULT;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    fake_open--;
    return RESULT;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    return context ? RESULT : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSynchronize(void)
{
    return RESULT;
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = (size_t)100 << 20;
    *total = (size_t)140 << 30;
    return RESULT;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > (size_t)1 << 31) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (CUdeviceptr)(uintptr_t)malloc(bytes);
    fake_open++;
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr address)
{
    free((void *)(uintptr_t)address);
    fake_open--;
    return RESULT;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return RESULT;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return RESULT;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return RESULT;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)to, value, count);
    return RESULT;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    (void)stream;
    for (size_t i = 0; i < count; i++) ((unsigned *)(uintptr_t)to)[i] = value;
    return RESULT;
}

static int module, functions[2];

CUresult cuModuleLoadData(CUmodule *loaded, const void *image)
{
    CUresult result = image ? RESULT : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return result;
    *loaded = (CUmodule)(void *)&module;
    fake_open++;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule loaded)
{
    fake_open--;
    return loaded == (CUmodule)(void *)&module ? RESULT : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule loaded, const char *name)
{
    (void)loaded;
    *function = (CUfunction)(void *)&functions[strcmp(name, "gemm") != 0];
    return RESULT;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    const char *threads = getenv("FAKE_GPU_THREADS"), *smem = getenv("FAKE_GPU_SMEM");
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = threads ? atoi(threads) : 1024;
    if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) *value = smem ? atoi(smem) : 0;
    return RESULT;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) fake_attributes_set[0] = value;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) fake_attributes_set[1] = value;
    return RESULT;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int smem,
                        CUstream stream, void **parameters, void **extra)
{
    if (!stream || extra || block_y != 1 || block_z != 1) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    if (fake_launch_count == FAKE_LAUNCHES_MAX) return CUDA_ERROR_LAUNCH_FAILED;
    fake_launches[fake_launch_count++] = (struct fake_launch){
        .is_gemm = function == (CUfunction)(void *)&functions[0],
        .grid = {grid_x, grid_y, grid_z},
        .threads = block_x,
        .smem_bytes = smem,
        .args = *(const struct gemm_args *)parameters[0],
    };
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    static int anything;
    *stream = (CUstream)(void *)&anything;
    fake_open++;
    return flags == CU_STREAM_NON_BLOCKING ? RESULT : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamDestroy(CUstream stream)
{
    fake_open--;
    return stream ? RESULT : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    return stream ? RESULT : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGetErrorName(CUresult result, const char **name)
{
    *name = result == CUDA_ERROR_ILLEGAL_ADDRESS           ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == CUDA_ERROR_NO_DEVICE               ? "CUDA_ERROR_NO_DEVICE"
            : result == CUDA_ERROR_INVALID_VALUE           ? "CUDA_ERROR_INVALID_VALUE"
            : result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                                           : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* What the tests never call must be there all the same: the loader asks for all. */
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)stream, (void)mode;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    (void)stream, (void)graph;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
    (void)executable, (void)graph, (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
    (void)executable, (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphExecDestroy(CUgraphExec executable)
{
    (void)executable;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    (void)graph;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    (void)event, (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuEventDestroy(CUevent event)
{
    (void)event;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    return CUDA_ERROR_NOT_SUPPORTED;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    (void)ms, (void)start, (void)end;
    return CUDA_ERROR_NOT_SUPPORTED;
}
