/* table.h — rows for people (aligned table), for scripts (JSON array of objects) and for spreadsheets (CSV,
 * RFC 4180).
 *
 * The table for people fits the terminal. Key columns identify a row; they are never cut or left out. Values
 * that all rows share are printed once above the table, and empty columns are left out. If the terminal is
 * narrow, the least important columns are left out; JSON, CSV and table_print_all still have them.
 *
 * Text may come from an untrusted database: invalid UTF-8 is replaced when it enters, and control characters
 * are escaped (print.h). No colour is used.
 */
#ifndef GT_TABLE_H
#define GT_TABLE_H

#include "command_line.h"
#include "status.h"
#include <jansson.h>
#include <stdio.h>

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV, TABLE_ALL };

/* Rows of a command's options, for a member that is an enum table_format. */
#define OPTION_ROWS_FORMAT(type, path)                                                                       \
    {"format", 0, "table|json|csv", "form of the table on standard output (table)",                          \
     OPTION_CHOICE(type, path)},                                                                             \
    {                                                                                                        \
        "json", 0, NULL, "the same as --format json", OPTION_CHOICE(type, path), .number = TABLE_JSON        \
    }

struct table;

enum column_kind { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_BOOL };

/* Flags added to the kind: how a column appears in the table for people. */
#define COLUMN_KIND   0xf
#define COLUMN_KEY    0x10 /* identifies the row: never cut or left out */
#define COLUMN_COMMON 0x20 /* printed above the table if all rows have the same value */
#define COLUMN_SOME   0x80 /* of some tables only: if all its cells are empty, people never see it */
#define COLUMN_LAST   0x40 /* long text: last, broken into lines; below its row where room is short */
/* Where room is short, columns of the highest rank are left out first. To keep the last column beside the
 * others, columns of a higher rank than its own are left out; to keep it there in one line, only columns
 * whose rank is at least two higher. What still fits then is shown. */
#define COLUMN_RANK(n) ((n) << 8)

struct column {
    const char *key;   /* JSON and CSV name: "time_us" */
    const char *title; /* head of the text table: "time (us)"; NULL: not shown in the text table */
    int kind;
    int decimals; /* for numbers in the text table (-3: 3 significant digits); JSON and CSV get all digits */
};

/* columns must outlive the table. NULL if out of memory. */
struct table *table_new(const struct column *columns, int count);

/* Fills the current row cell by cell in column order; a row is complete after its last cell. NAN is an empty
 * cell (null). */
void table_text(struct table *table, const char *value); /* NULL: empty (null) */
void table_number(struct table *table, double value);
void table_bool(struct table *table, int value);

/* Values for cells of a number that is 0, or a text that is "", if unknown. */
double table_known(double value);          /* NAN unless above 0 */
const char *table_said(const char *value); /* NULL for "" */

/* A text with another form in the table for people; brief NULL: empty there. */
void table_text_brief(struct table *table, const char *value, const char *brief);

int table_rows(const struct table *table);

/* Orders the rows by a column, named as in JSON: ascending, or with a '-' before the name descending; rows
 * that are equal keep their order, empty cells come last. Errors: E_USAGE (--sort names no column), E_MEMORY.
 */
enum status table_sort(struct table *table, const char *key);

/* Keeps the first rows only. */
void table_cut(struct table *table, int rows);

/* TABLE_TEXT fits the terminal's width if stream is one; TABLE_ALL is table_print_all. An empty table prints
 * its head (text, CSV) or [] (JSON). Errors: E_IO if the stream cannot be written, E_MEMORY. */
enum status table_print(const struct table *table, enum table_format format, FILE *stream);

/* The text form for a given width in characters; 0 leaves nothing out. */
enum status table_print_text(const struct table *table, int width, FILE *stream);

/* Every column of every row on a line of its own (broken at the width if needed), and an empty line between
 * rows. */
enum status table_print_all(const struct table *table, int width, FILE *stream);

void table_free(struct table *table); /* takes NULL */

/* A copy of text that is valid UTF-8 (invalid bytes become U+FFFD); malloc'ed, NULL only if out of memory.
 * For texts from a database that go into JSON. */
char *text_valid(const char *text);
json_t *text_json(const char *text); /* as a new reference */

#endif
