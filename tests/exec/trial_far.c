/* One product whose operands span more than 2^32 elements: offsets computed in 32 bits, signed or not, are
 * wrong. */
#include "../reference.h"
#include "trial_cpu.h"

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
    const int64_t span[3] = {problem_span_a(p), problem_span_b(p), problem_span_c(p)};
    const struct run_mode mode = {.order = ORDER_FORWARD, .seed = 1};
    struct problem dense = *p;
    dense.lda = dense.ldb = dense.ldc = SIDE;
    const int64_t ld[3] = {p->lda, p->ldb, p->ldc};
    float near[3][SIDE * SIDE], *far[3] = {NULL};
    bool passes = true;
    for (int x = 0; x < 3 && passes; x++) {
        if (!(far[x] = map_far(span[x]))) {
            snprintf(why, TRIAL_TEXT_MAX, "no address space for %lld floats", (long long)span[x]);
            passes = false;
        }
        for (int i = 0; i < SIDE * SIDE && passes; i++)
            near[x][i] = far[x][i / SIDE * ld[x] + i % SIDE] = (float)((i * (x + 3)) % 7 - 3);
    }
    if (passes) {
        cpu_kernel_run(kernel, p, &mode, far[0], far[1], far[2]);
        reference_ijk(&dense, near[0], near[1], near[2]);
    }
    for (int i = 0; i < SIDE * SIDE && passes; i++) {
        float got = far[2][i / SIDE * ld[2] + i % SIDE];
        if (got == near[2][i]) continue;
        snprintf(why, TRIAL_TEXT_MAX, "wrong answer: beyond 2^32 elements C[%d,%d] = %.9g, not %.9g",
                 i / SIDE, i % SIDE, (double)got, (double)near[2][i]);
        passes = false;
    }
    for (int x = 0; x < 3; x++)
        if (far[x]) munmap(far[x], (size_t)span[x] * sizeof(float));
    return passes;
}
