/* table_cells.h — the internal representation of a table, for the files that print it. */
#ifndef GT_TABLE_CELLS_H
#define GT_TABLE_CELLS_H

#include "table.h"

#include <stdbool.h>
#include <stddef.h>

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

static inline const struct cell *table_cell(const struct table *table, int row, int column)
{
    return &table->cells[(size_t)row * (size_t)table->count + (size_t)column];
}

/* E_MEMORY if a cell is missing. */
enum status table_complete(const struct table *table);

/* E_IO if the output could not be written completely. */
enum status table_written(FILE *stream);

#endif
