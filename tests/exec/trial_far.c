/* One product whose operands span more than 2^32 elements: offsets computed in 32 bits, signed or not, are
 * wrong. */
#include "../reference.h"
#include "cpu_elements.h"
#include "trial_cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIDE = 4 };
static const int64_t FAR_LD = INT64_C(1) << 31; /* the last of four rows begins at element 3 * 2^31 */

/* Reserves address space; memory is used only for the few pages that are touched. NULL if there is not
 * enough. */
static void *map_far(enum element type, int64_t span)
{
    void *x = mmap(NULL, (size_t)(span * element_bytes(type)), PROT_READ | PROT_WRITE,
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
    static const float biases[SIDE] = {3, -1, 2, -5};
    float bias[SIDE]; /* room for elements */
    for (int i = 0; i < SIDE; i++) elements_put(bias, gemm_type_row(p->type)->c, i, biases[i]);
    const struct gemm_type_row *const row = gemm_type_row(p->type);
    const enum element type[MATRICES] = {row->a, row->b, row->c, row->c};
    float near[MATRICES][SIDE * SIDE];
    void *far[MATRICES] = {NULL};
    bool passes = true;
    for (int x = 0; x < MATRICES && passes; x++) {
        if (span[x] == 0) continue;
        if (!(far[x] = map_far(type[x], span[x]))) {
            snprintf(why, TRIAL_TEXT_MAX, "no address space for %lld elements", (long long)span[x]);
            passes = false;
        }
        for (int i = 0; i < SIDE * SIDE && passes; i++) {
            near[x][i] = (float)((i * (x + 3)) % 7 - 3);
            elements_put(far[x], type[x], i / SIDE * ld[x] + i % SIDE, near[x][i]);
        }
    }
    float *const want = near[apart ? SOURCE : D];
    if (passes) {
        const struct cpu_operands operands = {
            .a = far[A], .b = far[B], .c = far[D], .source = far[SOURCE], .bias = bias};
        cpu_kernel_run(kernel, p, &mode, &operands);
        reference_ijk(&dense, near[A], near[B], want);
    }
    for (int i = 0; i < SIDE * SIDE && passes; i++) {
        const float got = elements_get(far[D], type[D], i / SIDE * ld[D] + i % SIDE);
        const double sum = (double)(want[i] + reference_bias(p, biases, 0, i / SIDE, i % SIDE));
        const double right = reference_activated(p, sum);
        const double error = reference_activation_error(p, sum);
        const double stored = error > 0 && type[D] != ELEMENT_F32 ? row->c_roundoff * fabs(right) : 0;
        if (fabs((double)got - right) <= error + stored) continue;
        snprintf(why, TRIAL_TEXT_MAX, "wrong answer: beyond 2^32 elements C[%d,%d] = %.9g, not %.9g",
                 i / SIDE, i % SIDE, (double)got, right);
        passes = false;
    }
    for (int x = 0; x < MATRICES; x++)
        if (far[x]) munmap(far[x], (size_t)(span[x] * element_bytes(type[x])));
    return passes;
}
