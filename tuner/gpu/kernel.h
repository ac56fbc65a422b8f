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
    CUdeviceptr at[OPERANDS]; /* 0: none; of the source: C */
    CUdeviceptr prepared; /* what kernel.prepare made of the problem's prepared operand; 0: the call makes it
                             first, in memory of the kernel's own */
};

struct kernel {
    void *self;
    /* Enqueues one call on the device's stream. It allocates nothing and does not wait, so that a stream
     * capture may record it. E_ABSENT: the driver refuses the launch (a verdict, as in kernel_load). Errors:
     * E_GPU. */
    enum status (*launch)(void *self, const struct operands *operands, double alpha, double beta);
    void (*close)(void *self);
    /* NULL where the problem has no prepared operand, or the kernel reads that itself. Enqueues the making of
     * prepared_bytes at this address, a multiple of 256, from these operands. Errors: as launch. */
    enum status (*prepare)(void *self, const struct operands *operands, CUdeviceptr at);
    size_t prepared_bytes;
};

/* The steps of kernel_load, for callers that launch on their own streams. Both work in the current context
 * and have kernel_load's errors. kernel_bind looks up the entry points that a plan launches, and sets their
 * limits of threads and shared memory. The module belongs to the caller: cuda.ModuleUnload. */
enum status kernel_open(const char *cubin_path, const char *checksum, CUmodule *module);
enum status kernel_bind(CUmodule module, const struct gpu *gpu, const struct launch_plan *plan,
                        CUfunction function[LAUNCH_KERNELS_MAX]);

/* True for results that only refuse a launch: the context stays usable. */
bool kernel_refused(CUresult result);

/* Loads a configuration's cubin and prepares it for one problem: plan, workspace, function attributes, and
 * how the problem's prepared operand is made where the configuration takes one. The configuration must have
 * passed its template's check. Close the kernel before the device. Errors: E_GPU; E_IO, E_INPUT (the cubin is
 * missing or damaged: compile again). A driver that refuses the kernel (out of resources or memory, invalid
 * value) gives E_ABSENT with the reason: a verdict, not an error. */
enum status kernel_load(struct device *device, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel);

/* Waits until the device has finished its work, and releases what kernel_load or the opening of a rival
 * allocated; takes a zeroed kernel, too. */
void kernel_close(struct kernel *kernel);

#endif
