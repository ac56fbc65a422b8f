/* trial_cpu.h — one run of a kernel on one problem, judged.
 *
 * Operands have exactly the size that the problem requires, with red zones for the sanitizer and guard bands
 * for the comparison. Memory that must not be read is NaN: padding of A and B, A and B when alpha is 0, C
 * when beta is 0.
 */
#ifndef GT_TRIAL_CPU_H
#define GT_TRIAL_CPU_H

#include "cpu_kernel.h"
#include <data_class.h>

enum trial_data {
    DATA_INTEGERS,  /* small ones: every sum is exact, and results must be equal */
    DATA_UNIFORM,   /* [-1, 1), compared with double precision within the error bound, of operands rounded as
                       the problem's type says */
    DATA_ACCURATE,  /* of a kind, compared with double precision: errors as an accuracy class allows, beside
                       those of adding in the order of k */
    DATA_GRADED,    /* integers times powers of 2 for each row and column of C and each k, far apart and down
                       to denormal numbers, with equal products in a sum: results must be equal */
    DATA_NOT_FINITE /* integers, an infinity in A, a NaN in B */
};

struct trial {
    struct problem problem;
    struct run_mode mode;
    enum trial_data data;
    enum data_class kind; /* of DATA_ACCURATE */
    int misalign;         /* offset of every operand from a 16-byte boundary, in elements */
};

#define TRIAL_TEXT_MAX 1024

/* True if the result is right and nothing else was written. Otherwise `why` is a sentence that begins with
 * the kind of fault: "wrong answer", "guard band", "padding", "operand". */
bool trial_passes(const struct cpu_kernel *kernel, const struct trial *trial, char why[TRIAL_TEXT_MAX]);

/* A product with the type and op of `like` whose operands span more than 2^32 elements (of address space),
 * and whether a kernel computes it correctly. */
struct problem far_problem(const struct problem *like);
bool far_passes(const struct cpu_kernel *kernel, const struct problem *p, char why[TRIAL_TEXT_MAX]);

/* "simt BM=.. | sgemm:nn:5x6x7 | integers, reverse order, ..." */
void trial_describe(const struct cpu_kernel *kernel, const struct trial *trial, char text[TRIAL_TEXT_MAX]);

#endif
