/* header.c — C = A B by a kernel from a header that tune wrote, with the CUDA driver API and nothing else of
 * ours, neither library nor compiler nor database. Prints what computed it and checks the answer.
 *
 *     tune export --gpu h200 --shape 256x256x256 --header winners.h --with-kernels
 *     cc -I. header.c -lcuda
 */
#include <cuda.h>

#define GT_WINNERS_IMPLEMENTATION /* in one file of a program; the others only include */
#include "winners.h"              /* holds gt_winners, named after the file */

#include <stdio.h>
#include <stdlib.h>

enum { M = 256, N = 256, K = 256 };

static void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return;
    fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
    exit(1);
}

/* The winners of this machine's GPU. */
static const struct gt_winner_gpu *find_gpu(CUdevice device)
{
    char name[96];
    int major, minor, sms;
    check(cuDeviceGetName(name, sizeof name, device), "name the GPU");
    check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "ask the GPU");
    check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "ask the GPU");
    check(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "ask the GPU");
    const struct gt_winner_gpu *gpu = gt_winner_gpu_find(&gt_winners, name, 10 * major + minor, sms);
    if (gpu) return gpu;
    fprintf(stderr, "the header has no winners for %s\n", name);
    exit(1);
}

int main(void)
{
    static float a[M * K], b[K * N], c[M * N];
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr on_gpu[3], workspace = 0;
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);

    check(cuInit(0), "start CUDA");
    check(cuDeviceGet(&device, 0), "find a GPU");
    check(cuDevicePrimaryCtxRetain(&context, device), "make a context");
    check(cuCtxSetCurrent(context), "use the context");
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "make a stream");
    check(cuMemAlloc(&on_gpu[0], sizeof a), "allocate A");
    check(cuMemAlloc(&on_gpu[1], sizeof b), "allocate B");
    check(cuMemAlloc(&on_gpu[2], sizeof c), "allocate C");
    check(cuMemcpyHtoD(on_gpu[0], a, sizeof a), "copy A");
    check(cuMemcpyHtoD(on_gpu[1], b, sizeof b), "copy B");

    const struct gt_winner_gpu *gpu = find_gpu(device);
    const struct gt_winner_shape shape = gt_winner_shape_make(0, 0, M, N, K);
    struct gt_winner_match match;
    struct gt_winner_loaded kernel;
    struct gt_winner_plan plan;
    if (!gt_winner_find(gpu, &shape, &match) || match.winner->kernel < 0 ||
        !gt_winner_plan_make(gpu, match.winner, &shape, &plan)) {
        fprintf(stderr, "nothing for %dx%dx%d: call cuBLAS\n", M, N, K);
        return 1;
    }
    printf("%dx%dx%d: %s\n%s for %s\n", M, N, K, match.winner->config,
           gpu->sources[match.winner->source].predicted ? "predicted" : "measured",
           match.exact ? "this problem" : "the nearest that may run it");
    check(gt_winner_load(gpu, match.winner, &kernel), "load the kernel");
    if (plan.workspace_bytes)
        check(cuMemAlloc(&workspace, (size_t)plan.workspace_bytes), "allocate a workspace");
    check(gt_winner_clear(&plan, workspace, stream), "clear the workspace");
    check(gt_winner_launch(&kernel, &plan, &shape, 1, on_gpu[0], on_gpu[1], 0, on_gpu[2], workspace, stream),
          "launch");

    check(cuStreamSynchronize(stream), "compute");
    check(cuMemcpyDtoH(c, on_gpu[2], sizeof c), "copy C");
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int l = 0; l < K; l++) sum += a[i * K + l] * b[l * N + j];
            wrong += c[i * N + j] != sum; /* whole numbers this small are exact */
        }
    printf("%d elements wrong\n", wrong);

    gt_winner_unload(&kernel);
    if (workspace) cuMemFree(workspace);
    for (int i = 0; i < 3; i++) cuMemFree(on_gpu[i]);
    cuStreamDestroy(stream);
    cuDevicePrimaryCtxRelease(device);
    return wrong != 0;
}
