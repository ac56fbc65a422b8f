/* Writes a table for people: the columns that fit, or a line for each value. */
#include "table_internal.h"

#include "print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP         2  /* blanks between columns */
#define LAST_LEAST  40 /* columns that broken text needs beside the others; else it goes below */
#define LAST_WHOLE  64 /* up to this length in one line; less important columns are left out */
#define LAST_INDENT 4  /* of text below its row */
#define VALUE_LEAST 20 /* columns that a value needs beside its name; else it goes below */

/* The columns that are shown, and their widths. */
struct layout {
    const struct table *table;
    int *width; /* of each column; 0: not shown in the rows */
    int *whole; /* the same before any was left out for want of room */
    int last;   /* the column that is broken into lines; -1: none */
    int last_at;
    bool below; /* the last column stands below its row */
    int limit;  /* of a line; 0: no limit */
};

static int kind_of(const struct column *column)
{
    return column->kind & COLUMN_KIND;
}

static int rank_of(const struct column *column)
{
    return column->kind >> 8;
}

static bool has(const struct column *column, int mark)
{
    return (column->kind & mark) != 0;
}

static bool blank(const struct cell *cell)
{
    return !cell->brief && isnan(cell->number);
}

/* A cell as it is shown; buffer is for numbers. */
static const char *shown(const struct column *column, const struct cell *cell, char buffer[64])
{
    if (blank(cell)) return "-";
    if (cell->brief) return cell->brief;
    if (kind_of(column) == COLUMN_BOOL) return cell->number != 0 ? "yes" : "no";
    if (column->decimals < 0) snprintf(buffer, 64, "%.*g", -column->decimals, cell->number);
    else snprintf(buffer, 64, fabs(cell->number) < 1e15 ? "%.*f" : "%.*e", column->decimals, cell->number);
    return buffer;
}

/* ---- choosing columns ---- */

static bool all_blank(const struct table *table, int column)
{
    for (int row = 0; row < table_rows(table); row++)
        if (!blank(table_cell(table, row, column))) return false;
    return table_rows(table) > 0 || has(&table->columns[column], COLUMN_SOME);
}

static bool all_alike(const struct table *table, int column)
{
    char first[64], other[64];
    const struct column *c = &table->columns[column];
    for (int row = 1; row < table_rows(table); row++)
        if (strcmp(shown(c, table_cell(table, 0, column), first),
                   shown(c, table_cell(table, row, column), other)) != 0)
            return false;
    return table_rows(table) > 0;
}

static bool is_common(const struct table *table, int column)
{
    const struct column *c = &table->columns[column];
    return c->title && has(c, COLUMN_COMMON) && all_alike(table, column);
}

static bool is_left_out(const struct table *table, int column)
{
    const struct column *c = &table->columns[column];
    return !c->title || is_common(table, column) || (!has(c, COLUMN_KEY) && all_blank(table, column));
}

static int widest(const struct table *table, int column)
{
    const struct column *c = &table->columns[column];
    int width = print_width(c->title);
    for (int row = 0; row < table_rows(table); row++) {
        char buffer[64];
        const int w = print_width(shown(c, table_cell(table, row, column), buffer));
        if (w > width) width = w;
    }
    return width > 0 ? width : 1;
}

/* Width of the columns before the last one, including the gap after each. */
static int total(const struct layout *l, int mark)
{
    int sum = 0;
    for (int c = 0; c < l->table->count; c++)
        if (c != l->last && l->width[c] > 0 && (mark == 0 || has(&l->table->columns[c], mark)))
            sum += l->width[c] + GAP;
    return sum;
}

/* Leaves out the column of the highest rank above `least`; false if there is none. */
static bool leave_one_out(struct layout *l, int least)
{
    int worst = -1;
    for (int c = 0; c < l->table->count; c++) {
        const struct column *column = &l->table->columns[c];
        if (c == l->last || l->width[c] == 0 || has(column, COLUMN_KEY) || rank_of(column) <= least) continue;
        if (worst < 0 || rank_of(column) >= rank_of(&l->table->columns[worst])) worst = c;
    }
    if (worst >= 0) l->width[worst] = 0;
    return worst >= 0;
}

static int at_most(int value, int most)
{
    return value < most ? value : most;
}

/* A last column that stands below, or is broken into lines, after all leaves room to others: the most
 * important first, up to one that does not fit. beside: what the last column needs beside others. */
static void bring_back(struct layout *l, int beside)
{
    int most = 0;
    for (int c = 0; c < l->table->count; c++)
        if (rank_of(&l->table->columns[c]) > most) most = rank_of(&l->table->columns[c]);
    for (int r = 0; r <= most; r++)
        for (int c = 0; c < l->table->count; c++) {
            if (c == l->last || l->width[c] > 0 || l->whole[c] == 0 || rank_of(&l->table->columns[c]) != r)
                continue;
            if (total(l, 0) + l->whole[c] + GAP + beside > l->limit) return;
            l->width[c] = l->whole[c];
        }
}

