#include "table.h"

#include "utf8.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TEXT_WIDTH_MIN 8 /* a text column is not squeezed below this */

struct cell {
    char *text; /* owned; NULL: empty, or a number */
    double number;
};

struct table {
    const struct column *columns;
    int count;
    struct cell *cells; /* row by row */
    size_t used, room;
    bool starved; /* a cell was lost for want of memory: told when the table is printed */
};

enum status table_format_parse(const char *name, enum table_format *format)
{
    static const char *const names[] = {"table", "json", "csv"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *format = (enum table_format)i;
        return OK;
    }
    return fail(E_USAGE, "unknown format '%.40s'; there are table, json and csv", name);
}

struct table *table_new(const struct column *columns, int count)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->columns = columns;
    table->count = count;
    return table;
}

void table_free(struct table *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->used; i++) free(table->cells[i].text);
    free(table->cells);
    free(table);
}

int table_rows(const struct table *table)
{
    return (int)(table->used / (size_t)table->count);
}

static void add(struct table *table, struct cell cell)
{
    if (table->used == table->room) {
        size_t room = table->room ? 2 * table->room : 64;
        struct cell *grown = realloc(table->cells, room * sizeof *grown);
        if (!grown) {
            free(cell.text);
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

void table_text(struct table *table, const char *value)
{
    char *text = value ? text_valid(value) : NULL;
    if (value && !text) table->starved = true;
    add(table, (struct cell){.text = text, .number = NAN});
}

void table_number(struct table *table, double value)
{
    add(table, (struct cell){.number = value});
}

void table_bool(struct table *table, int value)
{
    add(table, (struct cell){.number = value != 0});
}

static bool empty(const struct cell *cell)
{
    return !cell->text && isnan(cell->number);
}

/* Characters that a terminal would obey: C0, DEL and C1 (in UTF-8: C2 80 .. C2 9F). */
static bool control(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    return (length == 1 && (*at < 0x20 || *at == 0x7f)) || (length == 2 && at[0] == 0xc2 && at[1] < 0xa0);
}

/* At most `width` characters of valid text; the last one becomes an ellipsis when there are more. Returns how
 * many were written. */
static int put_text(const char *text, int width, FILE *stream)
{
    int total = 0, written = 0;
    for (const char *at = text; *at; at += utf8_length(at)) total++;
    for (const char *at = text; *at && written < width; written++) {
        size_t length = utf8_length(at);
        if (total > width && written == width - 1) fputs("\xe2\x80\xa6", stream);
        else if (control(at, length)) fputc('?', stream);
        else fwrite(at, 1, length, stream);
        at += length;
    }
    return written;
}

void text_print(const char *text, FILE *stream)
{
    char *valid = text_valid(text);
    if (valid) put_text(valid, (int)strlen(valid) + 1, stream);
    fputc('\n', stream);
    free(valid);
}

static int characters(const char *text)
{
    int count = 0;
    for (const char *at = text; *at; count++) at += utf8_length(at);
    return count;
}

/* A cell as people read it; buffer holds numbers. */
static const char *shown(const struct column *column, const struct cell *cell, char buffer[64])
{
    if (empty(cell)) return "-";
    if (cell->text) return cell->text;
    if (column->kind == COLUMN_BOOL) return cell->number != 0 ? "yes" : "no";
    snprintf(buffer, 64, fabs(cell->number) < 1e15 ? "%.*f" : "%.*e", column->decimals, cell->number);
    return buffer;
}

static bool complete(const struct table *table)
{
    return !table->starved && table->used % (size_t)table->count == 0;
}

/* Widths by content; the widest text columns give way while the line is wider than the terminal. */
static void measure(const struct table *table, int limit, int *width)
{
    int total = -2, rows = table_rows(table);
    for (int c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        width[c] = column->title ? characters(column->title) : 0;
        for (int r = 0; column->title && r < rows; r++) {
            char buffer[64];
            int w = characters(
                shown(column, &table->cells[(size_t)r * (size_t)table->count + (size_t)c], buffer));
            if (w > width[c]) width[c] = w;
        }
        if (column->title) total += width[c] + 2;
    }
    while (limit > 0 && total > limit) {
        int widest = -1;
        for (int c = 0; c < table->count; c++)
            if (table->columns[c].title && table->columns[c].kind == COLUMN_TEXT &&
                width[c] > TEXT_WIDTH_MIN && (widest < 0 || width[c] > width[widest]))
                widest = c;
        if (widest < 0) return;
        width[widest]--;
        total--;
    }
}

static void put_spaces(int count, FILE *stream)
{
    for (; count > 0; count--) fputc(' ', stream);
}

/* One line; texts NULL is the head. What lies right of the limit is left out. No blanks at the end. */
static void put_line(const struct table *table, const struct cell *cells, const int *width, int limit,
                     FILE *stream)
{
    int column_start = 0, at = 0;
    for (int c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        if (!column->title) continue;
        char buffer[64];
        const char *text = cells ? shown(column, &cells[c], buffer) : column->title;
        int length = characters(text), fits = width[c];
        if (length > fits) length = fits;
        int start = column_start + (column->kind == COLUMN_NUMBER ? fits - length : 0);
        if (limit > 0 && start + length > limit) length = limit - start;
        if (length > 0) {
            put_spaces(start - at, stream);
            at = start + put_text(text, length, stream);
        }
        column_start += width[c] + 2;
    }
    fputc('\n', stream);
}

static enum status written(FILE *stream)
{
    return fflush(stream) == 0 && !ferror(stream) ? OK : fail(E_IO, "the table could not be written");
}

enum status table_print_text(const struct table *table, int width, FILE *stream)
{
    if (!complete(table)) return fail(E_MEMORY, "out of memory while a table was filled");
    int *widths = calloc((size_t)table->count, sizeof *widths);
    if (!widths) return fail(E_MEMORY, "out of memory while a table was printed");
    measure(table, width, widths);
    put_line(table, NULL, widths, width, stream);
    for (int r = 0; r < table_rows(table); r++)
        put_line(table, table->cells + (size_t)r * (size_t)table->count, widths, width, stream);
    free(widths);
    return written(stream);
}

/* The shortest decimal text that gives the same double. Whole numbers have no point. */
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

/* One value in JSON. Strings by jansson; numbers by exact_number, since jansson writes either 17 digits or
 * fewer than all. Infinity has no form in JSON. */
static bool put_json(const struct column *column, const struct cell *cell, FILE *stream)
{
    char buffer[64];
    if (cell->text) {
        json_t *string = json_string(cell->text);
        int rc = string ? json_dumpf(string, stream, JSON_ENCODE_ANY) : -1;
        json_decref(string);
        return rc == 0;
    }
    const char *text = isfinite(cell->number) ? exact_number(cell->number, buffer) : "null";
    if (column->kind == COLUMN_BOOL && isfinite(cell->number)) text = cell->number != 0 ? "true" : "false";
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
            good &= put_json(&table->columns[c], &table->cells[(size_t)r * (size_t)table->count + (size_t)c],
                             stream);
        }
        fputs("}", stream);
    }
    fputs(rows ? "\n]\n" : "]\n", stream);
    return good ? written(stream) : fail(E_MEMORY, "a table could not be written as JSON");
}

static void put_csv_text(const char *text, FILE *stream)
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
        else if (!empty(cell) && column->kind == COLUMN_BOOL)
            fputs(cell->number != 0 ? "true" : "false", stream);
        else if (!empty(cell)) fputs(exact_number(cell->number, buffer), stream);
        fputs((i + 1) % (size_t)table->count == 0 ? "\r\n" : ",", stream);
    }
    return written(stream);
}

int table_width(FILE *stream)
{
    struct winsize size;
    int fd = fileno(stream);
    if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

enum status table_print(const struct table *table, enum table_format format, FILE *stream)
{
    if (format == TABLE_TEXT) return table_print_text(table, table_width(stream), stream);
    if (!complete(table)) return fail(E_MEMORY, "out of memory while a table was filled");
    return format == TABLE_JSON ? print_json(table, stream) : print_csv(table, stream);
}
