/* parallel.h — does independent pieces of a calculation on all cores that this process may use
 * (cores.h). */
#ifndef GT_PARALLEL_H
#define GT_PARALLEL_H

#include <stddef.h>

/* Calls piece(self, i) once for each i below count, in any order and by several threads, of which the calling
 * one is one. All are done when it returns. Where no thread can be started it does all itself. */
void parallel_for(size_t count, void (*piece)(void *self, size_t i), void *self);

#endif
