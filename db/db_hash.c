#include "db_internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A tag, a length and bytes, so that different lists of values have different bytes. */
static void append(struct hasher *h, char tag, const void *bytes, size_t length)
{
    const uint32_t little = htole32((uint32_t)length);
    const size_t room = h->used + 1 + sizeof little + length;
    if (room > sizeof h->some && room > h->room) {
        unsigned char *grown = h->failed ? NULL : malloc(2 * room);
        h->failed = !grown;
        if (!grown) return;
        memcpy(grown, h->bytes ? h->bytes : h->some, h->used);
        free(h->bytes);
        h->bytes = grown;
        h->room = 2 * room;
    }
    unsigned char *at = (h->bytes ? h->bytes : h->some) + h->used;
    *at = (unsigned char)tag;
    memcpy(at + 1, &little, sizeof little);
    if (length) memcpy(at + 1 + sizeof little, bytes, length);
    h->used = room;
}

static void append_word(struct hasher *h, char tag, uint64_t word)
{
    const uint64_t little = htole64(word);
    append(h, tag, &little, sizeof little);
}

void hash_start(struct hasher *h)
{
    h->bytes = NULL;
    h->room = h->used = 0;
    h->failed = false;
}

void hash_again(struct hasher *h)
{
    h->used = 0;
}

void hash_blob(struct hasher *h, const void *bytes, size_t length)
{
    append(h, 'b', bytes, length);
}

void hash_value(struct hasher *h, sqlite3_value *value)
{
    double real;
    uint64_t word;
    switch (sqlite3_value_type(value)) { /* reading a number's bytes would convert it to text */
    case SQLITE_INTEGER:
        append_word(h, 'i', (uint64_t)sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        if (real == 0) real = 0; /* SQLite stores -0.0 as 0 */
        memcpy(&word, &real, sizeof word);
        append_word(h, 'r', word);
        break;
    case SQLITE_TEXT: {
        const void *text = sqlite3_value_text(value);
        append(h, 't', text, (size_t)sqlite3_value_bytes(value));
        break;
    }
    case SQLITE_BLOB: {
        const void *blob = sqlite3_value_blob(value);
        append(h, 'b', blob, (size_t)sqlite3_value_bytes(value));
        break;
    }
    default:
        append(h, 'n', NULL, 0);
    }
}

bool hash_end(struct hasher *h, unsigned char digest[DB_HASH_BYTES])
{
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(h->bytes ? h->bytes : h->some, h->used));
    memcpy(digest, hash.digest, DB_HASH_BYTES);
    return !h->failed;
}

void hash_free(struct hasher *h)
{
    free(h->bytes);
}

static void content_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct hasher h;
    unsigned char digest[DB_HASH_BYTES];
    hash_start(&h);
    for (int i = 0; i < count; i++) hash_value(&h, values[i]);
    if (hash_end(&h, digest)) sqlite3_result_blob(context, digest, sizeof digest, SQLITE_TRANSIENT);
    else sqlite3_result_error_nomem(context);
    hash_free(&h);
}

static void rate_text(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    char text[DB_RATE_TEXT_MAX];
    const char *name = (const char *)sqlite3_value_text(values[0]);
    const bool rate = name && sqlite3_value_type(values[1]) == SQLITE_FLOAT;
    if (rate && db_rate_format(name, sqlite3_value_double(values[1]), text))
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    else sqlite3_result_text(context, "?", -1, SQLITE_STATIC);
}

int db_register_functions(sqlite3 *handle)
{
    static const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *context, int count, sqlite3_value **values);
    } functions[] = {{"content_hash", -1, content_hash}, {"rate_text", 2, rate_text}};
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < sizeof functions / sizeof *functions; i++)
        rc = sqlite3_create_function_v2(handle, functions[i].name, functions[i].arguments, flags, NULL,
                                        functions[i].function, NULL, NULL, NULL);
    return rc;
}
