#include "line.h"

#include <errno.h>
#include <string.h>

enum status line_read(FILE *file, char *line, size_t room)
{
    size_t length = 0;
    int c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (c == '\0') return fail(E_INPUT, "it holds a NUL byte");
        if (length + 1 == room) return fail(E_INPUT, "it is longer than %zu characters", room - 1);
        line[length++] = (char)c;
    }
    line[length] = '\0';
    if (c == EOF && ferror(file)) return fail(E_IO, "%s", strerror(errno));
    return c == EOF && length == 0 ? E_ABSENT : OK;
}
