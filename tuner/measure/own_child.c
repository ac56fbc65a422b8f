#include "own_child.h"

#include "own.h"
#include "own_read.h"

#include <stdlib.h>

enum status own_child_add(void *self, const struct command_option *option, char *path)
{
    const struct template *added;
    char *text = NULL;
    (void)self, (void)option;
    enum status st = own_kept(path, &text);
    if (!st) st = own_add(text, &added);
    free(text);
    return st;
}
