/* rival_open.h — how the rows of rivals.h are opened. */
#ifndef GT_RIVAL_OPEN_H
#define GT_RIVAL_OPEN_H

#include "rivals.h"

/* FIRST: of cublasLt, what its heuristic puts first, as most programs take it; otherwise the fastest. */
enum { RIVAL_ALGORITHM_DEFAULT = -1, RIVAL_ALGORITHM_FIRST = -2, RIVAL_ALGORITHM_AUTOTUNE = 999 };

/* cublasSgemm, or for pointers cublasSgemmBatched, as most programs call them; their 64-bit forms for larger
 * sizes, if cuBLAS has them. */
enum status rival_sgemm_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                             char detail[RIVAL_DETAIL_MAX]);

/* cublasGemmEx with the row's compute type and algorithm. An algorithm that is chosen in the first call
 * (AUTOTUNE) is judged after that call. */
enum status rival_gemm_ex_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                               char detail[RIVAL_DETAIL_MAX]);

/* The fastest of all algorithms that cublasLt's heuristic proposes for the setup's problem and the row's
 * compute type (GEMMTUNE_LIBCUBLASLT, toolkit, usual names), timed here and judged like a candidate. */
enum status rival_lt_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char detail[RIVAL_DETAIL_MAX]);

#endif
