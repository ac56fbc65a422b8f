#include "export_header.h"

#include "env.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void text_c_string(const char *text, FILE *stream)
{
    putc('"', stream);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c > '~' || strchr("\"\\?", c)) fprintf(stream, "\\%03o", c);
        else putc(c, stream);
    }
    putc('"', stream);
}

void text_c_comment(const char *text, FILE *stream)
{
    for (; *text; text++) {
        const bool opens = text[0] == '/' && text[1] == '*', closes = text[0] == '*' && text[1] == '/';
        putc(*text < ' ' || *text > '~' || strchr("\\?", *text) ? '_' : *text, stream);
        if (opens || closes) putc(' ', stream);
    }
}

void text_c_float(double value, FILE *stream)
{
    if (!isfinite(value)) value = 0;
    if (value > (double)FLT_MAX) value = (double)FLT_MAX;
    fprintf(stream, "%.8ef", value);
}

enum status text_date(char date[32])
{
    time_t now = time(NULL);
    const char *fixed = env_text("SOURCE_DATE_EPOCH");
    if (fixed) {
        char *end;
        errno = 0;
        long long seconds = strtoll(fixed, &end, 10);
        if (errno || *end || seconds < 0 || seconds > INT64_C(253402300799))
            return fail(E_INPUT, "SOURCE_DATE_EPOCH is '%.40s', not a number of seconds since 1970", fixed);
        now = (time_t)seconds;
    }
    struct tm parts;
    if (!gmtime_r(&now, &parts) || !strftime(date, 32, "%Y-%m-%dT%H:%M:%SZ", &parts))
        return fail(E_INPUT, "the date cannot be written");
    return OK;
}
