/* result_json.h — what a command found or did, as one JSON value on standard output.
 */
#ifndef GT_RESULT_JSON_H
#define GT_RESULT_JSON_H

#include "command_line.h"
#include "status.h"
#include "table.h"

#include <jansson.h>

/* Rows of the options of a command that has no table, for a member that is an enum table_format. */
#define OPTION_ROWS_RESULT(type, path)                                                                       \
    {"format", 0, "text|json", "form of the result on standard output (text)", OPTION_CHOICE(type, path)},   \
    {                                                                                                        \
        "json", 0, NULL, "the same as --format json", OPTION_CHOICE(type, path), .number = TABLE_JSON        \
    }

/* Prints the value and releases it. what: "explanation". status_text() stays unless it fails. Errors:
 * E_MEMORY (value is NULL), E_IO. */
enum status result_print(json_t *value, const char *what);

#endif
