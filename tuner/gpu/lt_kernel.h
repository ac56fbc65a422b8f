/* lt_kernel.h — a product by cublasLt as a kernel (kernel.h): for rivals, which choose among its algorithms,
 * and for configurations of the template cublaslt, each of which is one.
 */
#ifndef GT_LT_KERNEL_H
#define GT_LT_KERNEL_H

#include "blas_lt.h"
#include "kernel.h"

/* Opens a problem in a compute type, without an algorithm yet. alignment: bytes, of cublasLt's A, B, C and D;
 * its A is our B. bias: the address, or one that is aligned as the bias will be; 0: none. workspace_bytes:
 * what an algorithm may need. E_ABSENT: there is no cublasLt, or it cannot describe the problem. Errors:
 * E_GPU, E_MEMORY. */
enum status lt_kernel_open(struct device *device, const struct problem *problem, int compute,
                           const uint32_t alignment[4], CUdeviceptr bias, size_t workspace_bytes,
                           struct kernel *kernel);

/* The proposals of cublasLt's heuristic, best first; not all are usable (blas_lt_usable). E_ABSENT: nothing.
 * Errors: E_GPU. */
enum status lt_kernel_propose(struct kernel *kernel, struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX],
                              int *count);

/* Gives its launches so many bytes of device memory, once. Errors: E_GPU. */
enum status lt_kernel_reserve(struct kernel *kernel, size_t bytes);

/* Launches use this algorithm from now on. */
void lt_kernel_use(struct kernel *kernel, const struct blas_lt_algorithm *algorithm);

/* The proposals of cublasLt for a problem whose operands lie at multiples of BLAS_LT_KEPT_ALIGNMENT bytes, as
 * configurations, best first; at most BLAS_LT_ANSWERS_MAX. None is no error. Errors: E_GPU, E_MEMORY. */
enum status lt_kernel_candidates(struct device *device, const struct problem *problem,
                                 struct config configs[BLAS_LT_ANSWERS_MAX], int *count);

/* As kernel_load, of a configuration of the template cublaslt. */
enum status lt_kernel_load(struct device *device, const struct config *config, const struct problem *problem,
                           struct kernel *kernel);

#endif
