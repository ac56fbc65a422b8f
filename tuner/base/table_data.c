/* Writes a table for programs: JSON and CSV, all columns, all digits. */
#include "table_internal.h"

#include "print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum status table_print_json(const struct table *table, FILE *stream)
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

enum status table_print_csv(const struct table *table, FILE *stream)
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
        else if (!table_empty(cell) && (column->kind & COLUMN_KIND) == COLUMN_BOOL)
            fputs(cell->number != 0 ? "true" : "false", stream);
        else if (!table_empty(cell)) fputs(exact_number(cell->number, buffer), stream);
        fputs((i + 1) % (size_t)table->count == 0 ? "\r\n" : ",", stream);
    }
    return table_written(stream);
}
