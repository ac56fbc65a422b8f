/* cores.h — how many cores this process may use: not more than it is allowed to run on, nor than the CPU
 * quota of its container pays for.
 */
#ifndef GT_CORES_H
#define GT_CORES_H

#include <stddef.h>

/* At least 1. */
int cores_allowed(void);

/* The cores that a CPU quota pays for, rounded up: the least of all groups from this process's to the root,
 * in control groups of version 2 (cpu.max) and 1 (cpu.cfs_quota_us). INT_MAX without a quota. groups:
 * /proc/self/cgroup; mounts: the folder where control groups are mounted. */
int cores_of_quota(const char *groups, const char *mounts);

/* ---- work on all cores ---- */

/* Does independent pieces of a calculation on all cores that this process may use
 * (cores.h). */

/* Calls piece(self, i) once for each i below count, in any order and by several threads, of which the calling
 * one is one. All are done when it returns. Where no thread can be started it does all itself. */
void parallel_for(size_t count, void (*piece)(void *self, size_t i), void *self);

#endif
