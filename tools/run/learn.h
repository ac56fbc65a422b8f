/* learn.h — tune run --learn, --capture: a program under the drop-in with a capture; its problems are tuned
 * after it has ended, if that is wanted. This process waits meanwhile, and passes signals on.
 */
#ifndef GT_LEARN_H
#define GT_LEARN_H

#include "status.h"

struct learn {
    char **words;                 /* the program and its arguments, up to NULL */
    const char *capture;          /* NULL: a temporary file */
    const char *budget;           /* NULL: record, and tune nothing */
    void (*become)(char **words); /* called in the child: turns into the program; returns if that fails */
};

/* *exit_code: the program's; if a signal ended it, the same signal ends this process, and 128 and its number
 * stand for one that cannot. After a signal that asked to end nothing is tuned, and the capture stays. If
 * this process is killed, the program gets SIGTERM. What comes after the program's end has no influence on
 * it: its trouble is one line on standard error. Errors: E_IO, E_CHILD before the program started. */
enum status learn(const struct learn *learn, int *exit_code);

#endif
