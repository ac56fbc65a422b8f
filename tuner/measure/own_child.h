/* own_child.h — the option by which a child process is told of own kernels: a file with a text in each line.
 */
#ifndef GT_OWN_CHILD_H
#define GT_OWN_CHILD_H

#include "command_line.h"

enum status own_child_add(void *self, const struct command_option *option, char *path);

#define OPTION_ROW_KERNELS                                                                                   \
    {                                                                                                        \
        "kernels", 0, "FILE", "texts of own kernels", OPTION_CALL(own_child_add)                             \
    }

#endif
