#include "text_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct text_file text_file_start(FILE *file, const char *what, const char *path)
{
    return (struct text_file){.file = file, .what = what, .path = path};
}

static enum status too_large(const struct text_file *t)
{
    return fail(
        E_INPUT,
        "the %s %s is larger than %zu MiB or has more than %d lines: is it the right file? If so, divide it",
        t->what, t->path, TEXT_BYTES_MAX >> 20, TEXT_LINES_MAX);
}

/* A line ends with LF, CR LF or, as on old systems and in some exports, CR alone. */
static bool is_end(FILE *file, int c)
{
    if (c != '\r') return c == '\n';
    const int next = getc_unlocked(file);
    if (next != EOF) ungetc(next, file);
    return next != '\n';
}

static enum status read_line(struct text_file *t, size_t *length)
{
    errno = 0;
    for (int c = 0; !is_end(t->file, c) && (c = getc_unlocked(t->file)) != EOF;) {
        if (!*length && t->number++ == TEXT_LINES_MAX) return too_large(t);
        if (c == '\0')
            return fail(E_INPUT, "%s:%d: holds a NUL byte, and a %s is text: name another file", t->path,
                        t->number, t->what);
        if (*length == TEXT_LINE_MAX)
            return fail(E_INPUT, "%s:%d: longer than %d bytes: is it the right file?", t->path, t->number,
                        TEXT_LINE_MAX);
        t->line[(*length)++] = (char)c;
    }
    if (ferror(t->file)) return fail(E_IO, "cannot read the %s %s: %s", t->what, t->path, strerror(errno));
    t->line[*length] = '\0';
    return (t->bytes += *length) > TEXT_BYTES_MAX ? too_large(t) : OK;
}

char *text_file_line(struct text_file *t)
{
    size_t length = 0;
    if (!t->st && !t->line && !(t->line = malloc(TEXT_LINE_MAX + 1)))
        t->st = fail(E_MEMORY, "out of memory while reading the %s %s", t->what, t->path);
    if (!t->st) t->st = read_line(t, &length);
    return !t->st && length ? t->line : NULL;
}

enum status text_file_end(struct text_file *t)
{
    free(t->line);
    t->line = NULL;
    return t->st;
}
