/* report_columns.c — the rows of the page as columns: a page of many winners has each text once.
 * page.js (unpackColumn) has the other half. A column is one of
 *
 *     {"same": value}                    all rows have it
 *     {"of": [values], "at": "letters"}  few values: the row's number in the list, in digits of base 64
 *     {"words": [columns]}               texts of several words: a column for the first word of each, ...
 *     [values]                           one a row
 */
#include "report_page.h"

#include <stdlib.h>
#include <string.h>

#define WORDED "configuration" /* its words are alike from row to row, the whole is not */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* What differs in the page differs as text. A column has texts or numbers, not both, and nulls. */
static char *key_of(const json_t *value)
{
    if (json_is_string(value)) return strdup(json_string_value(value));
    if (json_is_null(value)) return strdup("\1");
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(REPORT_DIGITS));
}

/* The number of each value in *distinct, which gets each once. false: out of memory. */
static bool number_values(const json_t *values, json_t *distinct, size_t *at)
{
    json_t *seen = json_object(), *value;
    bool held = seen != NULL;
    size_t i;
    json_array_foreach(values, i, value)
    {
        char *key = key_of(value);
        const json_t *number = key ? json_object_get(seen, key) : NULL;
        at[i] = number ? (size_t)json_integer_value(number) : json_array_size(distinct);
        if (!key || (!number && (json_object_set_new(seen, key, json_integer((json_int_t)at[i])) ||
                                 json_array_append(distinct, value))))
            held = false;
        free(key);
        if (!held) break;
    }
    json_decref(seen);
    return held;
}

/* The numbers of `count` rows, each in as many digits as the largest needs. NULL: out of memory. */
static json_t *digits_json(const size_t *at, size_t count, size_t distinct)
{
    size_t width = 1;
    for (size_t most = 64; most < distinct; most *= 64) width++;
    char *text = malloc(count * width + 1);
    if (!text) return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t rest = at[i];
        for (size_t w = width; w-- > 0; rest /= 64) text[i * width + w] = digits[rest % 64];
    }
    text[count * width] = '\0';
    json_t *json = json_string(text);
    free(text);
    return json;
}

/* Takes over `values`, one for each of `count` rows. NULL: out of memory. */
static json_t *column_json(json_t *values, size_t count)
{
    size_t *at = calloc(count + 1, sizeof *at);
    json_t *distinct = json_array(), *column = NULL;
    if (at && distinct && json_array_size(values) == count && number_values(values, distinct, at)) {
        const size_t different = json_array_size(distinct);
        if (different == 1) column = json_pack("{s:O}", "same", json_array_get(distinct, 0));
        else if (2 * different > count) column = json_incref(values);
        else column = json_pack("{s:O, s:o}", "of", distinct, "at", digits_json(at, count, different));
    }
    free(at);
    json_decref(distinct);
    json_decref(values);
    return column;
}

/* The word number `n` of a text, null if it has fewer. */
static json_t *word_json(const char *text, size_t n)
{
    for (; text && n > 0; n--) {
        text = strchr(text, ' ');
        if (text) text++;
    }
    return text ? json_stringn(text, strcspn(text, " ")) : json_null();
}

static size_t words_of(const char *text)
{
    size_t count = text != NULL;
    for (; text && *text; text++) count += *text == ' ';
    return count;
}

static json_t *words_json(const json_t *rows, const char *key)
{
    json_t *columns = json_array(), *row;
    size_t most = 0, i;
    json_array_foreach(rows, i, row)
    {
        const size_t words = words_of(json_string_value(json_object_get(row, key)));
        if (words > most) most = words;
    }
    for (size_t n = 0; n < most; n++) {
        json_t *values = json_array();
        json_array_foreach(rows, i, row)
            json_array_append_new(values, word_json(json_string_value(json_object_get(row, key)), n));
        if (json_array_append_new(columns, column_json(values, json_array_size(rows)))) {
            json_decref(columns);
            return NULL;
        }
    }
    return json_pack("{s:o}", "words", columns);
}

static json_t *values_json(const json_t *rows, const char *key)
{
    json_t *values = json_array(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        json_t *value = json_object_get(row, key);
        json_array_append_new(values, value ? json_incref(value) : json_null());
    }
    return column_json(values, json_array_size(rows));
}

json_t *report_columns(const json_t *rows)
{
    json_t *keys = json_object(), *columns = json_object(), *row, *value;
    const char *key;
    size_t i;
    json_array_foreach(rows, i, row) json_object_update_missing(keys, row);
    json_object_foreach(keys, key, value)
    {
        json_t *column = strcmp(key, WORDED) == 0 ? words_json(rows, key) : values_json(rows, key);
        if (json_object_set_new(columns, key, column)) {
            json_decref(columns);
            columns = NULL;
            break;
        }
    }
    json_decref(keys);
    return columns;
}
