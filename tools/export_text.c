#include "export_text.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum status outfile_open(const char *path, struct outfile *out)
{
    *out = (struct outfile){.stream = stdout};
    if (!path || strcmp(path, "-") == 0) return OK;
    out->stream = NULL;
    if (snprintf(out->path, sizeof out->path, "%s", path) >= (int)sizeof out->path ||
        snprintf(out->temporary, sizeof out->temporary, "%s.XXXXXX", path) >= (int)sizeof out->temporary)
        return fail(E_IO, "the path %.80s... is too long", path);
    int fd = mkstemp(out->temporary);
    if (fd < 0) {
        out->temporary[0] = '\0';
        return fail(E_IO, "cannot write beside %s: %s", path, strerror(errno));
    }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask) != 0 || !(out->stream = fdopen(fd, "w"))) {
        int error = errno;
        close(fd);
        outfile_close(out, E_IO);
        return fail(E_IO, "cannot write %s: %s", path, strerror(error));
    }
    return OK;
}

enum status outfile_close(struct outfile *out, enum status st)
{
    if (out->stream == stdout) return st; /* main flushes it and tells of errors */
    if (out->stream) {
        bool written = fflush(out->stream) == 0 && !ferror(out->stream) && fsync(fileno(out->stream)) == 0;
        int error = errno;
        if (fclose(out->stream) != 0 && written) written = false, error = errno;
        out->stream = NULL;
        if (!st && !written) st = fail(E_IO, "cannot write %s: %s", out->path, strerror(error));
    }
    if (!st && out->temporary[0] && rename(out->temporary, out->path) != 0)
        st = fail(E_IO, "cannot write %s: %s", out->path, strerror(errno));
    if (st && out->temporary[0]) unlink(out->temporary);
    out->temporary[0] = '\0';
    return st;
}

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
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    if (fixed && fixed[0]) {
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
