/* fake_gpu.c — a driver and a cuBLAS made of host memory, opened in place of the real ones by tests that have
 * no GPU.
 *
 * Device memory is host memory, so copies are real and cuBLAS's answers can be compared. Launches are
 * recorded, and computed by the definition if fake_computes says so. Streams and captures are in
 * fake_stream.c. FAKE_GPU_FAIL="cuName=RESULT" makes one entry point fail, or the process die of signal
 * -RESULT; FAKE_GPU_VERSION is the driver's, FAKE_GPU_COMPUTES what fake_computes is at first.
 */
#include "fake_stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_launch fake_launches[FAKE_LAUNCHES_MAX];
int fake_launch_count;
_Atomic int fake_attributes_set[8];
int fake_computes;
_Atomic int fake_loads;
_Atomic int fake_open; /* buffers, modules, streams and contexts that were not released */

static _Thread_local CUcontext current;
static int primary;

CUresult cuInit(unsigned int flags)
{
    const char *computes = getenv("FAKE_GPU_COMPUTES");
    if (computes) fake_computes = atoi(computes);
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
    *context = (CUcontext)(void *)&primary;
    fake_count(&fake_open, 1);
    return RESULT;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    fake_count(&fake_open, -1);
    return RESULT;
}

/* A context that is reset lives again at the same address, under another number. */
static _Atomic unsigned long long resets;

void fake_reset(void *context)
{
    (void)context;
    resets++;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    if (!context) context = current;
    *id = (unsigned long long)(uintptr_t)context + resets;
    return context ? RESULT : CUDA_ERROR_INVALID_CONTEXT;
}

/* Any address is a context: tests make them up. */
CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return RESULT;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return RESULT;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return current ? RESULT : CUDA_ERROR_INVALID_CONTEXT;
}

static _Thread_local CUcontext pushed_over[8];
static _Thread_local int pushed;

CUresult cuCtxPushCurrent(CUcontext context)
{
    CUresult result = context ? RESULT : CUDA_ERROR_INVALID_CONTEXT;
    if (result != CUDA_SUCCESS) return result;
    pushed_over[pushed++] = current;
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    *context = current;
    if (pushed == 0) return CUDA_ERROR_INVALID_CONTEXT;
    current = pushed_over[--pushed];
    return RESULT;
}

CUresult cuCtxSynchronize(void)
{
    return fake_no_capture(__func__);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = (size_t)100 << 20;
    *total = (size_t)140 << 30;
    return RESULT;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    CUresult result = SAFE_RESULT;
    if (result != CUDA_SUCCESS) return result;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > (size_t)1 << 31) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (CUdeviceptr)(uintptr_t)malloc(bytes);
    fake_count(&fake_open, 1);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr address)
{
    CUresult result = SAFE_RESULT;
    if (result != CUDA_SUCCESS) return result;
    free((void *)(uintptr_t)address);
    fake_count(&fake_open, -1);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    CUresult result = SAFE_RESULT;
    if (result == CUDA_SUCCESS) memcpy((void *)(uintptr_t)to, from, bytes);
    return result;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    CUresult result = SAFE_RESULT;
    if (result == CUDA_SUCCESS) memcpy(to, (const void *)(uintptr_t)from, bytes);
    return result;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    if (result == CUDA_SUCCESS) memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return result;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    if (result == CUDA_SUCCESS) memset((void *)(uintptr_t)to, value, count);
    return result;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) ((unsigned *)(uintptr_t)to)[i] = value;
    return result;
}

static int module, functions[2];

CUresult cuModuleLoadData(CUmodule *loaded, const void *image)
{
    CUresult result = image ? SAFE_RESULT : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return result;
    *loaded = (CUmodule)(void *)&module;
    fake_count(&fake_open, 1);
    fake_count(&fake_loads, 1);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule loaded)
{
    CUresult result = SAFE_RESULT;
    if (result != CUDA_SUCCESS) return result;
    fake_count(&fake_open, -1);
    return loaded == (CUmodule)(void *)&module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
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

static void set_attribute(int which, int value)
{
    atomic_store_explicit(&fake_attributes_set[which], value, memory_order_relaxed);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) set_attribute(0, value);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) set_attribute(1, value);
    return RESULT;
}

