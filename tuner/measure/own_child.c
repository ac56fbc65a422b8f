#include "own_child.h"

#include "own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The supervisor has understood all of them. */
enum status own_child_add(void *self, const struct command_option *option, char *path)
{
    char *line = NULL;
    size_t room = 0;
    enum status st = OK;
    (void)self, (void)option;
    FILE *const f = fopen(path, "re");
    if (!f) return fail(E_IO, "cannot read %.300s: %s", path, strerror(errno));
    while (!st && getline(&line, &room, f) > 0) st = own_take(line);
    free(line);
    fclose(f);
    return st;
}
