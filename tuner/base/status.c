#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char sentence[1024];

/* Keeps the start and the end of a sentence that is too long, for example because of a path of thousands of
 * characters: the end says what is wrong. */
static void keep(const char *whole, size_t length)
{
    static const char gap[] = " [...] ";
    const size_t half = (sizeof sentence - sizeof gap) / 2;
    if (length < sizeof sentence) memcpy(sentence, whole, length + 1);
    else snprintf(sentence, sizeof sentence, "%.*s%s%s", (int)half, whole, gap, whole + length - half);
}

enum status fail(enum status st, const char *format, ...)
{
    /* The new sentence may quote the old one, so it is built in another buffer. */
    char fresh[sizeof sentence], *whole = NULL;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(fresh, sizeof fresh, format, args);
    if (length >= (int)sizeof fresh && (whole = malloc((size_t)length + 1)))
        vsnprintf(whole, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    keep(whole ? whole : fresh, whole ? (size_t)length : strlen(fresh));
    free(whole);
    return st;
}

const char *status_text(void)
{
    return sentence;
}

int status_exit_code(enum status st)
{
    return st == E_INTERRUPTED ? 130 : st == E_HELPED ? 0 : (int)st;
}
