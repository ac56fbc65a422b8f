#include "number.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C locale costs nothing: the C library keeps it ready and never frees it. If it cannot be had, the
 * thread's own locale is used. */
static locale_t plain(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c ? c : LC_GLOBAL_LOCALE;
}

static locale_t enter(void)
{
    return uselocale(plain());
}

static void leave(locale_t before)
{
    const locale_t ours = uselocale(before);
    if (ours != LC_GLOBAL_LOCALE) freelocale(ours);
}

float number_float(const char *text, char **end)
{
    const locale_t before = enter();
    const float value = strtof(text, end);
    leave(before);
    return value;
}

double number_double(const char *text, char **end)
{
    const locale_t before = enter();
    const double value = strtod(text, end);
    leave(before);
    return value;
}

int number_format(char *text, size_t room, int digits, double value)
{
    const locale_t before = enter();
    const int length = snprintf(text, room, "%.*g", digits, value);
    leave(before);
    return length;
}

bool number_size(const char *text, int64_t *bytes)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (end == text || *text < '0' || *text > '9' || errno || (*end && !unit) || (unit && end[1]) ||
        number > INT64_MAX >> shift)
        return false;
    *bytes = (int64_t)number << shift;
    return true;
}

/* Fewer digits as "%.*g" writes them may change the notation (1e+05), so their value is written in turn. */
int number_format_float(char *text, size_t room, float value)
{
    enum { DIGITS = 9, ROOM = 32 }; /* DIGITS tell every float from all others */
    char best[ROOM], fewer[ROOM];
    const locale_t before = enter();
    snprintf(best, sizeof best, "%.*g", DIGITS, (double)value);
    for (int digits = 1; digits < DIGITS; digits++) {
        snprintf(fewer, sizeof fewer, "%.*g", digits, (double)value);
        snprintf(fewer, sizeof fewer, "%.*g", DIGITS, strtod(fewer, NULL));
        if (strtof(fewer, NULL) == value && strlen(fewer) < strlen(best)) memcpy(best, fewer, sizeof best);
    }
    leave(before);
    return snprintf(text, room, "%s", best);
}
