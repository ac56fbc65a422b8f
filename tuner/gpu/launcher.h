/* launcher.h — enqueues the launches of a plan (launch_walk.h), with clusters, dependent launches and tensor
 * maps where the plan has them. Tuner and runtime both launch through it, and exported headers contain
 * launcher.c (tools/export/launch_text.sh): C99 that is C++, too.
 */
#ifndef GT_LAUNCHER_H
#define GT_LAUNCHER_H

#include "device.h"
#include "launch_walk.h"

/* Can this driver launch the plan on a GPU of this architecture? E_ABSENT: no, with the missing feature. Call
 * it when a kernel is loaded; launcher_enqueue does not check again. */
enum status launcher_check(const struct launch_plan *plan, int arch);

/* Encodes the plan's views into the argument of a launch. CUDA_ERROR_INVALID_VALUE: the hardware does not
 * support a view: an address or a stride is not a multiple of 16 bytes, or a box is too large. */
CUresult launcher_encode(const struct launch_plan *plan, struct launch *launch);

/* Encodes the maps of a plan's first launch into the plan's argument, for any addresses, so that its launches
 * only replace these. Call it once when the plan is complete, where it may change: launches do not change it.
 * Does nothing where that is no use: no views, views that the driver refuses (a launch says so), or a driver
 * that cannot replace addresses, or makes other maps by it than by encoding. */
void launcher_encode_ahead(struct launch_plan *plan);

/* The maps of a launch: those that were encoded ahead, with its addresses, or newly encoded where its k or
 * its items are others. Results as launcher_encode. Exported headers encode instead: their plans are
 * constant. */
CUresult launcher_put_maps(const struct launch_plan *plan, struct launch *launch);

/* One launch without attributes, whose argument is complete. Allocates nothing and does not wait. */
static inline CUresult launcher_enqueue_plain(CUfunction function, const struct kernel_launch *kernel,
                                              const unsigned grid[3], void *argument, CUstream stream)
{
    void *parameters[] = {argument};
    return cuda.LaunchKernel(function, grid[0], grid[1], grid[2], kernel->threads, 1, 1, kernel->smem_bytes,
                             stream, parameters, NULL);
}

/* One launch of a kernel with parameters of its own. Not in exported headers, which have no such kernels:
 * launch_text.sh leaves out the lines that are about them. */
CUresult launcher_enqueue_own(CUfunction function, const struct kernel_launch *kernel, struct launch *launch,
                              CUstream stream);

/* All launches of a call. functions: those of the plan's kernels. *touched: whether a launch that writes C
 * was enqueued before the one that was refused. */
CUresult launcher_enqueue(const struct launch_plan *plan, const CUfunction *functions,
                          const struct launch_call *call, CUstream stream, bool *touched);

#endif
