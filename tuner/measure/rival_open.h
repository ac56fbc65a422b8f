/* rival_open.h — how the rows of rivals.h are opened. */
#ifndef GT_RIVAL_OPEN_H
#define GT_RIVAL_OPEN_H

#include "rivals.h"
#include <stdbool.h>

/* By the name that the compute types and algorithms have in cublas_api.h; those that a row alone names stand
 * beside the rows. */
enum { RIVAL_COMPUTE_32F = 68, RIVAL_COMPUTE_32F_PEDANTIC = 69, RIVAL_COMPUTE_32F_EMULATED_16BFX9 = 78 };
enum { RIVAL_ALGORITHM_DEFAULT = -1, RIVAL_ALGORITHM_AUTOTUNE = 999 };

/* The environment would put something else in place of FP32: then strict rows are opened in the pedantic way,
 * which knows neither TF32 nor emulation, and is slower at times. */
bool rival_must_be_pedantic(void);

/* cublasSgemm, as most programs call it. Sizes beyond an int where cuBLAS has that. */
enum status rival_sgemm_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                             char detail[RIVAL_DETAIL_MAX]);

/* cublasGemmEx with the row's compute type and algorithm; one that chooses in its first call (AUTOTUNE) is
 * judged after it. */
enum status rival_gemm_ex_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                               char detail[RIVAL_DETAIL_MAX]);

/* The fastest of all that cublasLt's heuristic proposes for the setup's problem and the row's compute type
 * (GEMMTUNE_LIBCUBLASLT, toolkit, usual names), timed here and judged like a candidate. */
enum status rival_lt_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char detail[RIVAL_DETAIL_MAX]);

#endif
