/* table_internal.h — the cells of a table, for the files that fill and print it. */
#ifndef GT_TABLE_INTERNAL_H
#define GT_TABLE_INTERNAL_H

#include "table.h"

#include <stdbool.h>

struct cell {
    char *text;  /* owned, valid UTF-8; NULL: empty, or a number */
    char *brief; /* owned, escaped, for the text table; NULL: empty there */
    double number;
};

struct table {
    const struct column *columns;
    int count;
    struct cell *cells; /* row by row */
    size_t used, room;
    bool starved; /* a cell was lost, out of memory; reported when the table is printed */
};

const struct cell *table_cell(const struct table *table, int row, int column);
bool table_empty(const struct cell *cell); /* null in JSON */

/* E_MEMORY if a cell is missing. */
enum status table_complete(const struct table *table);
/* E_IO if the output could not be written completely. */
enum status table_written(FILE *stream);

/* Of a complete table. */
enum status table_print_json(const struct table *table, FILE *stream);
enum status table_print_csv(const struct table *table, FILE *stream);

#endif
