#include "device.h"

#include "library.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct cuda_api cuda;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool loaded; /* changed under the lock */
static atomic_int users;   /* calls between device_enter and device_leave */
static atomic_bool lost;
static atomic_bool forked; /* see device_forked */
static _Thread_local CUresult refused_last;
static int driver_version;

/* The exported name of each entry point is written out, not taken from cuda.h's macros: a macro names the
 * newest version, which an older driver of the same major release may lack. The second branch of the
 * conditional is never taken; it makes the compiler compare our prototype with the header's. */
#define ENTRY(member, exported) #exported, 1 ? &cuda.member : (__typeof__(&cu##member) *)0

static const struct library_symbol entries[] = {
    {ENTRY(Init, cuInit)},
    {ENTRY(DriverGetVersion, cuDriverGetVersion)},
    {ENTRY(DeviceGetCount, cuDeviceGetCount)},
    {ENTRY(DeviceGet, cuDeviceGet)},
    {ENTRY(DeviceGetName, cuDeviceGetName)},
    {ENTRY(DeviceGetUuid, cuDeviceGetUuid_v2)},
    {ENTRY(DeviceGetAttribute, cuDeviceGetAttribute)},
    {ENTRY(DeviceTotalMem, cuDeviceTotalMem_v2)},
    {ENTRY(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)},
    {ENTRY(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)},
    {ENTRY(CtxSetCurrent, cuCtxSetCurrent)},
    {ENTRY(CtxGetCurrent, cuCtxGetCurrent)},
    {ENTRY(CtxGetDevice, cuCtxGetDevice)},
    {ENTRY(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState)},
    {ENTRY(CtxPushCurrent, cuCtxPushCurrent_v2)},
    {ENTRY(CtxPopCurrent, cuCtxPopCurrent_v2)},
    {ENTRY(CtxSynchronize, cuCtxSynchronize)},
    {ENTRY(MemGetInfo, cuMemGetInfo_v2)},
    {ENTRY(MemAlloc, cuMemAlloc_v2)},
    {ENTRY(MemFree, cuMemFree_v2)},
    {ENTRY(MemPoolCreate, cuMemPoolCreate)},
    {ENTRY(MemPoolDestroy, cuMemPoolDestroy)},
    {ENTRY(MemPoolTrimTo, cuMemPoolTrimTo)},
    {ENTRY(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync)},
    {ENTRY(MemFreeAsync, cuMemFreeAsync)},
    {ENTRY(MemcpyHtoD, cuMemcpyHtoD_v2)},
    {ENTRY(MemcpyDtoH, cuMemcpyDtoH_v2)},
    {ENTRY(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)},
    {ENTRY(MemsetD8Async, cuMemsetD8Async)},
    {ENTRY(MemsetD32Async, cuMemsetD32Async)},
    {ENTRY(ModuleLoadData, cuModuleLoadData)},
    {ENTRY(ModuleUnload, cuModuleUnload)},
    {ENTRY(ModuleGetFunction, cuModuleGetFunction)},
    {ENTRY(FuncGetAttribute, cuFuncGetAttribute)},
    {ENTRY(FuncSetAttribute, cuFuncSetAttribute)},
    {ENTRY(LaunchKernel, cuLaunchKernel)},
    {ENTRY(StreamCreate, cuStreamCreate)},
    {ENTRY(StreamDestroy, cuStreamDestroy_v2)},
    {ENTRY(StreamSynchronize, cuStreamSynchronize)},
    {ENTRY(StreamGetId, cuStreamGetId)},
    {"cuStreamGetCaptureInfo_v2",
     &cuda.StreamGetCaptureInfo}, /* toolkits differ in what their header calls so */
    {ENTRY(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)},
    {ENTRY(StreamBeginCapture, cuStreamBeginCapture_v2)},
    {ENTRY(StreamEndCapture, cuStreamEndCapture)},
    {ENTRY(GraphInstantiate, cuGraphInstantiateWithFlags)},
    {ENTRY(GraphLaunch, cuGraphLaunch)},
    {ENTRY(GraphExecDestroy, cuGraphExecDestroy)},
    {ENTRY(GraphDestroy, cuGraphDestroy)},
    {ENTRY(GraphRetainUserObject, cuGraphRetainUserObject)},
    {ENTRY(UserObjectCreate, cuUserObjectCreate)},
    {ENTRY(UserObjectRelease, cuUserObjectRelease)},
    {ENTRY(EventCreate, cuEventCreate)},
    {ENTRY(EventDestroy, cuEventDestroy_v2)},
    {ENTRY(EventRecord, cuEventRecord)},
    {ENTRY(EventQuery, cuEventQuery)},
    {ENTRY(EventSynchronize, cuEventSynchronize)},
    {ENTRY(StreamWaitEvent, cuStreamWaitEvent)},
    {ENTRY(EventElapsedTime, cuEventElapsedTime)},
    {ENTRY(GetErrorName, cuGetErrorName)},
};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