static void fit(struct layout *l)
{
    if (l->limit > 0)
        while (total(l, 0) - GAP > l->limit && leave_one_out(l, -1)) continue;
    if (l->last < 0) return;
    const int rank = rank_of(&l->table->columns[l->last]);
    const int least = at_most(l->width[l->last], LAST_LEAST), whole = at_most(l->width[l->last], LAST_WHOLE);
    if (l->limit > 0) {
        while (total(l, 0) + whole > l->limit && leave_one_out(l, rank + 1)) continue;
        while (total(l, 0) + least > l->limit && leave_one_out(l, rank)) continue;
    }
    l->below = l->limit > 0 && total(l, 0) + least > l->limit;
    const bool one_line = total(l, 0) + whole <= l->limit;
    if (l->limit > 0) bring_back(l, l->below ? -GAP : one_line ? whole : least);
    l->last_at = !l->below ? total(l, 0) : l->limit > 2 * LAST_INDENT ? LAST_INDENT : 0;
}

static enum status lay_out(const struct table *table, int limit, struct layout *l)
{
    *l = (struct layout){.table = table, .last = -1, .limit = limit};
    l->width = calloc(2 * (size_t)table->count, sizeof *l->width);
    if (!l->width) return fail(E_MEMORY, "out of memory while a table was printed");
    l->whole = l->width + table->count;
    for (int c = 0; c < table->count; c++) {
        if (is_left_out(table, c)) continue;
        l->whole[c] = l->width[c] = widest(table, c);
        if (has(&table->columns[c], COLUMN_LAST)) l->last = c;
    }
    fit(l);
    return OK;
}

/* ---- printing ---- */

/* Values that all rows share: "GPU NVIDIA H200, driver 580.1, cache cold". */
static enum status put_common(const struct table *table, int limit, FILE *stream)
{
    char *line = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&line, &length);
    if (!text) return fail(E_MEMORY, "out of memory while a table was printed");
    for (int c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        char buffer[64];
        if (!is_common(table, c) || all_blank(table, c)) continue;
        print_part(text, "%s%s %s", ftell(text) > 0 ? ", " : "", column->title,
                   shown(column, table_cell(table, 0, c), buffer));
    }
    fclose(text);
    if (line && *line) {
        print_wrapped(stream, 0, limit, line);
        print_end(stream);
    }
    free(line);
    return OK;
}

/* Prints one row; -1 is the head. Lines have no trailing blanks. */
static void put_row(const struct layout *l, int row, FILE *stream)
{
    const struct table *table = l->table;
    char buffer[64];
    int start = 0, at = 0;
    for (int c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        if (c == l->last || l->width[c] == 0) continue;
        const char *text = row < 0 ? column->title : shown(column, table_cell(table, row, c), buffer);
        const int width = print_width(text);
        const int from = start + (kind_of(column) == COLUMN_NUMBER ? l->width[c] - width : 0);
        if (width > 0) print_part(stream, "%*s%s", from - at, "", text);
        if (width > 0) at = from + width;
        start += l->width[c] + GAP;
    }
    if (l->last < 0 || l->below) print_end(stream);
    if (l->last < 0) return;
    if (l->below) at = 0;
    const struct column *column = &table->columns[l->last];
    const char *text = row < 0 ? column->title : shown(column, table_cell(table, row, l->last), buffer);
    print_part(stream, "%*s", *text ? l->last_at - at : 0, "");
    print_wrapped(stream, l->last_at, l->limit, text);
}

/* "time (us)  12.50": a name and its value, broken into lines as needed. */
static void put_field(const char *name, int names, const char *value, int limit, FILE *stream)
{
    const bool beside = limit == 0 || names + GAP + VALUE_LEAST <= limit;
    if (beside) {
        print_part(stream, "%-*s", names + GAP, name);
        print_wrapped(stream, names + GAP, limit, value);
        return;
    }
    const int indent = limit > 2 * LAST_INDENT ? LAST_INDENT : 0;
    print_wrapped(stream, 0, limit, name);
    print_part(stream, "%*s", indent, "");
    print_wrapped(stream, indent, limit, value);
}

/* Prints a row as lines. all: also columns without title and blank or common values, and texts in full. */
static void put_block(const struct table *table, int row, bool all, int limit, FILE *stream)
{
    int names = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int c = 0; c < table->count; c++) {
            const struct column *column = &table->columns[c];
            const struct cell *cell = table_cell(table, row, c);
            const char *name = column->title ? column->title : column->key;
            char buffer[64];
            if (all ? has(column, COLUMN_SOME) && all_blank(table, c) : is_left_out(table, c)) continue;
            const char *value = all && cell->text ? cell->text : shown(column, cell, buffer);
            if (pass == 0) names = print_width(name) > names ? print_width(name) : names;
            else put_field(name, names, value, limit, stream);
        }
}

static void put_blocks(const struct table *table, bool all, int limit, FILE *stream)
{
    for (int row = 0; row < table_rows(table); row++) {
        if (row > 0) print_end(stream);
        put_block(table, row, all, limit, stream);
    }
}

enum status table_print_all(const struct table *table, int width, FILE *stream)
{
    enum status st = table_complete(table);
    if (st) return st;
    put_blocks(table, true, width, stream);
    return table_written(stream);
}

enum status table_print_text(const struct table *table, int width, FILE *stream)
{
    struct layout layout = {0};
    enum status st = table_complete(table);
    if (!st) st = put_common(table, width, stream);
    if (!st) st = lay_out(table, width, &layout);
    if (st) return st;
    if (width > 0 && total(&layout, COLUMN_KEY) - GAP > width) {
        put_blocks(table, false, width, stream);
    } else {
        for (int row = -1; row < table_rows(table); row++) put_row(&layout, row, stream);
    }
    free(layout.width);
    return table_written(stream);
}
