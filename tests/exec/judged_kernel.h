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

struct judged_case {
    const char *config, *problem;
};

/* The kernel is measured as exact, and verified in more than 10 shapes. */
void judged_assert_right(const struct judged_case *cases, size_t count);

/* A change to the source of a kernel, and part of what is said of it. */
struct judged_fault {
    const struct edit *edit;
    const char *problem, *said;
};

/* The trial refuses each, and says so. */
void judged_assert_faults(const char *config, const struct judged_fault *faults, size_t count);

/* The trial passes each, and the final verification refuses it. */
void judged_assert_late_faults(const char *config, const struct judged_fault *faults, size_t count);

#endif
