#include "fields.h"

#include <string.h>

static const json_t *find(const struct fields *f, const char *key)
{
    return json_object_get(f->object, key);
}

static void refuse(struct fields *f, const char *key)
{
    if (!f->bad) f->bad = key;
}

const char *field_text(struct fields *f, const char *key, bool needed, size_t room)
{
    const json_t *value = find(f, key);
    if (!value && !needed) return "";
    const char *text = json_string_value(value);
    if (text && json_string_length(value) < room && strlen(text) == json_string_length(value)) return text;
    refuse(f, key);
    return "";
}

void field_copy(struct fields *f, const char *key, bool needed, char *text, size_t room)
{
    const char *given = field_text(f, key, needed, room);
    memcpy(text, given, strlen(given) + 1);
}

double field_number(struct fields *f, const char *key, bool needed, double least, double most)
{
    const json_t *value = find(f, key);
    if (!value && !needed) return 0;
    const double number = json_number_value(value);
    if (json_is_number(value) && number >= least && number <= most) return number;
    refuse(f, key);
    return 0;
}

int64_t field_integer(struct fields *f, const char *key, bool needed, int64_t least, int64_t most)
{
    const json_t *value = find(f, key);
    if (!value && !needed) return 0;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= least && number <= most) return number;
    refuse(f, key);
    return 0;
}

bool field_bool(struct fields *f, const char *key, bool otherwise)
{
    const json_t *value = find(f, key);
    if (!value) return otherwise;
    if (!json_is_boolean(value)) refuse(f, key);
    return json_is_true(value);
}

enum status fields_check(const struct fields *f)
{
    return f->bad ? fail(E_INPUT, "'%s' is missing or of the wrong kind", f->bad) : OK;
}
