/* host_device.h — a GPU made of host memory and a clock that tests wind: judge and clock run on it unchanged.
 *
 * The judge's kernels run on the CPU, block by block, when they are launched. Time passes only through
 * host_spend().
 */
#ifndef GT_HOST_DEVICE_H
#define GT_HOST_DEVICE_H

#include <oracle_kernels.h>

/* Fill the driver's table with functions of ours, and a device and the judge's kernels to go with it. */
void host_device_open(struct device *device, struct oracle_kernels *kernels);

/* A call of a kernel under test takes this long on the device; in a capture it becomes part of the graph. */
void host_spend(double us);

/* Bytes allocated and not freed. */
extern size_t host_bytes_in_use;
/* Graphs launched so far. */
extern int host_graphs_launched;

#endif
