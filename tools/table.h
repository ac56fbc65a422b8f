/* table.h — rows for people (aligned table), for scripts (JSON array of objects) and for spreadsheets (CSV,
 * RFC 4180).
 *
 * Text may come from an untrusted database: invalid UTF-8 is replaced when it enters, and control characters
 * never reach a terminal. No colour is used, so there is none to switch off.
 */
#ifndef GT_TABLE_H
#define GT_TABLE_H

#include "status.h"
#include <jansson.h>
#include <stdio.h>

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV };

/* "table", "json", "csv". Errors: E_USAGE. */
enum status table_format_parse(const char *name, enum table_format *format);

struct table;

enum column_kind { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_BOOL };
struct column {
    const char *key;   /* JSON and CSV name: "time_us" */
    const char *title; /* head of the text table: "time (us)"; NULL: not shown in the text table */
    enum column_kind kind;
    int decimals; /* for numbers in the text table; JSON and CSV get all digits */
};

/* columns must outlive the table. NULL: out of memory. */
struct table *table_new(const struct column *columns, int count);

/* Fill the current row cell by cell in column order; a row is complete after the last. NAN is an empty cell
 * (null). */
void table_text(struct table *table, const char *value); /* NULL: empty (null) */
void table_number(struct table *table, double value);
void table_bool(struct table *table, int value);

int table_rows(const struct table *table);

/* Text is cut to the terminal's width when stream is one. An empty table prints its head (text, CSV) or []
 * (JSON). Errors: E_IO when the stream cannot be written, E_MEMORY. */
enum status table_print(const struct table *table, enum table_format format, FILE *stream);

/* Characters a line when stream is a terminal, else 0. */
int table_width(FILE *stream);

/* The text form for a given width in characters; 0 cuts nothing. */
enum status table_print_text(const struct table *table, int width, FILE *stream);

void table_free(struct table *table); /* takes NULL */

/* A copy of text that is valid UTF-8 (what is not becomes U+FFFD); malloc'ed, NULL only out of memory. For
 * texts from a database that go into JSON. */
char *text_valid(const char *text);

/* Write one line for people: control characters become '?'. */
void text_print(const char *text, FILE *stream);

#endif
