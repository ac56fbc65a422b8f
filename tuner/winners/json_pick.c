#include "json_pick.h"

#include "number.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMBERS_MAX = 64,
    KEY_MAX = 63,
    DIGITS_MAX = 15 /* then a number is exact as a double, and fits into 64 bits */
};

/* A piece of the text. */
struct piece {
    const char *text;
    size_t length;
};

struct reader {
    const char *at, *end;
    struct piece keys[MEMBERS_MAX]; /* so far */
    int count;
};

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')) r->at++;
}

static bool take(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* Between its quotes; only what stands for itself. */
static bool take_string(struct reader *r, struct piece *piece)
{
    if (!take(r, '"')) return false;
    piece->text = r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++)
        if (*r->at == '\\' || *r->at < ' ' || *r->at > '~') return false;
    piece->length = (size_t)(r->at - piece->text);
    return take(r, '"');
}

/* The end of an object or array; its strings must be plain. */
static bool take_nested(struct reader *r, struct piece *piece)
{
    struct piece string;
    int depth = 0;
    piece->text = r->at;
    do {
        if (r->at == r->end) return false;
        if (*r->at == '"') {
            if (!take_string(r, &string)) return false;
            continue;
        }
        depth += (*r->at == '{' || *r->at == '[') - (*r->at == '}' || *r->at == ']');
        r->at++;
    } while (depth > 0);
    piece->length = (size_t)(r->at - piece->text);
    return true;
}

/* A word or a number. */
static void take_rest(struct reader *r, struct piece *piece)
{
    piece->text = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || strchr("+-.", *r->at))) r->at++;
    piece->length = (size_t)(r->at - piece->text);
}

static bool is_word(const struct piece *piece, const char *word)
{
    return strlen(word) == piece->length && memcmp(piece->text, word, piece->length) == 0;
}

/* NULL: it is no plain number. */
static json_t *read_number(const struct piece *piece)
{
    char text[DIGITS_MAX + 4];
    if (piece->length == 0 || piece->length >= sizeof text) return NULL;
    memcpy(text, piece->text, piece->length);
    text[piece->length] = '\0';
    const char *const first = text + (text[0] == '-'), *at = first;
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || (digits > 1 && *at == '0')) return NULL;
    at += digits;
    const bool fraction = *at == '.';
    if (fraction) {
        const size_t more = strspn(++at, "0123456789");
        if (more == 0) return NULL;
        digits += more;
        at += more;
    }
    if (*at || digits > DIGITS_MAX) return NULL;
    return fraction ? json_real(number_double(text, NULL)) : json_integer(strtoll(text, NULL, 10));
}

static json_t *read_rest(const struct piece *piece)
{
    if (is_word(piece, "true")) return json_true();
    if (is_word(piece, "false")) return json_false();
    if (is_word(piece, "null")) return json_null();
    return read_number(piece);
}

/* NULL: only jansson can read it, if anything can. */
static json_t *read_value(struct reader *r)
{
    struct piece piece;
    skip_blanks(r);
    if (r->at == r->end) return NULL;
    if (*r->at == '"') return take_string(r, &piece) ? json_stringn_nocheck(piece.text, piece.length) : NULL;
    if (*r->at == '{' || *r->at == '[')
        return take_nested(r, &piece) ? json_loadb(piece.text, piece.length, JSON_REJECT_DUPLICATES, NULL)
                                      : NULL;
    take_rest(r, &piece);
    return read_rest(&piece);
}

/* False: it is there already, it is too long, or there are too many. */
static bool remember(struct reader *r, const struct piece *key)
{
    for (int i = 0; i < r->count; i++)
        if (r->keys[i].length == key->length && memcmp(r->keys[i].text, key->text, key->length) == 0)
            return false;
    if (r->count == MEMBERS_MAX || key->length > KEY_MAX) return false;
    r->keys[r->count++] = *key;
    return true;
}

/* Takes the value. */
static bool set_member(json_t *object, const struct piece *key, json_t *value)
{
    char text[KEY_MAX + 1];
    memcpy(text, key->text, key->length);
    text[key->length] = '\0';
    return json_object_set_new_nocheck(object, text, value) == 0;
}

static bool read_member(struct reader *r, json_t *object, const char *const *wanted)
{
    struct piece key;
    if (!take_string(r, &key) || !remember(r, &key) || !take(r, ':')) return false;
    json_t *value = read_value(r);
    if (!value) return false;
    const bool all = !wanted;
    while (wanted && *wanted && !is_word(&key, *wanted)) wanted++;
    if (all || *wanted) return set_member(object, &key, value);
    json_decref(value);
    return true;
}

json_t *json_pick(const char *text, size_t length, const char *const *wanted)
{
    struct reader r = {.at = text, .end = text + length};
    json_t *object = json_object();
    bool good = object && take(&r, '{');
    if (good && !take(&r, '}')) {
        do good = read_member(&r, object, wanted);
        while (good && take(&r, ','));
        good = good && take(&r, '}');
    }
    skip_blanks(&r);
    if (good && r.at == r.end) return object;
    json_decref(object);
    return NULL;
}
