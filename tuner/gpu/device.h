/* device.h — the CUDA driver API, opened at run time, and one GPU's context. Nothing else loads libcuda.
 *
 * Some driver results leave the process usable: success, out of memory, invalid value, out of launch
 * resources, no current context, and those of a broken capture. After any other the process must be replaced;
 * device_lost() remembers it.
 */
#ifndef GT_DEVICE_H
#define GT_DEVICE_H

#include "gpu.h"
#include "status.h"
#include <cuda.h>
#include <stdbool.h>

/* The entry points that we use, by the driver's names without version suffix: cuda.MemAlloc(&p, n). */
struct cuda_api {
    CUresult (*Init)(unsigned);
    CUresult (*DriverGetVersion)(int *);
    CUresult (*DeviceGetCount)(int *);
    CUresult (*DeviceGet)(CUdevice *, int);
    CUresult (*DeviceGetName)(char *, int, CUdevice);
    CUresult (*DeviceGetUuid)(CUuuid *, CUdevice);
    CUresult (*DeviceGetAttribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*DeviceTotalMem)(size_t *, CUdevice);
    CUresult (*DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult (*DevicePrimaryCtxRelease)(CUdevice);
    CUresult (*DevicePrimaryCtxGetState)(CUdevice, unsigned *, int *);
    CUresult (*CtxSetCurrent)(CUcontext);
    CUresult (*CtxGetCurrent)(CUcontext *);
    CUresult (*CtxGetDevice)(CUdevice *);
    CUresult (*CtxGetId)(CUcontext, unsigned long long *); /* the address, where the driver is old */
    CUresult (*CtxPushCurrent)(CUcontext);
    CUresult (*CtxPopCurrent)(CUcontext *);
    CUresult (*CtxSynchronize)(void);
    CUresult (*MemGetInfo)(size_t *, size_t *);
    CUresult (*MemAlloc)(CUdeviceptr *, size_t);
    CUresult (*MemFree)(CUdeviceptr);
    CUresult (*MemPoolCreate)(CUmemoryPool *, const CUmemPoolProps *);
    CUresult (*MemPoolDestroy)(CUmemoryPool);
    CUresult (*MemPoolTrimTo)(CUmemoryPool, size_t);
    CUresult (*MemAllocFromPoolAsync)(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
    CUresult (*MemFreeAsync)(CUdeviceptr, CUstream);
    CUresult (*MemcpyHtoD)(CUdeviceptr, const void *, size_t);
    CUresult (*MemcpyDtoH)(void *, CUdeviceptr, size_t);
    CUresult (*MemcpyDtoDAsync)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    CUresult (*MemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
    CUresult (*MemsetD32Async)(CUdeviceptr, unsigned, size_t, CUstream);
    CUresult (*ModuleLoadData)(CUmodule *, const void *);
    CUresult (*ModuleUnload)(CUmodule);
    CUresult (*ModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult (*FuncGetAttribute)(int *, CUfunction_attribute, CUfunction);
    CUresult (*FuncSetAttribute)(CUfunction, CUfunction_attribute, int);
    CUresult (*LaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CUstream, void **, void **);
    /* NULL where the driver lacks it: see launcher.h. */
    CUresult (*LaunchKernelEx)(const CUlaunchConfig *, CUfunction, void **, void **);
    CUresult (*TensorMapEncodeTiled)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                     const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                     const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    CUresult (*TensorMapReplaceAddress)(CUtensorMap *, void *);
    CUresult (*StreamCreate)(CUstream *, unsigned);
    CUresult (*StreamDestroy)(CUstream);
    CUresult (*StreamSynchronize)(CUstream);
    /* Calling it for a stream that is being captured breaks the capture. */
    CUresult (*StreamGetId)(CUstream, unsigned long long *);
    /* The form of CUDA 11.3: (stream, status, id of the capture, its graph or NULL, NULL, NULL). */
    CUresult (*StreamGetCaptureInfo)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                     const CUgraphNode **, size_t *);
    CUresult (*ThreadExchangeStreamCaptureMode)(CUstreamCaptureMode *);
    CUresult (*StreamBeginCapture)(CUstream, CUstreamCaptureMode);
    CUresult (*StreamEndCapture)(CUstream, CUgraph *);
    CUresult (*GraphInstantiate)(CUgraphExec *, CUgraph, unsigned long long);
    CUresult (*GraphLaunch)(CUgraphExec, CUstream);
    CUresult (*GraphExecDestroy)(CUgraphExec);
    CUresult (*GraphDestroy)(CUgraph);
    CUresult (*GraphRetainUserObject)(CUgraph, CUuserObject, unsigned, unsigned);
    CUresult (*UserObjectCreate)(CUuserObject *, void *, CUhostFn, unsigned, unsigned);
    CUresult (*UserObjectRelease)(CUuserObject, unsigned);
    CUresult (*EventCreate)(CUevent *, unsigned);
    CUresult (*EventDestroy)(CUevent);
    CUresult (*EventRecord)(CUevent, CUstream);
    CUresult (*EventQuery)(CUevent);
    CUresult (*EventSynchronize)(CUevent);
    CUresult (*StreamWaitEvent)(CUstream, CUevent, unsigned);
    CUresult (*EventElapsedTime)(float *, CUevent, CUevent);
    CUresult (*GetErrorName)(CUresult, const char **);
};

extern struct cuda_api cuda; /* valid after device_load() answered OK */

/* dlopen libcuda.so.1 (GEMMTUNE_LIBCUDA names another, for tests) and cuInit. Errors: E_GPU: no driver, no
 * GPU, or a driver older than the toolkit this program was built with, each with what to do. Idempotent. */
enum status device_load(void);

enum status device_count(int *count);

/* The driver's CUDA version, 13000 for 13.0. */
int device_driver_version(void);

struct device {
    int ordinal;
    CUdevice handle;
    CUcontext context; /* the primary one, current in this thread after device_open */
    CUstream stream;   /* all our work runs here */
    struct gpu
        gpu; /* from attributes; memory_gb_per_s and the fp32 rate are derived from clocks and widths */
    char uuid[48];
};

/* A short id from the driver's name: lower case letters and digits, without words that makers add; "NVIDIA
 * H200" and "NVIDIA A100-SXM4-80GB" give "h200" and "a100". */
void device_short_id(const char *name, char *id, size_t room);

/* Describes a GPU: no context, nothing to close. Errors: E_GPU (no such GPU, no driver). */
enum status device_find(int ordinal, struct device *device);

/* Errors: E_GPU (no such GPU, no driver, the GPU refuses a context). */
enum status device_open(int ordinal, struct device *device);
void device_close(struct device *device); /* takes a zeroed struct too */

/* Describes the GPU of the context that is current in this thread; it may belong to the calling program.
 * stream is NULL, and there is nothing to close. E_ABSENT: no context is current. Errors: E_GPU. */
enum status device_of_context(struct device *device);

/* OK, or fail(E_GPU, "WHAT: CUDA_ERROR_NAME"). Remembers results after which the process is unusable. */
enum status device_check(CUresult result, const char *what);

/* True in a child that was forked from a process in which the driver was loaded or a thread was between
 * device_enter and device_leave: CUDA does not work there, and locks may be held by threads that do not exist
 * in it. */
bool device_forked(void);

/* Around what takes locks before the driver is loaded. device_load calls them, too. */
void device_enter(void);
void device_leave(void);

/* A forked child calls it by itself, unless this code was loaded during the fork. */
void device_in_child(void);
#define DEVICE_FORKED                                                                                        \
    "this process was forked from one that had started CUDA, where the GPU cannot be used: start a new "     \
    "program, or fork before CUDA is started"

/* True if the last failure of device_check in this thread was out of memory, which may pass. Resets this
 * state. */
bool device_was_short_of_memory(void);

/* True after a result that makes everything in this process unreliable. */
bool device_lost(void);

/* Device memory with its size; free takes a zeroed struct. Errors: E_GPU (for out of memory with the
 * sizes). */
struct device_buffer {
    CUdeviceptr address;
    size_t bytes; /* as asked for; address is never null after OK, even for 0 */
};
enum status device_allocate(struct device_buffer *buffer, size_t bytes);
void device_free(struct device_buffer *buffer);

#endif
