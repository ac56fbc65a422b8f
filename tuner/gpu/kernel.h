/* kernel.h — anything that computes the problem's C on the GPU: a loaded candidate or the rival. One interface, so that
 * the judge and the clock treat both alike.
 */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include "config.h"
#include "device.h"
#include "problem.h"
#include "templates.h"

struct operands {
    CUdeviceptr a, b, c;
};

struct kernel {
    void *self;
    /* Enqueue one call on the device's stream. Nothing is allocated. */
    enum status (*launch)(void *self, const struct operands *operands, double alpha, double beta);
    void (*close)(void *self);
};

/* Load a configuration's cubin and prepare it for one problem: plan, workspace, function attributes.
 * Errors: E_GPU; a driver that refuses the kernel (out of resources, invalid value) gives E_ABSENT with the reason: a
 * verdict, not a failure. */
enum status kernel_load(struct device *device, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel);

/* cuBLAS, opened at run time (GEMMTUNE_LIBCUBLAS, toolkit, usual names), strict FP32 (CUBLAS_PEDANTIC_MATH is not
 * asked for; TF32 is off). E_ABSENT when there is no cuBLAS. version: "13.1.0". */
enum status rival_open(struct device *device, const struct problem *problem, struct kernel *kernel, char version[16]);

#endif
