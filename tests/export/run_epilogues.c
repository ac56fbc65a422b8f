/* run_epilogues.c — the kernels with an epilogue of an exported header on a GPU, against double precision:
 * all sets of the header, in place and out of place, tight and with other leading dimensions, batches whose
 * items have biases of their own. Ends with 77 where there is no GPU. */
#define GT_WINNERS_IMPLEMENTATION
#include "kernels.h"

#include "run_gpu.h"
#include "run_shape.h"

static int failures, runs;

/* Operands of one shape, here and on the GPU. c is what is read, d where the result goes. */
struct operands {
    int64_t count_a, count_b, count_c, width; /* width: of the bias of an item */
    float *a, *b, *c, *bias, *after;
    CUdeviceptr da, db, dc, dd, dbias;
};

static struct operands operands_of(const struct gt_winner_shape *s, const struct gt_winner_epilogue *e)
{
    struct operands o;
    o.count_a = (s->batch - 1) * s->stride_a + (s->trans_a ? s->k : s->m) * s->lda;
    o.count_b = (s->batch - 1) * s->stride_b + (s->trans_b ? s->n : s->k) * s->ldb;
    o.count_c = (s->batch - 1) * s->stride_c + s->m * s->ldc;
    o.width = e->bias == GT_WINNER_BIAS_ROW ? s->m : s->n;
    o.a = random_floats(o.count_a, 1);
    o.b = random_floats(o.count_b, 2);
    o.c = random_floats(o.count_c, 3);
    o.after = random_floats(o.count_c, 4);
    o.bias = random_floats(o.width * s->batch, 5);
    o.da = upload(o.a, o.count_a);
    o.db = upload(o.b, o.count_b);
    o.dc = upload(o.c, o.count_c);
    o.dd = e->out_of_place ? upload(o.after, o.count_c) : o.dc;
    o.dbias = upload(o.bias, o.width * s->batch);
    return o;
}

static void free_operands(struct operands *o)
{
    MUST(cuMemFree(o->da));
    MUST(cuMemFree(o->db));
    MUST(cuMemFree(o->dc));
    if (o->dd != o->dc) MUST(cuMemFree(o->dd));
    MUST(cuMemFree(o->dbias));
    free(o->a);
    free(o->b);
    free(o->c);
    free(o->bias);
    free(o->after);
}

static double activated(int activation, double x)
{
    if (activation == GT_WINNER_RELU) return x < 0 ? 0 : x;
    if (activation == GT_WINNER_GELU)
        return x / (1 + exp(-2 * sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    return x;
}

/* The slope of GELU is below 1.13, its own error below 2^-20 of what it is of. */
static void compare(const struct gt_winner_shape *s, const struct gt_winner_epilogue *e,
                    const struct operands *o, double alpha, double beta, const char *config)
{
    unsigned seed = 1;
    for (int check = 0; check < 400; check++) {
        seed = seed * 1664525u + 1013904223u;
        const int64_t item = seed % (unsigned)s->batch, i = (seed >> 8) % s->m, j = (seed >> 4) % s->n;
        const int64_t at = item * s->stride_c + i * s->ldc + j;
        double size, bias = 0;
        if (e->bias) bias = (double)o->bias[item * o->width + (e->bias == GT_WINNER_BIAS_ROW ? i : j)];
        const double old = beta * (double)o->c[at];
        const double sum = element(s, o->a + item * s->stride_a, o->b + item * s->stride_b, i, j, &size);
        const double x = alpha * sum + old + bias, right = activated(e->activation, x);
        const double terms = fabs(alpha) * size + fabs(old) + fabs(bias);
        const double error = 4 * ldexp(1, -24) * (double)(s->k + 2) * terms +
                             (s->type == GT_WINNER_TF32GEMM ? ldexp(1, -10) * fabs(alpha) * size : 0);
        if (!(fabs((double)o->after[at] - right) <= 1.13 * error + ldexp(1, -20) * fabs(x))) {
            fprintf(stderr, "%s, bias %d, activation %d, for %lldx%lldx%lld: D[%lld,%lld] = %g, not %g\n",
                    config, (int)e->bias, (int)e->activation, (long long)s->m, (long long)s->n,
                    (long long)s->k, (long long)i, (long long)j, (double)o->after[at], right);
            failures++;
            return;
        }
    }
}

static void run(const struct gt_winner_gpu *gpu, const struct gt_winner_epilogue *e,
                const struct gt_winner *w, struct gt_winner_shape s, CUstream stream)
{
    struct gt_winner_loaded kernel;
    struct gt_winner_plan plan;
    const float scalars[][2] = {{1, 0}, {-1.5f, 0.5f}};
    if (w->kernel < 0) return;
    if (!gt_winner_plan_make(gpu, w, &s, &plan)) {
        fprintf(stderr, "%s has no plan for its own shape\n", w->config);
        failures++;
        return;
    }
    if ((double)s.m * (double)s.n * (double)s.k * (double)s.batch > 3e10) return;
    struct operands o = operands_of(&s, e);
    const struct gt_winner_extra extra = {e->bias ? o.dbias : 0, e->bias ? o.width : 0,
                                          e->out_of_place ? o.dc : 0};
    const CUdeviceptr workspace = shared_workspace(plan.workspace_bytes);
    MUST(gt_winner_load(gpu, w, &kernel));
    for (int i = 0; i < 2; i++) {
        MUST(cuMemcpyHtoD(o.dc, o.c, (size_t)o.count_c * sizeof *o.c));
        MUST(gt_winner_clear(&plan, workspace, stream));
        MUST(gt_winner_launch_extra(&kernel, &plan, &s, scalars[i][0], o.da, o.db, scalars[i][1], o.dd,
                                    &extra, workspace, stream));
        MUST(cuStreamSynchronize(stream));
        MUST(cuMemcpyDtoH(o.after, o.dd, (size_t)o.count_c * sizeof *o.after));
        compare(&s, e, &o, (double)scalars[i][0], (double)scalars[i][1], w->config);
        runs++;
    }
    MUST(gt_winner_unload(&kernel));
    free_operands(&o);
}

int main(void)
{
    CUdevice device;
    char name[96];
    int sets = 0;
    const CUstream stream = start_gpu(&device, name, sizeof name);
    if (!stream) return 77;
    for (int32_t i = 0; i < gt_kernels_winners_epilogues.count; i++) {
        const struct gt_winner_epilogue *e = &gt_kernels_winners_epilogues.list[i];
        const struct gt_winner_gpu *gpu = winners_of(e->set, device, name);
        for (int32_t j = 0; gpu && j < 2 * gpu->count; j++)
            run(gpu, e, &gpu->winners[j / 2], own_shape(&gpu->winners[j / 2], j % 2 * 32), stream);
        sets += gpu != NULL;
    }
    if (sets == 0) {
        printf("skipped: no kernel for %s\n", name);
        return 77;
    }
    printf("%s: %d runs of %d epilogues, %d wrong\n", name, runs, sets, failures);
    return failures || runs == 0;
}
