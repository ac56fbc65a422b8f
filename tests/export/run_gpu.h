/* run_gpu.h — what programs that run the kernels of an exported header on a GPU share: operands, the sums
 * they are held against, a workspace, and the GPU's winners. They include the header first.
 */
#ifndef GT_RUN_GPU_H
#define GT_RUN_GPU_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(CUresult result, const char *what)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS) return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}
#define MUST(call) must(call, #call)

static inline float *random_floats(int64_t count, unsigned seed)
{
    float *x = (float *)malloc((size_t)(count + 1) * sizeof *x);
    if (!x) exit(1);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
    return x;
}

static inline CUdeviceptr upload(const float *x, int64_t count)
{
    CUdeviceptr p;
    MUST(cuMemAlloc(&p, (size_t)(count + 4) * sizeof *x));
    MUST(cuMemcpyHtoD(p, x, (size_t)count * sizeof *x));
    return p;
}

/* One element, and the sum of the sizes of its terms. */
static inline double element(const struct gt_winner_shape *s, const float *a, const float *b, int64_t i,
                             int64_t j, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t l = 0; l < s->k; l++) {
        const double term = (double)a[s->trans_a ? l * s->lda + i : i * s->lda + l] *
                            (double)b[s->trans_b ? j * s->ldb + l : l * s->ldb + j];
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* Of all plans, one after the other, full of ones at first. */
static inline CUdeviceptr shared_workspace(int64_t bytes)
{
    static CUdeviceptr shared;
    const size_t room = (size_t)512 << 20;
    if (bytes == 0) return 0;
    if (shared == 0) {
        MUST(cuMemAlloc(&shared, room));
        MUST(cuMemsetD8(shared, 0xff, room));
    }
    if ((size_t)bytes > room) exit(1);
    return shared;
}

/* Begin with the first GPU: its name, and a stream. NULL: there is none. */
static inline CUstream start_gpu(CUdevice *device, char *name, int room)
{
    CUcontext context;
    CUstream stream;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(device, 0) != CUDA_SUCCESS) {
        printf("skipped: no GPU\n");
        return NULL;
    }
    MUST(cuDevicePrimaryCtxRetain(&context, *device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuDeviceGetName(name, room, *device));
    return stream;
}

/* The winners of a set for the GPU. */
static inline const struct gt_winner_gpu *winners_of(const struct gt_winner_set *set, CUdevice device,
                                                     const char *name)
{
    int major, minor, sms;
    MUST(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    MUST(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    MUST(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    return gt_winner_gpu_find(set, name, 10 * major + minor, sms);
}

#endif
