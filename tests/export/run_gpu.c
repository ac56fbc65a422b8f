/* run_gpu.c — the kernels of an exported header on a GPU, against sums in double precision: tight, and with
 * other leading dimensions and strides, batches, scalars, and a graph that captured a launch. Ends with 77
 * where there is no GPU. */
#define GT_WINNERS_IMPLEMENTATION
#include "kernels.h"

#include "run_gpu.h"
#include "run_shape.h"

static int failures, runs;

static void compare(const struct gt_winner_shape *s, const float *a, const float *b, const float *before,
                    const float *after, double alpha, double beta, const char *config)
{
    unsigned seed = 1;
    for (int check = 0; check < 400; check++) {
        seed = seed * 1664525u + 1013904223u;
        const int64_t item = seed % (unsigned)s->batch, i = (seed >> 8) % s->m, j = (seed >> 4) % s->n;
        const int64_t at = item * s->stride_c + i * s->ldc + j;
        double size;
        const double sum = element(s, a + item * s->stride_a, b + item * s->stride_b, i, j, &size);
        const double right = alpha * sum + beta * (double)before[at];
        const double bound =
            4 * ldexp(1, -24) * (double)(s->k + 1) * (fabs(alpha) * size + fabs(beta * (double)before[at])) +
            (s->type == GT_WINNER_TF32GEMM ? ldexp(1, -10) * fabs(alpha) * size : 0) + 1e-30;
        if (!(fabs((double)after[at] - right) <= bound)) {
            fprintf(stderr, "%s for %lldx%lldx%lld: C[%lld,%lld] = %g, not %g\n", config, (long long)s->m,
                    (long long)s->n, (long long)s->k, (long long)i, (long long)j, (double)after[at], right);
            failures++;
            return;
        }
    }
}

/* Enqueue, or capture into a graph and launch that. */
static void launch(const struct gt_winner_loaded *kernel, const struct gt_winner_plan *plan,
                   const struct gt_winner_shape *s, float alpha, CUdeviceptr a, CUdeviceptr b, float beta,
                   CUdeviceptr c, CUdeviceptr workspace, CUstream stream, int captured)
{
    CUgraph graph;
    CUgraphExec executable;
    if (!captured) MUST(gt_winner_clear(plan, workspace, stream)); /* the launch before has left it so */
    if (captured) MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    MUST(gt_winner_launch(kernel, plan, s, alpha, a, b, beta, c, workspace, stream));
    if (captured) {
        MUST(cuStreamEndCapture(stream, &graph));
        MUST(cuGraphInstantiateWithFlags(&executable, graph, 0));
        MUST(cuGraphLaunch(executable, stream));
        MUST(cuStreamSynchronize(stream));
        MUST(cuGraphExecDestroy(executable));
        MUST(cuGraphDestroy(graph));
    }
    MUST(cuStreamSynchronize(stream));
}

static void run(const struct gt_winner_gpu *gpu, const struct gt_winner *w, struct gt_winner_shape s,
                CUstream stream)
{
    struct gt_winner_loaded kernel;
    struct gt_winner_plan plan;
    if (w->kernel < 0) return;
    if (!gt_winner_plan_make(gpu, w, &s, &plan)) {
        fprintf(stderr, "%s has no plan for its own shape\n", w->config);
        failures++;
        return;
    }
    if ((double)s.m * (double)s.n * (double)s.k * (double)s.batch > 3e10) return;
    const int64_t count_a = (s.batch - 1) * s.stride_a + (s.trans_a ? s.k : s.m) * s.lda;
    const int64_t count_b = (s.batch - 1) * s.stride_b + (s.trans_b ? s.n : s.k) * s.ldb;
    const int64_t count_c = (s.batch - 1) * s.stride_c + s.m * s.ldc;
    if (count_a + count_b + count_c > 100000000) return;
    float *a = random_floats(count_a, 1), *b = random_floats(count_b, 2), *c = random_floats(count_c, 3);
    float *after = random_floats(count_c, 4);
    const float scalars[][2] = {{1, 0}, {-1.5f, 0.5f}};
    CUdeviceptr da = upload(a, count_a), db = upload(b, count_b), dc = upload(c, count_c);
    const CUdeviceptr workspace = shared_workspace(plan.workspace_bytes);
    MUST(gt_winner_load(gpu, w, &kernel));
    for (int i = 0; i < 2; i++) {
        MUST(cuMemcpyHtoD(dc, c, (size_t)count_c * sizeof *c));
        launch(&kernel, &plan, &s, scalars[i][0], da, db, scalars[i][1], dc, workspace, stream, i);
        MUST(cuMemcpyDtoH(after, dc, (size_t)count_c * sizeof *c));
        compare(&s, a, b, c, after, (double)scalars[i][0], (double)scalars[i][1], w->config);
        runs++;
    }
    MUST(gt_winner_unload(&kernel));
    MUST(cuMemFree(da));
    MUST(cuMemFree(db));
    MUST(cuMemFree(dc));
    free(a);
    free(b);
    free(c);
    free(after);
}

int main(void)
{
    CUdevice device;
    char name[96];
    const CUstream stream = start_gpu(&device, name, sizeof name);
    if (!stream) return 77;
    const struct gt_winner_gpu *gpu = winners_of(&gt_kernels_winners, device, name);
    if (!gpu) {
        printf("skipped: no kernel for %s\n", name);
        return 77;
    }
    for (int32_t i = 0; i < gpu->count; i++) {
        const struct gt_winner *w = &gpu->winners[i];
        run(gpu, w, own_shape(w, 0), stream);
        run(gpu, w, own_shape(w, 32), stream);
    }
    printf("%s: %d runs of %d winners, %d wrong\n", name, runs, (int)gpu->count, failures);
    return failures || runs == 0;
}
