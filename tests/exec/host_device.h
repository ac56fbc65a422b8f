/* host_device.h — a GPU simulated with host memory and a clock controlled by tests: judge and timer run on it
 * unchanged.
 *
 * The judge's kernels run on the CPU, block by block, when they are launched. Time passes only through
 * host_spend().
 */
#ifndef GT_HOST_DEVICE_H
#define GT_HOST_DEVICE_H

#include <oracle_kernels.h>

/* Fills the driver's table with simulated functions, and makes a matching device and the judge's kernels. */
void host_device_open(struct device *device, struct oracle_kernels *kernels);

/* The judge's kernels for the elements of a type, from `library`: oracle_cpu.cpp, compiled for them. */
void host_device_judge(void *library, enum gemm_type type, struct oracle_kernels *kernels);

/* Called by a kernel under test: its call takes this long on the device; in a capture it becomes part of the
 * graph. */
void host_spend(double us);

/* What writing A again takes on its clock (oracle_rewrite). */
#define HOST_REWRITE_US 3.0

/* Bytes allocated and not freed. */
extern size_t host_bytes_in_use;
/* Graphs launched so far. */
extern int host_graphs_launched;

#endif
