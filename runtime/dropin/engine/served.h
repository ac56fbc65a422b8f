/* served.h — what answered the GEMM time of the program, as a table at its end: its problems and what was
 * passed on, with calls and GPU time.
 */
#ifndef GT_SERVED_H
#define GT_SERVED_H

#include "engine.h"

/* On standard error; nothing if there was no call. Needs a recorder that is on. */
void served_print(void);

/* What tuned kernels have answered so far. */
void served_count(struct answers *answers);

/* One line on standard error: how many of the program's products tuned kernels have answered, and how much
 * faster these were, by the times of their races. Nothing where no product has come. */
void served_tell(void);

#endif
