/* table_cells.h — the inside of a table, for the files that print it. */
#ifndef GT_TABLE_CELLS_H
#define GT_TABLE_CELLS_H

#include "table.h"

#include <stdbool.h>
#include <stddef.h>

struct cell {
    char *text;  /* owned, valid UTF-8; NULL: empty, or a number */
    char *brief; /* owned, escaped: as the text table shows it; NULL: empty there */
    double number;
};

struct table {
    const struct column *columns;
    int count;
    struct cell *cells; /* row by row */
    size_t used, room;
    bool starved; /* a cell was lost for want of memory: told when the table is printed */
};

static inline const struct cell *table_cell(const struct table *table, int row, int column)
{
    return &table->cells[(size_t)row * (size_t)table->count + (size_t)column];
}

/* E_MEMORY when a cell is missing. */
enum status table_complete(const struct table *table);

/* E_IO when what was printed did not get there. */
enum status table_written(FILE *stream);

#endif