static const struct library_symbol context_id = {ENTRY(CtxGetId, cuCtxGetId)};

/* Needed by some kernels only. */
static const struct library_symbol launch_extended = {ENTRY(LaunchKernelEx, cuLaunchKernelEx)};
static const struct library_symbol tensor_encode = {ENTRY(TensorMapEncodeTiled, cuTensorMapEncodeTiled)};
static const struct library_symbol tensor_replace = {
    ENTRY(TensorMapReplaceAddress, cuTensorMapReplaceAddress)};

/* If the driver has no context ids, the address is used. */
static CUresult id_by_address(CUcontext context, unsigned long long *id)
{
    CUresult result = context ? CUDA_SUCCESS : cuda.CtxGetCurrent(&context);
    *id = (unsigned long long)(uintptr_t)context;
    return result != CUDA_SUCCESS ? result : context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static const char *error_name(CUresult result, char number[32])
{
    const char *name = NULL;
    if (cuda.GetErrorName && cuda.GetErrorName(result, &name) == CUDA_SUCCESS && name) return name;
    snprintf(number, 32, "CUDA error %d", (int)result);
    return number;
}

/* True if the context is still usable after this result. */
static bool may_pass(CUresult result)
{
    return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE ||
           result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || result == CUDA_ERROR_INVALID_CONTEXT ||
           (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
            result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

enum status device_check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return OK;
    refused_last = result;
    if (device_forked()) return fail(E_GPU, "%s: " DEVICE_FORKED, what);
    if (!may_pass(result)) atomic_store(&lost, true);
    char number[32];
    return fail(E_GPU, "%s: %s", what, error_name(result, number));
}

bool device_lost(void)
{
    return atomic_load(&lost);
}

bool device_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

bool device_was_short_of_memory(void)
{
    const bool was = refused_last == CUDA_ERROR_OUT_OF_MEMORY;
    refused_last = CUDA_SUCCESS;
    return was;
}

static CUresult refuse_in_child(void)
{
    return CUDA_ERROR_NOT_INITIALIZED;
}

static void replace(const struct library_symbol *symbol)
{
    CUresult (*refuse)(void) = refuse_in_child;
    memcpy(symbol->target, &refuse, sizeof refuse);
}

/* No call reaches the driver any more, which may wait for threads that do not exist here, so that what comes
 * after a call that must have succeeded is not reached, either: locks among it. A function without parameters
 * may stand for any: the caller removes the arguments (System V ABI of x86-64, AAPCS64). */
void device_in_child(void)
{
    if (!atomic_load(&loaded) && atomic_load(&users) == 0) return;
    atomic_store(&forked, true);
    for (int i = 0; i < ENTRY_COUNT; i++) replace(&entries[i]);
    replace(&context_id);
    if (cuda.LaunchKernelEx) replace(&launch_extended);
    if (cuda.TensorMapEncodeTiled) replace(&tensor_encode);
    if (cuda.TensorMapReplaceAddress) replace(&tensor_replace);
}

/* Before the first lock can be taken. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, device_in_child);
}

void device_enter(void)
{
    atomic_fetch_add(&users, 1);
}

void device_leave(void)
{
    atomic_fetch_sub(&users, 1);
}

/* Advice about a driver that does not start. */
static enum status init_failed(CUresult result)
{
    char number[32];
    const char *name = error_name(result, number);
    switch ((int)result) {
    case CUDA_ERROR_NO_DEVICE:
        return fail(
            E_GPU,
            "the NVIDIA driver finds no GPU (%s): check nvidia-smi and CUDA_VISIBLE_DEVICES; commands that "
            "take --gpu NAME work without one",
            name);
    case CUDA_ERROR_STUB_LIBRARY:
        return fail(
            E_GPU,
            "libcuda.so.1 is the toolkit's stub, not a driver (%s): take the toolkit's stubs folder out of "
            "LD_LIBRARY_PATH, or install the NVIDIA driver",
            name);
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return fail(
            E_GPU,
            "libcuda and the driver in the kernel are of different releases (%s): restart the machine, or "
            "install matching ones",
            name);
    case CUDA_ERROR_SYSTEM_NOT_READY:
        return fail(E_GPU, "the GPUs are not ready yet (%s): start nvidia-fabricmanager and try again", name);
    default:
        return fail(E_GPU, "the NVIDIA driver does not start (%s): see what nvidia-smi says", name);
    }
}

static enum status load_once(void)
{
    if (atomic_load(&loaded)) return OK;
    static const char *const names[] = {"libcuda.so.1"};
    const struct library_names driver = {"GEMMTUNE_LIBCUDA", names, 1, false, false};
    char why[LIBRARY_WHY_MAX];
    void *library = library_open(&driver, why);
    if (!library) return fail(E_GPU, "no NVIDIA driver (%s): install it", why);
    const char *missing = library_bind(library, entries, ENTRY_COUNT);
    int version = 0;
    if (cuda.DriverGetVersion) cuda.DriverGetVersion(&version);
    if (version / 1000 < CUDA_VERSION / 1000 && version > 0)
        return fail(
            E_GPU,
            "the NVIDIA driver supports CUDA %d.%d, but this program was built with the CUDA %d.%d toolkit: "
            "update the driver, or build with a toolkit of CUDA %d",
            version / 1000, version % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
            version / 1000);
    if (missing) return fail(E_GPU, "the NVIDIA driver lacks %s: update the driver", missing);
    CUresult result = cuda.Init(0);
    if (result != CUDA_SUCCESS) return init_failed(result);
    if (library_bind(library, &context_id, 1)) cuda.CtxGetId = id_by_address;
    library_bind(library, &launch_extended, 1);
    library_bind(library, &tensor_encode, 1);
    library_bind(library, &tensor_replace, 1);
    driver_version = version;
    atomic_store(&loaded, true);
    return OK;
}

enum status device_load(void)
{
    if (device_forked())
        return fail(E_GPU, DEVICE_FORKED); /* its lock may be held by a thread of the parent */
    device_enter();
    pthread_mutex_lock(&load_lock);
    enum status st = load_once();
    pthread_mutex_unlock(&load_lock);
    device_leave();
    return st;
}

enum status device_count(int *count)
{
    enum status st = device_load();
    return st ? st : device_check(cuda.DeviceGetCount(count), "count the GPUs");
}

int device_driver_version(void)
{
    return driver_version;
}

void device_short_id(const char *name, char *id, size_t room)
{
    /* Words in the makers' names that never distinguish two GPUs of different speed. */
    static const char *const noise[] = {"nvidia", "geforce", "tesla", "gpu", "generation"};
    size_t used = 0;
    for (const char *at = name; *at;) {
        char word[32];
        size_t length = 0;
        while (*at && !isalnum((unsigned char)*at)) at++;
        for (; isalnum((unsigned char)*at); at++)
            if (length + 1 < sizeof word) word[length++] = (char)tolower((unsigned char)*at);
        word[length] = '\0';
        bool skip = length == 0 || strncmp(word, "sxm", 3) == 0 || strncmp(word, "hbm", 3) == 0 ||
                    (isdigit((unsigned char)word[0]) && strcmp(word + length - 2 * (length > 1), "gb") == 0);
        for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) skip = skip || strcmp(word, noise[i]) == 0;
        if (skip || used + length >= room) continue;
        memcpy(id + used, word, length);
        used += length;
    }
    id[used] = '\0';
}

/* FP32 FMA lanes of an SM (CUDA C++ Programming Guide, arithmetic instructions by compute capability). */
static int fp32_lanes(int arch)
{
    return arch == 60 || (arch >= 70 && arch <= 80) ? 64 : 128;
}

static enum status read_attributes(struct device *device)
{
    struct gpu *gpu = &device->gpu;
    int major = 0, minor = 0, l2 = 0, clock_khz = 0, memory_khz = 0, bus_bits = 0;
    const struct {
        CUdevice_attribute attribute;
        int *target;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &gpu->sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &gpu->threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &gpu->blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &gpu->registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &gpu->smem_per_sm_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &gpu->smem_per_block_bytes},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &gpu->smem_reserved_bytes},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &memory_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &bus_bits},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char what[64];
        snprintf(what, sizeof what, "read attribute %d of GPU %d", (int)wanted[i].attribute, device->ordinal);
        enum status st = device_check(
            cuda.DeviceGetAttribute(wanted[i].target, wanted[i].attribute, device->handle), what);
        if (st) return st;
    }
    gpu->arch = 10 * major + minor;
    gpu->l2_bytes = l2;
    /* A virtual or integrated GPU may report a clock of 0. Any positive figure keeps the model's order. */
    gpu->clock_mhz = clock_khz > 0 ? clock_khz / 1e3 : 1000;
    /* Two transfers per clock and wire, in bytes. */
    gpu->memory_gb_per_s = memory_khz > 0 && bus_bits > 0 ? 2e3 * memory_khz * (bus_bits / 8.0) / 1e9 : 100;
    gpu_set_rate(gpu, "fp32", gpu->sm_count * 2.0 * fp32_lanes(gpu->arch) * gpu->clock_mhz * 1e6 / 1e12);
    return OK;
}

