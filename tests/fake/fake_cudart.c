/* fake_cudart.c — what docs/examples call of CUDA's runtime, on the fake driver that a program links beside
 * it. As there, a thread's first call makes the primary context current.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdint.h>
#include <stdio.h>

/* The runtime's errors have the driver's numbers. */
static cudaError_t answer(CUresult result)
{
    return (cudaError_t)result;
}

static CUresult enter(void)
{
    CUcontext context = NULL;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS) result = cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS || context) return result;
    result = cuDevicePrimaryCtxRetain(&context, 0);
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

const char *cudaGetErrorString(cudaError_t error)
{
    static _Thread_local char text[40];
    snprintf(text, sizeof text, "the fake driver's error %d", (int)error);
    return text;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    CUdeviceptr at = 0;
    CUresult result = enter();
    if (result == CUDA_SUCCESS) result = cuMemAlloc(&at, bytes);
    *memory = (void *)(uintptr_t)at;
    return answer(result);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const CUresult result = enter();
    if (result != CUDA_SUCCESS) return answer(result);
    return answer(kind == cudaMemcpyHostToDevice ? cuMemcpyHtoD((CUdeviceptr)(uintptr_t)to, from, bytes)
                                                 : cuMemcpyDtoH(to, (CUdeviceptr)(uintptr_t)from, bytes));
}

cudaError_t cudaFree(void *memory)
{
    const CUresult result = enter();
    return answer(result == CUDA_SUCCESS && memory ? cuMemFree((CUdeviceptr)(uintptr_t)memory) : result);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    const CUresult result = enter();
    return answer(result == CUDA_SUCCESS ? cuStreamCreate(stream, flags) : result);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return answer(cuStreamDestroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return answer(cuStreamSynchronize(stream));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return answer(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    return answer(cuStreamEndCapture(stream, graph));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
    return answer(cuGraphInstantiate(executable, graph, flags));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    return answer(cuGraphLaunch(executable, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    return answer(cuGraphExecDestroy(executable));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return answer(cuGraphDestroy(graph));
}
