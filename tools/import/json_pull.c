#include "json_pull.h"

#include <string.h>

char pull_peek(struct pull *p)
{
    while (p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at) p->at++;
    return p->at < p->end ? *p->at : '\0';
}

static bool stop(struct pull *p)
{
    if (p->at >= p->end) p->cut = true;
    else p->wrong = true;
    return false;
}

bool pull_enter(struct pull *p, char open)
{
    if (p->cut || p->wrong) return false;
    if (pull_peek(p) != open) return stop(p);
    p->at++;
    p->inside = false;
    return true;
}

/* Up to the next key or element; false at the end of what encloses it. */
static bool next(struct pull *p, char close)
{
    if (p->cut || p->wrong) return false;
    char c = pull_peek(p);
    if (c == close) {
        p->at++;
        p->inside = true;
        return false;
    }
    if (p->inside) {
        if (c != ',') return stop(p);
        p->at++;
        c = pull_peek(p);
    }
    p->inside = false;
    return c != '\0' || stop(p);
}

json_t *pull_value(struct pull *p)
{
    if (p->cut || p->wrong) return NULL;
    json_error_t error;
    pull_peek(p);
    const size_t flags =
        JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | (p->lenient ? 0 : (size_t)JSON_REJECT_DUPLICATES);
    json_t *value = json_loadb(p->at, (size_t)(p->end - p->at), flags, &error);
    if (value) {
        p->at += error.position;
        p->inside = true;
    } else if (json_error_code(&error) == json_error_duplicate_key) {
        p->wrong = p->twice = true;
    } else if (json_error_code(&error) == json_error_premature_end_of_input ||
               error.position >= p->end - p->at) {
        p->cut = true; /* in the second case within a word or a number */
    } else {
        p->wrong = true;
    }
    return value;
}

bool pull_key(struct pull *p, char *key, size_t room)
{
    if (!next(p, '}')) return false;
    if (pull_peek(p) != '"') return stop(p);
    json_t *name = pull_value(p);
    if (!name) return false;
    size_t length = strnlen(json_string_value(name), room - 1);
    memcpy(key, json_string_value(name), length);
    key[length] = '\0';
    json_decref(name);
    if (pull_peek(p) != ':') return stop(p);
    p->at++;
    return true;
}

bool pull_element(struct pull *p)
{
    return next(p, ']');
}

/* Past the closing quote of the string that begins here. */
static bool skip_string(struct pull *p)
{
    for (p->at++; p->at < p->end; p->at++) {
        if (*p->at == '\\') p->at++;
        else if (*p->at == '"') {
            p->at++;
            return true;
        }
    }
    p->at = p->end;
    return stop(p);
}

bool pull_skip(struct pull *p)
{
    if (p->cut || p->wrong) return false;
    size_t depth = 0;
    do {
        const char c = pull_peek(p);
        if (c == '\0') return stop(p);
        if (c == '"') {
            if (!skip_string(p)) return false;
        } else if (c == '{' || c == '[') {
            depth++;
            p->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return stop(p);
            depth--;
            p->at++;
        } else if (c == ',' || c == ':') {
            if (depth == 0) return stop(p);
            p->at++;
        } else {
            while (p->at < p->end && !strchr("{}[],:\" \t\r\n", *p->at)) p->at++;
        }
    } while (depth > 0);
    p->inside = true;
    return true;
}
