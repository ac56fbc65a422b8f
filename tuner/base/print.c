#include "print.h"

#include "utf8.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ESCAPED_MAX 8 /* most bytes of a character, escaped or not, with terminator */

/* ---- characters ---- */

struct range {
    uint32_t first, last;
};

static bool within(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

/* Unicode 15: Bidi_Control, and the separators of lines and paragraphs. */
static bool misleads(uint32_t code)
{
    static const struct range marks[] = {
        {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    return within(code, marks, sizeof marks / sizeof *marks);
}

/* Unicode 15, East_Asian_Width W and F, in coarse ranges. A narrow character taken for a wide one leaves a
 * gap, a wide one taken for narrow breaks a line. */
static bool is_wide(uint32_t code)
{
    static const struct range wide[] = {
        {0x1100, 0x115f}, {0x231a, 0x231b},   {0x23e9, 0x23f3},   {0x25fd, 0x25fe},
        {0x2614, 0x27bf}, {0x2b1b, 0x2b55},   {0x2e80, 0xa4cf},   {0xa960, 0xa97c},
        {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe10, 0xfe6f},   {0xff01, 0xff60},
        {0xffe0, 0xffe6}, {0x16fe0, 0x1b2ff}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd}};
    return within(code, wide, sizeof wide / sizeof *wide);
}

static uint32_t decode(const char *at, size_t length)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (length < 2) return *byte;
    uint32_t code = *byte & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) code = code << 6 | (byte[i] & 0x3f);
    return code;
}

/* Writes the character at `at` as it is shown; returns its number of bytes in the text. */
static size_t escape(const char *at, char shown[ESCAPED_MAX])
{
    const size_t length = utf8_length(at);
    const uint32_t code = decode(at, length);
    if (*at == '\n' || *at == '\t') snprintf(shown, ESCAPED_MAX, "\\%c", *at == '\n' ? 'n' : 't');
    else if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
        snprintf(shown, ESCAPED_MAX, "\\x%02x", (unsigned)(code & 0xff));
    else if (misleads(code)) snprintf(shown, ESCAPED_MAX, "\\u%04x", (unsigned)(code & 0xffff));
    else snprintf(shown, ESCAPED_MAX, "%.*s", (int)length, at);
    return length ? length : 1;
}

char *print_escaped(const char *text)
{
    const size_t room = 4 * strlen(text) + 1; /* a byte becomes at most four */
    char *escaped = malloc(room), *end = escaped;
    if (!escaped) return NULL;
    while (*text) {
        text += escape(text, end);
        end += strlen(end);
    }
    *end = '\0';
    return escaped;
}

int print_width(const char *text)
{
    int width = 0;
    while (*text) {
        const size_t length = utf8_length(text);
        width += 1 + is_wide(decode(text, length));
        text += length ? length : 1;
    }
    return width;
}

size_t print_fitting(const char *text, int width)
{
    const char *at = text;
    while (*at) {
        const size_t length = utf8_length(at);
        width -= 1 + is_wide(decode(at, length));
        if (width < 0) break;
        at += length ? length : 1;
    }
    return (size_t)(at - text);
}

int print_columns(FILE *stream)
{
    struct winsize size;
    const int fd = fileno(stream);
    if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

/* ---- writing ---- */

static bool is_quiet;

void print_quiet(bool quiet)
{
    is_quiet = quiet;
}

bool print_is_quiet(void)
{
    return is_quiet;
}

static bool dropped(FILE *stream)
{
    return is_quiet && stream == stderr;
}

/* In one write if memory allows: other processes may write to the same stream. */
static void put(FILE *stream, const char *before, const char *text, const char *after)
{
    if (dropped(stream)) return;
    char *escaped = print_escaped(text), *whole = NULL;
    const size_t room = escaped ? strlen(before) + strlen(escaped) + strlen(after) + 1 : 0;
    if (room && (whole = malloc(room))) {
        snprintf(whole, room, "%s%s%s", before, escaped, after);
        fputs(whole, stream);
    } else {
        fputs(before, stream);
        for (char shown[ESCAPED_MAX]; *text;) {
            text += escape(text, shown);
            fputs(shown, stream);
        }
        fputs(after, stream);
    }
    free(whole);
    free(escaped);
}

static void put_formatted(FILE *stream, const char *after, const char *format, va_list args)
{
    char some[2048], *all = NULL; /* some: the start of the text, where memory is short */
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(some, sizeof some, format, args);
    if (length >= (int)sizeof some && (all = malloc((size_t)length + 1)))
        vsnprintf(all, (size_t)length + 1, format, again);
    va_end(again);
    if (length >= 0) put(stream, "", all ? all : some, after);
    free(all);
}

void print_line(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_formatted(stream, "\n", format, args);
    va_end(args);
}

void print_part(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_formatted(stream, "", format, args);
    va_end(args);
}

void print_end(FILE *stream)
{
    if (!dropped(stream)) fputc('\n', stream);
}

void print_text(FILE *stream, const char *text, size_t length)
{
    char piece[5] = ""; /* a character cut off by the end of the text must not be read beyond it */
    char shown[ESCAPED_MAX];
    for (size_t at = 0; at < length && !dropped(stream);) {
        const size_t left = length - at;
        memset(piece, 0, sizeof piece);
        memcpy(piece, text + at, left < 4 ? left : 4);
        if (*piece == '\n' || *piece == '\t') {
            fputc(*piece, stream);
            at++;
        } else if (*piece == '\0') {
            fputs("\\x00", stream);
            at++;
        } else {
            at += escape(piece, shown);
            fputs(shown, stream);
        }
    }
}

/* Number of bytes of the text's next line: up to a blank if there is one, and at least one character. */
static size_t line_length(const char *text, int room)
{
    size_t length = print_fitting(text, room);
    if (!text[length]) return length;
    for (size_t blank = length; blank > 0; blank--)
        if (text[blank] == ' ') return blank;
    const size_t first = utf8_length(text);
    return length ? length : first ? first : 1;
}

void print_wrapped(FILE *stream, int start, int columns, const char *text)
{
    if (dropped(stream)) return;
    char *escaped = print_escaped(text), *at = escaped;
    for (bool first = true; columns > 0 && at && *at; first = false) {
        const size_t length = line_length(at, columns - start);
        if (!first) fprintf(stream, "\n%*s", start, "");
        fwrite(at, 1, length, stream);
        at += length;
        at += strspn(at, " ");
    }
    if (at && *at) fputs(at, stream);
    print_end(stream);
    free(escaped);
}

bool print_can_replace(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

/* A terminal's last column stays free: some terminals go to the next line as soon as it is filled. */
void print_replace(FILE *stream, const char *line)
{
    const int columns = print_columns(stream);
    char *escaped = print_escaped(line ? line : "");
    if (escaped) escaped[print_fitting(escaped, (columns > 0 ? columns : 80) - 1)] = '\0';
    put(stream, "\r\033[K", escaped ? escaped : "", "");
    fflush(stream);
    free(escaped);
}
