/* worker.h — the child process that runs trials on one GPU, not for users: the pool starts it with a socket
 * on file descriptor 3.
 */
#ifndef GT_WORKER_H
#define GT_WORKER_H

#include "status.h"

/* tune _worker --device N --cache DIR */
enum status cmd_gpu_worker(int argc, char **argv);

#endif
