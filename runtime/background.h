/* background.h — a thread that does pieces of work which compile, one after the other, while the program goes
 * on. It takes no signals. The end of the process abandons a piece that is under way, and those that wait.
 */
#ifndef GT_BACKGROUND_H
#define GT_BACKGROUND_H

#include <stdbool.h>

/* work(item) will be called in the thread; or drop(item) in the one that ends the process, if that comes
 * before. The first call opens the compiler, here (compile_until_exit, for kernels of this architecture), and
 * starts the thread. False: there is no compiler, no thread, or no memory. */
bool background_add(int arch, void (*work)(void *item), void (*drop)(void *item), void *item);

#endif
