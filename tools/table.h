/* table.h — rows for people (aligned table), for scripts (JSON array of objects) and for spreadsheets (CSV, RFC 4180). */
#ifndef GT_TABLE_H
#define GT_TABLE_H

#include "status.h"
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
    int decimals;      /* for numbers in the text table; JSON and CSV get all digits */
};

struct table *table_new(const struct column *columns, int count); /* NULL: out of memory */

/* Fill the current row cell by cell in column order; a row is complete after the last. NAN is an empty cell (null). */
void table_text(struct table *table, const char *value); /* NULL: empty (null) */
void table_number(struct table *table, double value);
void table_bool(struct table *table, int value);

int table_rows(const struct table *table);

/* Errors: E_IO when the stream cannot be written. */
enum status table_print(const struct table *table, enum table_format format, FILE *stream);
void table_free(struct table *table);

#endif
