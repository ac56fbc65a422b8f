/* One product whose operands span more than 2^32 elements: offsets computed in 32 bits, signed or not, are
 * wrong. */
#include "../reference.h"
#include "trial_cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIDE = 4 };
static const int64_t FAR_LD = INT64_C(1) << 31; /* the last of four rows begins at element 3 * 2^31 */

/* Reserves address space; memory is used only for the few pages that are touched. NULL if there is not
 * enough. */
static float *map_far(int64_t span)
{
    void *x = mmap(NULL, (size_t)span * sizeof(float), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return x == MAP_FAILED ? NULL : x;
}

struct problem far_problem(const struct problem *like)
{
    struct problem p = *like;
    p.m = p.n = p.k = SIDE;
    p.batch = 1;
    p.lda = p.ldb = p.ldc = FAR_LD;
    p.stride_a = p.stride_b = p.stride_c = SIDE * FAR_LD;
    p.alpha = 2;
    p.beta = -1;
    return p;
}

bool far_passes(const struct cpu_kernel *kernel, const struct problem *p, char why[TRIAL_TEXT_MAX])
{
    enum { A, B, D, SOURCE, MATRICES };
    const bool apart = epilogue_out_of_place(p->epilogue);
    const int64_t span[MATRICES] = {problem_span_a(p), problem_span_b(p), problem_span_c(p),
                                    apart ? problem_span_c(p) : 0};
    const struct run_mode mode = {.order = ORDER_FORWARD, .seed = 1};
    struct problem dense = *p;
    dense.lda = dense.ldb = dense.ldc = SIDE;
    const int64_t ld[MATRICES] = {p->lda, p->ldb, p->ldc, p->ldc};
    const float bias[SIDE] = {3, -1, 2, -5};
    float near[MATRICES][SIDE * SIDE], *far[MATRICES] = {NULL};
    bool passes = true;
    for (int x = 0; x < MATRICES && passes; x++) {
        if (span[x] == 0) continue;
        if (!(far[x] = map_far(span[x]))) {
            snprintf(why, TRIAL_TEXT_MAX, "no address space for %lld floats", (long long)span[x]);
            passes = false;
        }
        for (int i = 0; i < SIDE * SIDE && passes; i++)
            near[x][i] = far[x][i / SIDE * ld[x] + i % SIDE] = (float)((i * (x + 3)) % 7 - 3);
    }
    float *const want = near[apart ? SOURCE : D];
    if (passes) {
        const struct cpu_operands operands = {
            .a = far[A], .b = far[B], .c = far[D], .source = far[SOURCE], .bias = bias};
        cpu_kernel_run(kernel, p, &mode, &operands);
        reference_ijk(&dense, near[A], near[B], want);
    }
    for (int i = 0; i < SIDE * SIDE && passes; i++) {
        const float got = far[D][i / SIDE * ld[D] + i % SIDE];
        const double sum = (double)(want[i] + reference_bias(p, bias, 0, i / SIDE, i % SIDE));
        const double right = reference_activated(p, sum);
        if (fabs((double)got - right) <= reference_activation_error(p, sum)) continue;
        snprintf(why, TRIAL_TEXT_MAX, "wrong answer: beyond 2^32 elements C[%d,%d] = %.9g, not %.9g",
                 i / SIDE, i % SIDE, (double)got, right);
        passes = false;
    }
    for (int x = 0; x < MATRICES; x++)
        if (far[x]) munmap(far[x], (size_t)span[x] * sizeof(float));
    return passes;
}