static enum status describe(struct device *device)
{
    struct gpu *gpu = &device->gpu;
    size_t memory = 0;
    CUuuid uuid;
    enum status st =
        device_check(cuda.DeviceGetName(gpu->name, sizeof gpu->name, device->handle), "read the GPU's name");
    if (!st) st = device_check(cuda.DeviceTotalMem(&memory, device->handle), "read the GPU's memory size");
    if (!st) st = device_check(cuda.DeviceGetUuid(&uuid, device->handle), "read the GPU's UUID");
    if (!st) st = read_attributes(device);
    if (st) return st;
    gpu->memory_bytes = (int64_t)memory;
    device_short_id(gpu->name, gpu->id, sizeof gpu->id);
    snprintf(gpu->source, sizeof gpu->source, "read from the driver (CUDA %d.%d) on GPU %d",
             driver_version / 1000, driver_version % 1000 / 10, device->ordinal);
    char *text = device->uuid;
    text += sprintf(text, "GPU-");
    for (int i = 0; i < 16; i++)
        text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        (unsigned char)uuid.bytes[i]);
    return OK;
}

enum status device_find(int ordinal, struct device *device)
{
    *device = (struct device){.ordinal = ordinal};
    int count = 0;
    enum status st = device_count(&count);
    if (st) return st;
    if (ordinal < 0 || ordinal >= count)
        return fail(E_GPU, "there is no GPU %d: the driver lists %d, numbered from 0", ordinal, count);
    st = device_check(cuda.DeviceGet(&device->handle, ordinal), "open the GPU");
    return st ? st : describe(device);
}

