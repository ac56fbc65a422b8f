/* export_text.h — the text forms that generated C needs. */
#ifndef GT_EXPORT_TEXT_H
#define GT_EXPORT_TEXT_H

#include "status.h"
#include <stdio.h>

/* A C string literal of any bytes: what is not plain ASCII is written in octal, so that nothing ends it. */
void text_c_string(const char *text, FILE *stream);

/* Within a comment: on one line, and nothing that ends it or warns. */
void text_c_comment(const char *text, FILE *stream);

/* A float literal; what is not finite is 0. */
void text_c_float(double value, FILE *stream);

/* Now, or SOURCE_DATE_EPOCH (reproducible-builds.org), as 2026-11-20T12:00:00Z. Errors: E_INPUT. */
enum status text_date(char date[32]);

#endif
