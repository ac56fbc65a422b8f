#include "status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[1024];

enum status fail(enum status st, const char *format, ...)
{
    /* The new sentence may quote the old one, so it is built beside it. */
    char fresh[sizeof sentence];
    va_list args;
    va_start(args, format);
    vsnprintf(fresh, sizeof fresh, format, args);
    va_end(args);
    snprintf(sentence, sizeof sentence, "%s", fresh);
    return st;
}

const char *status_text(void)
{
    return sentence;
}

int status_exit_code(enum status st)
{
    return st == E_INTERRUPTED ? 130 : (int)st;
}
