/* number.h — decimal fractions in our text forms: always with a point, whatever the locale of the surrounding
 * program. These texts are database keys and lines of files that other programs read.
 */
#ifndef GT_NUMBER_H
#define GT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* strtof and strtod as in the C locale. */
float number_float(const char *text, char **end);
double number_double(const char *text, char **end);

/* snprintf of "%.*g" as in the C locale. */
int number_format(char *text, size_t room, int digits, double value);

/* The shortest decimal that strtof reads as this float, in the notation of "%.9g": 0.1, not 0.100000001. */
int number_format_float(char *text, size_t room, float value);

/* "64M", "1G", "512K", "0", "67108864": a number of bytes, with K, M or G of 1024 each. False: it is none,
 * and *bytes is unchanged. */
bool number_size(const char *text, int64_t *bytes);

#endif
