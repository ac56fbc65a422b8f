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

/* One line (printf-like, no newline at its end), written in one piece. */
void print_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A piece of a line, which a print_line ends. */
void print_part(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The end of a line of pieces, or an empty line. */
void print_end(FILE *stream);

/* `length` bytes whose newlines and tabs are meant: a manual, what a child process printed. */
void print_text(FILE *stream, const char *text, size_t length);

/* True if a line can be put in the place of another: stream is a terminal, and not a dumb one (TERM). */
bool print_can_replace(FILE *stream);

/* Put `line`, cut to the terminal's width as of now, in the place of the one that was put so before; NULL
 * wipes that one. */
void print_replace(FILE *stream, const char *line);

/* Text that ends the line: broken at blanks, or within a word that is longer than the room, so that no line
 * is wider than `columns` (0: never broken). The cursor stands in column `start`, where the other lines
 * begin. */
void print_wrapped(FILE *stream, int start, int columns, const char *text);

/* A copy in the form in which it is shown, newlines escaped, too. malloc'ed; NULL only out of memory. */
char *print_escaped(const char *text);

/* Columns that text takes on a terminal; wide characters (East Asian, emoji) take two. */
int print_width(const char *text);

/* Bytes at the start of text that take at most `width` columns. */
size_t print_fitting(const char *text, int width);

/* Columns of the terminal that stream is, as of now; 0 if it is none. */
int print_columns(FILE *stream);

#endif
