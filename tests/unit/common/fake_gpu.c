/* fake_gpu.c — a driver and a cuBLAS made of host memory, opened in place of the real ones by tests that have
 * no GPU.
 *
 * This file has the device and its contexts. Modules and launches are in fake_module.c, streams and captures
 * in fake_stream.c, graphs in fake_graph.c, device memory, which is host memory, in fake_memory.c, what
 * happens before what in fake_order.c. FAKE_GPU_FAIL="cuName=RESULT,cuOther=RESULT" makes entry points fail,
 * or the process die of signal -RESULT; FAKE_GPU_VERSION is the driver's, FAKE_GPU_ARCH the compute
 * capability times ten, FAKE_GPU_COMPUTES what fake_computes is at first.
 */
#include "fake_epilogue.h"
#include "fake_lock.h"
#include "fake_stream.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

_Atomic int fake_open; /* buffers, modules, streams and contexts that were not released */

static _Thread_local CUcontext current;
static int primary, primary_users;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* contexts */

CUresult cuInit(unsigned int flags)
{
    const char *computes = getenv("FAKE_GPU_COMPUTES");
    CUresult result = flags ? CUDA_ERROR_INVALID_VALUE : RESULT;
    if (computes) fake_computes = atoi(computes);
    if (result == CUDA_SUCCESS) fake_start();
    return result;
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
    const char *arch = getenv("FAKE_GPU_ARCH");
    (void)device;
    switch ((int)attribute) { /* an H200's answers */
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = arch ? atoi(arch) / 10 : 9;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = arch ? atoi(arch) % 10 : 0;
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
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        *value = !getenv("FAKE_GPU_NO_POOLS");
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
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    *context = (CUcontext)(void *)&primary;
    __atomic_add_fetch(&primary_users, 1, __ATOMIC_RELAXED);
    fake_count(&fake_open, 1);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    __atomic_sub_fetch(&primary_users, 1, __ATOMIC_RELAXED);
    fake_count(&fake_open, -1);
    return RESULT;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = __atomic_load_n(&primary_users, __ATOMIC_RELAXED) > 0;
    return RESULT;
}

/* A context's id is its own as long as it lives; one that is reset lives again at the same address. */
static struct {
    CUcontext context;
    unsigned long long id;
} contexts[64];
static unsigned long long contexts_made;

static unsigned long long id_of(CUcontext context)
{
    unsigned long long id = 0;
    fake_lock(&lock);
    for (int i = 0; i < 64 && !id; i++) {
        if (!contexts[i].context) {
            contexts[i].context = context;
            contexts[i].id = ++contexts_made;
        }
        if (contexts[i].context == context) id = contexts[i].id;
    }
    fake_unlock(&lock);
    return id;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    if (!context) context = current;
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    *id = id_of(context);
    return CUDA_SUCCESS;
}

/* Any address is a context: tests make them up. */
CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return RESULT;
}

CUcontext fake_current(void)
{
    return current;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = RESULT;
    if (result == CUDA_SUCCESS) *context = current;
    return result;
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
    CUresult result = fake_no_capture(__func__);
    if (result == CUDA_SUCCESS) fake_host_knows_all();
    return result;
}

void fake_reset(void *context)
{
    fake_lock(&lock);
    for (int i = 0; i < 64; i++)
        if (contexts[i].context == (CUcontext)context) contexts[i].id = ++contexts_made;
    fake_unlock(&lock);
    fake_modules_reset(context);
    fake_memory_reset(context);
    fake_events_reset(context);
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
