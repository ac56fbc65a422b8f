/* kernel_parameters.h — what a kernel of a plan takes in place of the argument: an own kernel's parameters
 * are as its user wrote them. Exported headers have no such kernels, and leave this out
 * (tools/export/launch_text.sh).
 */
#ifndef GT_KERNEL_PARAMETERS_H
#define GT_KERNEL_PARAMETERS_H

#include <stdint.h>

#define KERNEL_PARAMETERS_MAX 24

struct kernel_parameters {
    uint16_t count;                     /* 0: one, the argument */
    uint16_t at[KERNEL_PARAMETERS_MAX]; /* where each lies in the argument */
    uint16_t block[2];                  /* threads along y and z; 0: 1 */
};

#endif
