/* number.h — decimal fractions in our texts: with a point, whatever the locale of the program that we are
 * part of. Texts are keys of the database and lines of files, which other programs read.
 */
#ifndef GT_NUMBER_H
#define GT_NUMBER_H

#include <stddef.h>

/* strtof and strtod as in the C locale. */
float number_float(const char *text, char **end);
double number_double(const char *text, char **end);

/* snprintf of "%.*g" as in the C locale. */
int number_format(char *text, size_t room, int digits, double value);

#endif
