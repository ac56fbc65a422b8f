/* judged_kernel.h — trial and final verification of a kernel template, both executed on the CPU: a fixture of
 * tests. Loading a kernel is replaced; cuBLAS is absent.
 */
#ifndef GT_JUDGED_KERNEL_H
#define GT_JUDGED_KERNEL_H

#include "cpu_kernel.h"
#include "verify.h"

/* Setup and teardown of a group of tests. */
int judged_open(void **state);
int judged_close(void **state);

/* Prepares the kernel with `count` changes to its source, for a problem. */
void judged_prepare(const char *config, const char *problem, const struct edit *edits, int count);

/* Runs the present kernel on another problem of the same type, op and epilogue, with pointers or not like it.
 */
struct outcome judged_trial(const char *problem);

/* Its final verification, for the problem of the last trial. */
struct verification judged_verify(void);

void judged_assert_measured(const struct outcome *outcome);

#endif
