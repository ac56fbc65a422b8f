#include "table.h"

#include "output_file.h"
#include "print.h"
#include "table_cells.h"
#include "utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    for (size_t i = 0; i < table->used; i++) {
        free(table->cells[i].text);
        free(table->cells[i].brief);
    }
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

static bool empty(const struct cell *cell)
{
    return !cell->text && isnan(cell->number);
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
            good &= put_json(&table->columns[c], table_cell(table, r, c), stream);
        }
        fputs("}", stream);
    }
    fputs(rows ? "\n]\n" : "]\n", stream);
    enum status st = table_written(stream);
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
    return table_written(stream);
}

enum status table_print(const struct table *table, enum table_format format, FILE *stream)
{
    if (format == TABLE_TEXT) return table_print_text(table, print_columns(stream), stream);
    if (format == TABLE_ALL) return table_print_all(table, print_columns(stream), stream);
    enum status st = table_complete(table);
    if (st) return st;
    return format == TABLE_JSON ? print_json(table, stream) : print_csv(table, stream);
}