enum status device_open(int ordinal, struct device *device)
{
    enum status st = device_find(ordinal, device);
    if (!st)
        st = device_check(cuda.DevicePrimaryCtxRetain(&device->context, device->handle),
                          "create the GPU's context");
    if (!st) st = device_check(cuda.CtxSetCurrent(device->context), "use the GPU's context");
    /* The legacy default stream would wait for all other work of the process. */
    if (!st) st = device_check(cuda.StreamCreate(&device->stream, CU_STREAM_NON_BLOCKING), "create a stream");
    if (st) device_close(device);
    return st;
}

void device_close(struct device *device)
{
    if (device->stream) cuda.StreamDestroy(device->stream);
    if (device->context) cuda.DevicePrimaryCtxRelease(device->handle);
    device->stream = NULL;
    device->context = NULL;
}

enum status device_of_context(struct device *device)
{
    *device = (struct device){.ordinal = 0};
    enum status st = device_load();
    if (!st) st = device_check(cuda.CtxGetCurrent(&device->context), "look for the current context");
    if (st) return st;
    if (!device->context) return fail(E_ABSENT, "no CUDA context is current in this thread");
    st = device_check(cuda.CtxGetDevice(&device->handle), "find the GPU of the current context");
    device->ordinal = device->handle; /* CUdevice handles equal ordinals */
    return st ? st : describe(device);
}

enum status device_allocate(struct device_buffer *buffer, size_t bytes)
{
    *buffer = (struct device_buffer){0};
    /* The driver refuses to allocate 0 bytes, but an empty operand also needs an address. */
    CUresult result = cuda.MemAlloc(&buffer->address, bytes ? bytes : 16);
    if (result == CUDA_SUCCESS) {
        buffer->bytes = bytes;
        return OK;
    }
    size_t free_bytes = 0, total_bytes = 0;
    if (result == CUDA_ERROR_OUT_OF_MEMORY && cuda.MemGetInfo(&free_bytes, &total_bytes) == CUDA_SUCCESS)
        return fail(
            E_GPU,
            "out of GPU memory: %zu MiB wanted, %zu of %zu MiB are free; end other programs on the GPU or "
            "take a smaller problem",
            (bytes >> 20) + 1, free_bytes >> 20, total_bytes >> 20);
    char what[64];
    snprintf(what, sizeof what, "allocate %zu bytes of GPU memory", bytes);
    return device_check(result, what);
}

void device_free(struct device_buffer *buffer)
{
    if (buffer->address) cuda.MemFree(buffer->address);
    *buffer = (struct device_buffer){0};
}
