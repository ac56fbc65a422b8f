/* rivals.h — what a program can get out of NVIDIA's libraries beyond cublasSgemm if it takes the trouble to
 * search. For tune bench: a tuned kernel should beat a tuned rival, too. All strict FP32, like the anchor.
 */
#ifndef GT_RIVALS_H
#define GT_RIVALS_H

#include "rival.h"
#include "site.h"

#define RIVAL_DETAIL_MAX 96

/* The fastest of all that cublasLt's heuristic proposes for the site's problem (GEMMTUNE_LIBCUBLASLT,
 * toolkit, usual names), timed here and judged like a candidate. detail: which of how many. E_ABSENT: no
 * cublasLt, or none of its answers takes the problem or is right. Errors: E_GPU, E_MEMORY. */
enum status rival_lt_open(struct site *site, struct kernel *kernel, char detail[RIVAL_DETAIL_MAX]);

/* cublasGemmEx with CUBLAS_GEMM_AUTOTUNE, which lets cuBLAS itself time its kernels at the first call.
 * E_ABSENT: a cuBLAS that lacks it or refuses the problem. Errors: E_GPU, E_MEMORY. */
enum status rival_autotune_open(struct site *site, struct kernel *kernel, char detail[RIVAL_DETAIL_MAX]);

#endif
