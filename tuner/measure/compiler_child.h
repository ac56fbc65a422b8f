/* compiler_child.h — the child process that compiles kernels, not for users: the pool starts it with a socket
 * on file descriptor 3.
 */
#ifndef GT_COMPILER_CHILD_H
#define GT_COMPILER_CHILD_H

#include "status.h"

/* tune _compiler --cache DIR */
enum status cmd_compiler_child(int argc, char **argv);

#endif
