#include "table.h"

#include "likely.h"
#include "output_file.h"
#include "print.h"
#include "utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GAP         2  /* blanks between columns */
#define LAST_LEAST  40 /* columns that broken text needs beside the others; else it goes below */
#define LAST_WHOLE  64 /* up to this length in one line; less important columns are left out */
#define LAST_INDENT 4  /* of text below its row */
#define VALUE_LEAST 20 /* columns that a value needs beside its name; else it goes below */

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

struct table *table_new(const struct column *columns, int count)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->columns = columns;
    table->count = count;
    return table;
}

static bool empty(const struct cell *cell)
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
    const bool x_empty = empty(x->key), y_empty = empty(y->key);
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

/* E_MEMORY if a cell is missing. */
static enum status complete(const struct table *table)
{
    return !table->starved && table->used % (size_t)table->count == 0
               ? OK
               : fail(E_MEMORY, "out of memory while a table was filled");
}

/* E_IO if the output could not be written completely. */
static enum status written(FILE *stream)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return OK;
    return fail(E_IO, "the table could not be written: %s", outfile_why(errno));
}

static const struct cell *cell_at(const struct table *table, int row, int column)
{
    return &table->cells[(size_t)row * (size_t)table->count + (size_t)column];
}

/* ---- JSON and CSV ---- */

/* The shortest decimal text that reads back as the same double. Integers have no point. */
static const char *exact_number(double value, char buffer[64])
{
    if (value == floor(value) && fabs(value) < 9e15) {
        snprintf(buffer, 64, "%.0f", value == 0 ? 0.0 : value);
        return buffer;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, 64, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    return buffer;
}

/* One value in JSON. Strings are written by jansson; numbers by exact_number, since jansson writes either 17
 * digits or too few. JSON has no form for infinity. */
static bool put_json(const struct column *column, const struct cell *cell, FILE *stream)
{
    char buffer[64];
    if (cell->text) {
        json_t *string = json_string(cell->text);
        int rc = string ? json_dumpf(string, stream, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : -1;
        json_decref(string);
        return rc == 0;
    }
    const char *text = isfinite(cell->number) ? exact_number(cell->number, buffer) : "null";
    if ((column->kind & COLUMN_KIND) == COLUMN_BOOL && isfinite(cell->number))
        text = cell->number != 0 ? "true" : "false";
    return fputs(text, stream) >= 0;
}

static enum status print_json(const struct table *table, FILE *stream)
{
    int rows = table_rows(table);
    bool good = true;
    fputs("[", stream);
    for (int r = 0; r < rows; r++) {
        fputs(r ? ",\n  {" : "\n  {", stream);
        for (int c = 0; c < table->count; c++) {
            fprintf(stream, "%s\"%s\": ", c ? ", " : "", table->columns[c].key);
            good &= put_json(&table->columns[c], cell_at(table, r, c), stream);
        }
        fputs("}", stream);
    }
    fputs(rows ? "\n]\n" : "]\n", stream);
    enum status st = written(stream);
    return good || st ? st : fail(E_MEMORY, "a table could not be written as JSON");
}

static void put_quoted(const char *text, FILE *stream)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

/* RFC 4180 has no escapes except for quotes: terminal controls are escaped only if the stream is a
 * terminal. */
static void put_csv_text(const char *text, FILE *stream)
{
    const bool terminal = isatty(fileno(stream));
    char *escaped = terminal ? print_escaped(text) : NULL;
    if (escaped || !terminal) put_quoted(escaped ? escaped : text, stream);
    free(escaped);
}

static enum status print_csv(const struct table *table, FILE *stream)
{
    for (int c = 0; c < table->count; c++) {
        if (c) fputc(',', stream);
        put_csv_text(table->columns[c].key, stream);
    }
    fputs("\r\n", stream);
    for (size_t i = 0; i < table->used; i++) {
        const struct column *column = &table->columns[i % (size_t)table->count];
        const struct cell *cell = &table->cells[i];
        char buffer[64];
        if (cell->text) put_csv_text(cell->text, stream);
        else if (!empty(cell) && (column->kind & COLUMN_KIND) == COLUMN_BOOL)
            fputs(cell->number != 0 ? "true" : "false", stream);
        else if (!empty(cell)) fputs(exact_number(cell->number, buffer), stream);
        fputs((i + 1) % (size_t)table->count == 0 ? "\r\n" : ",", stream);
    }
    return written(stream);
}

/* ---- for people: the columns that fit ---- */

/* The columns that are shown, and their widths. */
struct layout {
    const struct table *table;
    int *width; /* of each column; 0: not shown in the rows */
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
    snprintf(buffer, 64, fabs(cell->number) < 1e15 ? "%.*f" : "%.*e", column->decimals, cell->number);
    return buffer;
}

/* ---- choosing columns ---- */

static bool all_blank(const struct table *table, int column)
{
    for (int row = 0; row < table_rows(table); row++)
        if (!blank(cell_at(table, row, column))) return false;
    return table_rows(table) > 0;
}

static bool all_alike(const struct table *table, int column)
{
    char first[64], other[64];
    const struct column *c = &table->columns[column];
    for (int row = 1; row < table_rows(table); row++)
        if (strcmp(shown(c, cell_at(table, 0, column), first),
                   shown(c, cell_at(table, row, column), other)) != 0)
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
        const int w = print_width(shown(c, cell_at(table, row, column), buffer));
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
    l->last_at = !l->below ? total(l, 0) : l->limit > 2 * LAST_INDENT ? LAST_INDENT : 0;
}

static enum status lay_out(const struct table *table, int limit, struct layout *l)
{
    *l = (struct layout){.table = table, .last = -1, .limit = limit};
    l->width = calloc((size_t)table->count, sizeof *l->width);
    if (!l->width) return fail(E_MEMORY, "out of memory while a table was printed");
    for (int c = 0; c < table->count; c++) {
        if (is_left_out(table, c)) continue;
        l->width[c] = widest(table, c);
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
                   shown(column, cell_at(table, 0, c), buffer));
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
        const char *text = row < 0 ? column->title : shown(column, cell_at(table, row, c), buffer);
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
    const char *text = row < 0 ? column->title : shown(column, cell_at(table, row, l->last), buffer);
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
            const struct cell *cell = cell_at(table, row, c);
            const char *name = column->title ? column->title : column->key;
            char buffer[64];
            if (!all && is_left_out(table, c)) continue;
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
    enum status st = complete(table);
    if (st) return st;
    put_blocks(table, true, width, stream);
    return written(stream);
}

enum status table_print_text(const struct table *table, int width, FILE *stream)
{
    struct layout layout = {0};
    enum status st = complete(table);
    if (!st) st = put_common(table, width, stream);
    if (!st) st = lay_out(table, width, &layout);
    if (st) return st;
    if (width > 0 && total(&layout, COLUMN_KEY) - GAP > width) {
        put_blocks(table, false, width, stream);
    } else {
        for (int row = -1; row < table_rows(table); row++) put_row(&layout, row, stream);
    }
    free(layout.width);
    return written(stream);
}

enum status table_print(const struct table *table, enum table_format format, FILE *stream)
{
    if (format == TABLE_TEXT) return table_print_text(table, print_columns(stream), stream);
    if (format == TABLE_ALL) return table_print_all(table, print_columns(stream), stream);
    enum status st = complete(table);
    if (st) return st;
    return format == TABLE_JSON ? print_json(table, stream) : print_csv(table, stream);
}
