/* lookup.h — which kernels can compute a problem: an ordered list, of which the first that can be prepared is
 * used.
 *
 *   exact       measured for exactly this problem on this GPU
 *   nearest     measured for similar ones; the one expected to be fastest here
 *   predicted   by tune without a GPU, or by the model among all configurations that won on this GPU's
 *               architecture
 *   fallback    cuBLAS, and a few plain configurations if there is none
 *
 * What won for a stricter type with another rival, as strict FP32's has for TF32, comes behind cuBLAS: it was
 * not raced against what cuBLAS does here.
 *
 * Everything listed has passed its template's rules for this problem. The fastest of what was measured comes
 * first (answer.h): where cuBLAS won the race, cuBLAS precedes the kernel, which is for callers without it.
 * Knows no CUDA.
 */
#ifndef GT_LOOKUP_H
#define GT_LOOKUP_H

#include "winner_store.h"

#define CHOICES_MAX 16

enum choice_source { CHOICE_EXACT, CHOICE_NEAREST, CHOICE_PREDICTED, CHOICE_FALLBACK };

struct choice {
    enum choice_source source;
    bool cublas, pretuned, system, stale, pinned; /* system: of the system's database; pretuned: it ships */
    struct config config;                         /* unless cublas */
    enum gemm_type type; /* for which it was measured; may be stricter than the problem's */
    char tuned_for[PROBLEM_TEXT_MAX];
    char when[24];
    double time_us, ratio, loss; /* as in gt_plan_info of gemmtune.h */
    double gain; /* cuBLAS's time over the choice's: the ratio, nearby what is expected of it; 0: unknown */
    char why[200];
    struct accuracy_claim claim; /* of a winner of an accuracy class */
};

/* The pin for exactly this problem, else what was measured for it, best first: none, the kernel, cuBLAS, or
 * cuBLAS and the kernel that lost to it (no kernel also if the operands are less aligned than it requires).
 * After these, of a problem with a prepared operand, the same of the problem without, as CHOICE_NEAREST: its
 * kernels compute it, and another may be faster. Of a problem without one for which nothing was measured,
 * what was for the problem with A or B prepared, if it reads no prepared operand: it computes both alike.
 * alignment: bytes, 4, 8 or 16. Errors: E_MEMORY. */
enum status lookup_exact(struct winner_store *store, const struct problem *problem, int alignment,
                         struct choice choices[CHOICES_MAX], int *count);

/* True if a call that cuBLAS could answer, too, may go to the choice: a kernel that was measured, and is
 * pinned or expected to be faster than cuBLAS. */
bool choice_replaces_cublas(const struct choice *choice);

/* What was checked of the errors of the choice's kernel, for a problem of an accuracy class; else, and of
 * cuBLAS, "". Returns text. */
const char *choice_checked(const struct choice *choice, const struct problem *problem,
                           char text[ACCURACY_TEXT_MAX]);

/* Everything else, best first. Of an invariant problem no cuBLAS: any configuration that is legal for it has
 * the same bits, so that the order of the choices is about time alone. Empty only if nothing is legal.
 * Errors: E_MEMORY. */
enum status lookup_others(struct winner_store *store, const struct problem *problem, int alignment,
                          struct choice choices[CHOICES_MAX], int *count);

#endif
