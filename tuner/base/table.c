/* Owns the rows: they are filled, ordered and cut here. How they are printed: table_data.c, table_text.c. */
#include "table_internal.h"

#include "likely.h"
#include "output_file.h"
#include "print.h"
#include "utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct table *table_new(const struct column *columns, int count)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->columns = columns;
    table->count = count;
    return table;
}

bool table_empty(const struct cell *cell)
{
    return !cell->text && isnan(cell->number);
}

static void free_cells(struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(cells[i].text);
        free(cells[i].brief);
    }
}

void table_free(struct table *table)
{
    if (!table) return;
    free_cells(table->cells, table->used);
    free(table->cells);
    free(table);
}

int table_rows(const struct table *table)
{
    return (int)(table->used / (size_t)table->count);
}

void table_cut(struct table *table, int rows)
{
    const size_t keep = (size_t)rows * (size_t)table->count;
    if (keep >= table->used) return;
    free_cells(table->cells + keep, table->used - keep);
    table->used = keep;
}

/* A row while rows are ordered. */
struct order {
    const struct cell *cells, *key;
    int place;
    bool descending;
};

static int compare_rows(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    const bool x_empty = table_empty(x->key), y_empty = table_empty(y->key);
    int order = x_empty - y_empty;
    if (!order && !x_empty) {
        order = x->key->text && y->key->text
                    ? strcmp(x->key->text, y->key->text)
                    : (x->key->number > y->key->number) - (x->key->number < y->key->number);
        if (x->descending) order = -order;
    }
    return order ? order : x->place - y->place;
}

static enum status find_column(const struct table *table, const char *key, int *column)
{
    char all[600] = "", meant[LIKELY_TEXT_MAX];
    struct likely likely = {.word = key};
    size_t used = 0;
    for (int c = 0; c < table->count; c++) {
        *column = c;
        if (strcmp(table->columns[c].key, key) == 0) return OK;
        likely_offer(&likely, table->columns[c].key);
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, " %s", table->columns[c].key);
    }
    return fail(E_USAGE, "--sort: there is no column '%.40s'%s; there are%s", key,
                likely_text(&likely, meant), all);
}

enum status table_sort(struct table *table, const char *key)
{
    const bool descending = *key == '-';
    const int rows = table_rows(table);
    const size_t width = (size_t)table->count;
    int column;
    enum status st = find_column(table, key + descending, &column);
    if (st || rows == 0) return st;
    struct order *orders = calloc((size_t)rows, sizeof *orders);
    struct cell *sorted = calloc(table->used, sizeof *sorted);
    if (!orders || !sorted) st = fail(E_MEMORY, "out of memory while a table was sorted");
    for (int r = 0; r < rows && !st; r++) {
        const struct cell *cells = table->cells + (size_t)r * width;
        orders[r] = (struct order){cells, cells + column, r, descending};
    }
    if (!st) qsort(orders, (size_t)rows, sizeof *orders, compare_rows);
    for (int r = 0; r < rows && !st; r++)
        memcpy(sorted + (size_t)r * width, orders[r].cells, width * sizeof *sorted);
    free(orders);
    if (st) {
        free(sorted);
        return st;
    }
    free(table->cells);
    table->cells = sorted;
    table->room = table->used;
    return OK;
}

static void add(struct table *table, struct cell cell)
{
    if (table->used == table->room) {
        size_t room = table->room ? 2 * table->room : 64;
        struct cell *grown = realloc(table->cells, room * sizeof *grown);
        if (!grown) {
            free(cell.text);
            free(cell.brief);
            table->starved = true;
            return;
        }
        table->cells = grown;
        table->room = room;
    }
    table->cells[table->used++] = cell;
}

char *text_valid(const char *text)
{
    const size_t room = 3 * strlen(text) + 1;
    char *valid = malloc(room);
    if (valid) utf8_copy(valid, room, text);
    return valid;
}

json_t *text_json(const char *text)
{
    char *valid = text_valid(text);
    json_t *json = valid ? json_string(valid) : NULL;
    free(valid);
    return json;
}

void table_text(struct table *table, const char *value)
{
    table_text_brief(table, value, value);
}

void table_text_brief(struct table *table, const char *value, const char *brief)
{
    struct cell cell = {.text = value ? text_valid(value) : NULL,
                        .brief = brief ? print_escaped(brief) : NULL,
                        .number = NAN};
    if ((value && !cell.text) || (brief && !cell.brief)) table->starved = true;
    add(table, cell);
}

void table_number(struct table *table, double value)
{
    add(table, (struct cell){.number = value});
}

void table_bool(struct table *table, int value)
{
    add(table, (struct cell){.number = value != 0});
}

double table_known(double value)
{
    return value > 0 ? value : (double)NAN;
}

const char *table_said(const char *value)
{
    return value[0] ? value : NULL;
}
enum status table_complete(const struct table *table)
{
    return !table->starved && table->used % (size_t)table->count == 0
               ? OK
               : fail(E_MEMORY, "out of memory while a table was filled");
}

enum status table_written(FILE *stream)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return OK;
    return fail(E_IO, "the table could not be written: %s", outfile_why(errno));
}

const struct cell *table_cell(const struct table *table, int row, int column)
{
    return &table->cells[(size_t)row * (size_t)table->count + (size_t)column];
}

enum status table_print(const struct table *table, enum table_format format, FILE *stream)
{
    if (format == TABLE_TEXT) return table_print_text(table, print_columns(stream), stream);
    if (format == TABLE_ALL) return table_print_all(table, print_columns(stream), stream);
    enum status st = table_complete(table);
    if (st) return st;
    return format == TABLE_JSON ? table_print_json(table, stream) : table_print_csv(table, stream);
}
