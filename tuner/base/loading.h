/* loading.h — libraries that one thread opens while another one forks. A child inherits the dynamic loader's
 * lists as they are: if a library was being added to them, the child's next dlopen crashes. So every search
 * or opening of a library is between loading_begin and loading_end, and a fork waits until it has ended.
 */
#ifndef GT_LOADING_H
#define GT_LOADING_H

#include <stdbool.h>

/* False: nothing may be opened or searched, because this process was forked in the middle of it. Threads do
 * not wait for each other, so a constructor that holds the loader's lock may call it. */
bool loading_begin(void);
void loading_end(void); /* only after a loading_begin that returned true */

/* The two functions, for a library that is opened by one of ours and has another copy of this module: its own
 * would not notice a fork that began before it was opened. */
struct loading {
    bool (*begin)(void);
    void (*end)(void);
};
extern const struct loading loading_own;
void loading_use(const struct loading *others);

#endif
