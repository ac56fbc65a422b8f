/* kernel.h — anything that computes the problem's C on the GPU: a loaded candidate or a rival. One interface,
 * so that judge and timer treat both alike.
 */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include "config.h"
#include "device.h"
#include "problem.h"
#include "template.h"

struct operands {
    CUdeviceptr a, b, c;
};

struct kernel {
    void *self;
    /* Enqueue one call on the device's stream. Nothing is allocated and nothing waits, so that a stream
     * capture may record it. E_ABSENT: the driver refuses the launch (a verdict, as in kernel_load). Errors:
     * E_GPU. */
    enum status (*launch)(void *self, const struct operands *operands, double alpha, double beta);
    void (*close)(void *self);
};

/* The steps of kernel_load, for who launches on streams of its own; both in the context that is current, with
 * kernel_load's errors. kernel_bind finds the entry points that a plan launches and allows them the threads
 * and the shared memory they are launched with. The module is the caller's: cuda.ModuleUnload. */
enum status kernel_open(const char *cubin_path, const char *checksum, CUmodule *module);
enum status kernel_bind(CUmodule module, const struct gpu *gpu, const struct launch_plan *plan,
                        CUfunction function[LAUNCH_KERNELS_MAX]);

/* True for results after which the context is whole: the launch is refused, nothing is broken. */
bool kernel_refused(CUresult result);

/* Load a configuration's cubin and prepare it for one problem: plan, workspace, function attributes. The
 * configuration must have passed its template's check. close it before the device. Errors: E_GPU; E_IO,
 * E_INPUT (the cubin is gone or damaged: compile again); a driver that refuses the kernel (out of resources
 * or memory, invalid value) gives E_ABSENT with the reason: a verdict, not a failure. */
enum status kernel_load(struct device *device, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel);

/* Release what kernel_load or the opening of a rival made, once its work on the device is done; takes a
 * zeroed kernel too. */
void kernel_close(struct kernel *kernel);

#endif
