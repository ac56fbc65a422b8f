/* process_limits.h — the limits of this process, raised as far as the system allows. */
#ifndef GT_PROCESS_LIMITS_H
#define GT_PROCESS_LIMITS_H

#include "status.h"

/* Room on the stack for us and for the compiler, whose threads' stacks get the same size. main calls this
 * before anything else. Errors: E_MEMORY (ulimit -s). */
enum status limits_stack(void);

/* Raises the limit of open files to what `children` child processes need. Errors: E_IO (ulimit -n). */
enum status limits_files(int children);

/* ---- standard files ---- */

/* The descriptors 0, 1 and 2 belong to standard input, output and error, whatever the
 * process was started with.
 *
 * Where one of them is closed, the next file that is opened has its number: a database, and what is printed
 * would be written into it.
 */

/* Opens those that are closed such that reading from or writing to them fails, as it did before. main calls
 * this before any file is opened. Errors: E_IO. */
enum status standard_files_keep(void);

#endif