/* Two threads may launch at once. */
static int next_launch(void)
{
    return __atomic_fetch_add(&fake_launch_count, 1, __ATOMIC_RELAXED);
}

static float term(const struct gemm_args *p, long long item, int i, int j, int from, int to)
{
    const float *a = p->a + item * p->stride_a, *b = p->b + item * p->stride_b;
    double sum = 0;
    for (int l = from; l < to && l < p->k; l++) {
        float x = fake_computes & 2 ? a[l * p->lda + i] : a[i * p->lda + l];
        float y = fake_computes & 4 ? b[j * p->ldb + l] : b[l * p->ldb + j];
        sum += (double)x * y;
    }
    return (float)sum;
}

static void finish(const struct gemm_args *p, long long item, int i, int j, float sum)
{
    float alpha = p->alpha_device ? *p->alpha_device : p->alpha,
          beta = p->beta_device ? *p->beta_device : p->beta;
    float *c = &p->c[item * p->stride_c + i * p->ldc + j];
    *c = (alpha != 0 ? alpha * sum : 0) + (beta != 0 ? beta * *c : 0);
}

/* As gemm_args.h says. */
static void compute(const struct gemm_args *p, bool is_gemm, int items)
{
    for (int item = 0; item < items; item++)
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n; j++) {
                float sum = 0;
                for (int s = 0; s < p->splits; s++) {
                    float *part =
                        p->splits > 1
                            ? p->workspace + (((long long)item * p->splits + s) * p->m + i) * p->n + j
                            : &sum;
                    if (is_gemm) *part = term(p, item, i, j, s * p->k_per_split, (s + 1) * p->k_per_split);
                    if (!is_gemm) sum += *part;
                }
                if (!is_gemm || p->splits == 1) finish(p, item, i, j, sum);
            }
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int smem,
                        CUstream stream, void **parameters, void **extra)
{
    if (!stream || extra || block_y != 1 || block_z != 1) return CUDA_ERROR_INVALID_VALUE;
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = fake_enqueue(stream, __func__);
    if (result != CUDA_SUCCESS) return result;
    int at = next_launch();
    if (at >= FAKE_LAUNCHES_MAX) return CUDA_ERROR_LAUNCH_FAILED;
    fake_launches[at] = (struct fake_launch){
        .is_gemm = function == (CUfunction)(void *)&functions[0],
        .captured = fake_is_captured(stream),
        .stream = stream,
        .grid = {grid_x, grid_y, grid_z},
        .threads = block_x,
        .smem_bytes = smem,
        .args = *(const struct gemm_args *)parameters[0],
    };
    if (fake_computes) compute(&fake_launches[at].args, fake_launches[at].is_gemm, (int)grid_z);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **name)
{
    *name = result == CUDA_ERROR_ILLEGAL_ADDRESS              ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == CUDA_ERROR_NO_DEVICE                  ? "CUDA_ERROR_NO_DEVICE"
            : result == CUDA_ERROR_INVALID_VALUE              ? "CUDA_ERROR_INVALID_VALUE"
            : result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ? "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
            : result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES    ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                                              : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* What the tests never call must be there all the same: the loader asks for all. */
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

/* Events, where FAKE_GPU_EVENTS is set: 10 us pass from each recording of one to the next. */
struct fake_event {
    int recorded; /* which recording of all; 0: none yet */
};
static int recordings;

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    (void)flags;
    if (!getenv("FAKE_GPU_EVENTS")) return CUDA_ERROR_NOT_SUPPORTED;
    *event = (CUevent)calloc(1, sizeof(struct fake_event));
    fake_count(&fake_open, 1);
    return *event ? RESULT : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy(CUevent event)
{
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    fake_count(&fake_open, -1);
    free((void *)event);
    return RESULT;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    if (!event || !stream) return CUDA_ERROR_INVALID_HANDLE;
    ((struct fake_event *)event)->recorded = __atomic_add_fetch(&recordings, 1, __ATOMIC_RELAXED);
    return RESULT;
}

CUresult cuEventSynchronize(CUevent event)
{
    return event ? RESULT : CUDA_ERROR_INVALID_HANDLE;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    const struct fake_event *a = (const struct fake_event *)start, *b = (const struct fake_event *)end;
    if (!a || !b || !a->recorded || !b->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *ms = 0.01f * (float)(b->recorded - a->recorded);
    return RESULT;
}
