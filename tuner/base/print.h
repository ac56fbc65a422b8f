/* print.h — the only way in which text is printed.
 *
 * Printed text may quote a file, a database, a driver or a command line, so everything that could control a
 * terminal is escaped: control characters (C0, DEL, C1) as \n, \t, \x1b; bytes that are not UTF-8 as \xff;
 * marks that change the writing direction, and line separators, as \u202e. tests/printing.sh checks that
 * nothing is printed past this module.
 */
#ifndef GT_PRINT_H
#define GT_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The ending of a noun behind a number: "%d trial%s". */
#define PRINT_S(count) ((count) == 1 ? "" : "s")

/* One line (printf-like, no newline at its end), written in one piece. */
void print_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A piece of a line; print_line ends the line. */
void print_part(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends a line of pieces, or prints an empty line. */
void print_end(FILE *stream);

/* `length` bytes whose newlines and tabs are printed as they are: a manual, or the output of a child
 * process. */
void print_text(FILE *stream, const char *text, size_t length);

/* True if a line can be replaced by another one: stream is a terminal, and not a dumb one (TERM). */
bool print_can_replace(FILE *stream);

/* Prints `line`, cut to the current width of the terminal, in place of the line printed this way before. NULL
 * wipes that line. */
void print_replace(FILE *stream, const char *line);

/* Prints the rest of a line, broken at blanks, or within a word that is too long, so that no line is wider
 * than `columns` (0: never broken). The cursor is in column `start`, where the following lines begin, too. */
void print_wrapped(FILE *stream, int start, int columns, const char *text);

/* A copy in the form in which it is shown; newlines are escaped, too. malloc'ed; NULL only out of memory. */
char *print_escaped(const char *text);

/* Nothing more is printed to standard error until this is called with false. */
void print_quiet(bool quiet);
bool print_is_quiet(void);

/* Number of columns that text takes on a terminal; wide characters (East Asian, emoji) take two. */
int print_width(const char *text);

/* Number of bytes at the start of text that take at most `width` columns. */
size_t print_fitting(const char *text, int width);

/* Current number of columns of the terminal; 0 if stream is none. */
int print_columns(FILE *stream);

#endif
