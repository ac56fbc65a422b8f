/* sgemm.c — C = A B by libgemmtune, from C, with the CUDA driver API. Prints what computed it and checks the
 * answer.
 *
 *     cc sgemm.c $(pkg-config --cflags --libs gemmtune) -lcuda
 */
#include <cuda.h>
#include <gemmtune.h>

#include <stdio.h>
#include <stdlib.h>

enum { M = 96, N = 64, K = 48 };

static void cuda_check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return;
    fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
    exit(1);
}

static void gemmtune_check(enum gt_status status)
{
    if (status == GT_OK) return;
    fprintf(stderr, "%s\n", gt_error_text());
    exit(1);
}

int main(void)
{
    static float a[M * K], b[K * N], c[M * N];
    const float alpha = 1, beta = 0;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr on_gpu[3];
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);

    cuda_check(cuInit(0), "start CUDA");
    cuda_check(cuDeviceGet(&device, 0), "find a GPU");
    cuda_check(cuDevicePrimaryCtxRetain(&context, device), "make a context");
    cuda_check(cuCtxSetCurrent(context), "use the context");
    cuda_check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "make a stream");
    cuda_check(cuMemAlloc(&on_gpu[0], sizeof a), "allocate A");
    cuda_check(cuMemAlloc(&on_gpu[1], sizeof b), "allocate B");
    cuda_check(cuMemAlloc(&on_gpu[2], sizeof c), "allocate C");
    cuda_check(cuMemcpyHtoD(on_gpu[0], a, sizeof a), "copy A");
    cuda_check(cuMemcpyHtoD(on_gpu[1], b, sizeof b), "copy B");

    struct gt_handle *handle;
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    struct gt_problem problem = gt_problem_make(M, N, K);
    gemmtune_check(gt_open(&handle, NULL));
    gemmtune_check(gt_plan_open(handle, &problem, &plan));
    gemmtune_check(gt_plan_describe(plan, &info));
    printf("%dx%dx%d: %s\n%s\n", M, N, K, info.config, info.why);
    struct gt_call call =
        gt_call_make(&alpha, (void *)on_gpu[0], (void *)on_gpu[1], &beta, (void *)on_gpu[2], stream);
    gemmtune_check(gt_launch(plan, &call));

    cuda_check(cuStreamSynchronize(stream), "compute");
    cuda_check(cuMemcpyDtoH(c, on_gpu[2], sizeof c), "copy C");
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int l = 0; l < K; l++) sum += a[i * K + l] * b[l * N + j];
            wrong += c[i * N + j] != sum; /* whole numbers this small are exact */
        }
    printf("%d elements wrong\n", wrong);

    gt_close(handle);
    for (int i = 0; i < 3; i++) cuMemFree(on_gpu[i]);
    cuStreamDestroy(stream);
    cuDevicePrimaryCtxRelease(device);
    return wrong != 0;
}
