/* process_limits.h — the limits of this process, raised as far as the system allows. */
#ifndef GT_PROCESS_LIMITS_H
#define GT_PROCESS_LIMITS_H

#include "status.h"

/* Room on the stack for us and for the compiler, whose threads' stacks get the same size. main calls this
 * before anything else. Errors: E_MEMORY (ulimit -s). */
enum status limits_stack(void);

/* Raises the limit of open files to what `children` child processes need. Errors: E_IO (ulimit -n). */
enum status limits_files(int children);

#endif
