/* process_limits.h — the limits of this process, raised as far as the system allows. */
#ifndef GT_PROCESS_LIMITS_H
#define GT_PROCESS_LIMITS_H

#include "status.h"

/* Room on the stack for us and for the compiler, whose threads take their size from it. For main, before
 * anything else. Errors: E_MEMORY (ulimit -s). */
enum status limits_stack(void);

/* Open files for so many child processes. Errors: E_IO (ulimit -n). */
enum status limits_files(int children);

#endif
