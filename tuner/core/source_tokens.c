#include "source_tokens.h"

#include <string.h>

enum class { NOTHING, BLANK, LETTER, DIGIT, QUOTE, OTHER };

/* ASCII, 16 per line; bytes of other characters belong to names. */
static enum class class_of(char c) {
    static const unsigned char classes[128] =
        {
            0, 5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 5, 5, /* control characters */
            5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, /**/
            1, 5, 4, 5, 2, 5, 5, 4, 5, 5, 5, 5, 5, 5, 5, 5, /* ' ' ! " # $ % & ' ( ) * + , - . / */
            3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 5, /* 0 ... 9 : ; < = > ? */
            5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* @ A ... O */
            2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 5, 5, 5, 2, /* P ... Z [ \ ] ^ _ */
            5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* ` a ... o */
            2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 5, 5, 5, 5, /* p ... z { | } ~ */
        };
    const unsigned char byte = (unsigned char)c;
    return byte < 128 ? (enum class)classes[byte] : LETTER;
}

static bool in_name(char c)
{
    const enum class class = class_of(c);
    return class == LETTER || class == DIGIT;
}

/* Length of a backslash and the end of its line; 0 if it is something else. */
static size_t splice_length(const char *at)
{
    if (*at != '\\') return 0;
    size_t length = 1;
    while (at[length] == '\r') length++;
    return at[length] == '\n' ? length + 1 : 0;
}

static size_t comment_length(const char *at)
{
    if (at[0] != '/' || (at[1] != '/' && at[1] != '*')) return 0;
    size_t length = 2;
    if (at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? (size_t)(end + 2 - at) : strlen(at);
    }
    for (size_t splice; at[length] && at[length] != '\n'; length += splice ? splice : 1)
        splice = splice_length(at + length);
    return length;
}

/* An unterminated literal ends with its line: #error don't */
static size_t literal_length(const char *at)
{
    size_t length = 1;
    while (at[length] && at[length] != '\n' && at[length] != *at) {
        const size_t splice = splice_length(at + length);
        if (splice) length += splice;
        else length += at[length] == '\\' && at[length + 1] ? 2 : 1;
    }
    return length + (at[length] == *at);
}

/* 0x1Fu, 1e-5f, .5, 1'000 */
static size_t number_length(const char *at)
{
    size_t length = 1;
    for (;; length++) {
        const char c = at[length], before = at[length - 1];
        const bool sign = (c == '+' || c == '-') && strchr("eEpP", before);
        const bool separator = c == '\'' && in_name(at[length + 1]);
        if (!in_name(c) && c != '.' && !sign && !separator) return length;
    }
}

static size_t punctuation_length(const char *at)
{
    static const char *const three[] = {"<<=", ">>=", "...", "->*", "<=>"};
    static const char *const two[] = {"::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&",
                                      "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", ".*"};
    if (class_of(at[1]) != OTHER || strchr("(){}[];,", at[0])) return 1;
    for (size_t i = 0; i < sizeof three / sizeof *three; i++)
        if (strncmp(at, three[i], 3) == 0) return 3;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (at[0] == two[i][0] && at[1] == two[i][1]) return 2;
    return 1;
}

struct token token_at(const char *at, bool begins)
{
    struct token t = {.first_of_line = begins, .after_blank = begins};
    for (size_t skip;; at += skip) {
        if (class_of(*at) == BLANK) {
            t.first_of_line |= *at == '\n';
            skip = 1;
        } else {
            skip = *at == '/' ? comment_length(at) : splice_length(at);
            if (!skip) break;
        }
        t.after_blank = true;
    }
    t.begin = at;
    switch (class_of(*at)) {
    case NOTHING:
        t.kind = TOKEN_END;
        break;
    case LETTER:
        t.kind = TOKEN_NAME;
        for (t.length = 1; in_name(at[t.length]);) t.length++;
        break;
    case QUOTE:
        t.kind = TOKEN_LITERAL;
        t.length = literal_length(at);
        break;
    case DIGIT:
        t.kind = TOKEN_NUMBER;
        t.length = number_length(at);
        break;
    default:
        t.kind = TOKEN_PUNCTUATION;
        if (*at == '.' && class_of(at[1]) == DIGIT) {
            t.kind = TOKEN_NUMBER;
            t.length = number_length(at);
        } else {
            t.length = punctuation_length(at);
        }
    }
    return t;
}

bool token_is(const struct token *t, const char *text)
{
    return strncmp(t->begin, text, t->length) == 0 && text[t->length] == '\0';
}

bool token_equal(const struct token *x, const struct token *y)
{
    return x->length == y->length && memcmp(x->begin, y->begin, x->length) == 0;
}

bool token_is_raw_string(const struct token *name)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    if (name->kind != TOKEN_NAME || *token_end(name) != '"') return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (token_is(name, prefixes[i])) return true;
    return false;
}
