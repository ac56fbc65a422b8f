/* fields.h — reads an untrusted JSON object: every field is read with its limits, and the first missing or
 * wrong one is remembered.
 */
#ifndef GT_FIELDS_H
#define GT_FIELDS_H

#include "status.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fields {
    const json_t *object;
    const char *bad; /* key of the first bad field; NULL: none */
};

/* A field that is missing and not needed, or wrong, gives "" or 0. A text contains no NUL and fits into
 * `room` bytes including its terminator; it lives as long as the object. */
const char *field_text(struct fields *f, const char *key, bool needed, size_t room);
void field_copy(struct fields *f, const char *key, bool needed, char *text, size_t room);
double field_number(struct fields *f, const char *key, bool needed, double least, double most);
int64_t field_integer(struct fields *f, const char *key, bool needed, int64_t least, int64_t most);
bool field_bool(struct fields *f, const char *key, bool otherwise);

/* Checks that all fields so far were right. Errors: E_INPUT with the key. */
enum status fields_check(const struct fields *f);

#endif
