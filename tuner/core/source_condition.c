#include "source_condition.h"

#include <string.h>

#define EXPANSIONS_MAX 16 /* macros within macros */
#define DEPTH_MAX      64 /* parentheses and operators */
#define PIECES_MAX     10000

struct macro *macros_find(struct macros *macros, const struct token *name)
{
    for (int i = 0; i < macros->count; i++)
        if (token_equal(&macros->macro[i].name, name)) return &macros->macro[i];
    return NULL;
}

struct macro *macros_add(struct macros *macros, const struct token *name)
{
    struct macro *macro = macros_find(macros, name);
    if (macro || macros->count == MACROS_MAX) return macro;
    macro = &macros->macro[macros->count++];
    *macro = (struct macro){.name = *name, .given = -1};
    return macro;
}

static bool is_of_compiler(const struct token *name)
{
    return name->length > 1 && name->begin[0] == '_' && name->begin[1] == '_';
}

enum answer condition_defined(struct macros *macros, const struct token *name)
{
    const struct macro *macro = macros_find(macros, name);
    if (macro && macro->kind == MACRO_OPEN) return ANSWER_OPEN;
    if (macro) return macro->kind == MACRO_UNDEFINED ? ANSWER_NO : ANSWER_YES;
    return is_of_compiler(name) ? ANSWER_OPEN : ANSWER_NO;
}

/* An intmax_t or, if an operand is one, a uintmax_t. */
struct value {
    uint64_t bits;
    bool is_unsigned, open;
};

static const struct value open_value = {.open = true};

static struct value value_of(int64_t x)
{
    return (struct value){.bits = (uint64_t)x};
}

/* A position in the expression: in the line, or in the body of a macro used within it, and so on. */
struct place {
    const char *at;
    const struct macro *macro; /* NULL: in the line */
};

struct expression {
    struct macros *macros;
    struct place place[EXPANSIONS_MAX];
    int places, depth, pieces;
    struct token next; /* TOKEN_END after the last one */
    bool broken;       /* not an expression, or its value is unknown here */
};

/* The next token, without expansion. */
static void advance_raw(struct expression *e)
{
    e->next = (struct token){.kind = TOKEN_END, .begin = ""};
    e->broken |= e->pieces++ == PIECES_MAX;
    if (e->broken) return;
    while (e->places > 0) {
        struct place *place = &e->place[e->places - 1];
        const struct token t = token_at(place->at, false);
        if (t.kind != TOKEN_END && !t.first_of_line) {
            place->at = token_end(&t);
            e->next = t;
            return;
        }
        e->places--;
    }
}

static bool is_expanding(const struct expression *e, const struct macro *macro)
{
    for (int i = 0; i < e->places; i++)
        if (e->place[i].macro == macro) return true;
    return false;
}

/* The next token, with macros expanded. */
static void advance(struct expression *e)
{
    for (advance_raw(e); e->next.kind == TOKEN_NAME; advance_raw(e)) {
        const struct macro *macro = macros_find(e->macros, &e->next);
        if (!macro || macro->kind == MACRO_UNDEFINED || is_expanding(e, macro)) return;
        if (macro->kind != MACRO_OBJECT || e->places == EXPANSIONS_MAX) {
            e->broken = true;
            return;
        }
        if (macro->given >= 0) e->macros->asked |= UINT64_C(1) << macro->given;
        e->place[e->places++] = (struct place){macro->body, macro};
    }
}

static bool take(struct expression *e, const char *text)
{
    if (e->next.kind != TOKEN_PUNCTUATION || !token_is(&e->next, text)) return false;
    advance(e);
    return true;
}

static struct value read_number(struct expression *e)
{
    char digits[80];
    size_t length = 0;
    bool is_unsigned = false;
    for (size_t i = 0; i < e->next.length; i++) {
        if (e->next.begin[i] == '\'') continue;
        if (length + 1 == sizeof digits) return e->broken = true, open_value;
        digits[length++] = e->next.begin[i];
    }
    for (; length > 0 && strchr("uUlL", digits[length - 1]); length--)
        is_unsigned |= digits[length - 1] == 'u' || digits[length - 1] == 'U';
    size_t at = 0;
    unsigned base = 10;
    if (length > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) base = 16, at = 2;
    else if (length > 2 && digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B')) base = 2, at = 2;
    else if (length > 1 && digits[0] == '0') base = 8, at = 1;
    uint64_t bits = 0;
    for (e->broken |= length == 0; at < length; at++) {
        const char c = digits[at];
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                      : 16;
        if (digit >= base || __builtin_mul_overflow(bits, base, &bits) ||
            __builtin_add_overflow(bits, digit, &bits))
            return e->broken = true, open_value;
    }
    advance(e);
    return (struct value){.bits = bits, .is_unsigned = is_unsigned || bits > INT64_MAX};
}

/* defined X, defined(X) */
static struct value read_defined(struct expression *e)
{
    advance_raw(e);
    const bool closes = e->next.kind == TOKEN_PUNCTUATION && token_is(&e->next, "(");
    if (closes) advance_raw(e);
    if (e->next.kind != TOKEN_NAME) return e->broken = true, open_value;
    const enum answer answer = condition_defined(e->macros, &e->next);
    if (closes) advance_raw(e);
    if (closes && !(e->next.kind == TOKEN_PUNCTUATION && token_is(&e->next, ")"))) e->broken = true;
    advance(e);
    return answer == ANSWER_OPEN ? open_value : value_of(answer == ANSWER_YES);
}

/* A name that is not a macro is 0, except for names of the language and of the compiler. */
static struct value read_name(struct expression *e)
{
    if (token_is(&e->next, "defined")) return read_defined(e);
    if (token_is(&e->next, "true")) return advance(e), value_of(1);
    const bool own = is_of_compiler(&e->next);
    advance(e);
    if (own && token_is(&e->next, "(")) e->broken = true; /* __has_include(<x>) */
    return own ? open_value : value_of(0);
}

static struct value read_choice(struct expression *e);

static struct value read_unary(struct expression *e)
{
    struct value x = open_value;
    if (e->broken || e->depth == DEPTH_MAX) return e->broken = true, x;
    e->depth++;
    if (take(e, "!")) {
        x = read_unary(e);
        if (!x.open) x = value_of(x.bits == 0);
    } else if (take(e, "-")) {
        x = read_unary(e);
        x.bits = -x.bits;
    } else if (take(e, "~")) {
        x = read_unary(e);
        x.bits = ~x.bits;
    } else if (take(e, "+")) {
        x = read_unary(e);
    } else if (take(e, "(")) {
        x = read_choice(e);
        e->broken |= !take(e, ")");
    } else if (e->next.kind == TOKEN_NUMBER) {
        x = read_number(e);
    } else if (e->next.kind == TOKEN_NAME) {
        x = read_name(e);
    } else {
        e->broken = true;
    }
    e->depth--;
    return x;
}

/* Binary operators, from lowest to highest precedence. */
static const char *const operators[][5] = {
    {"||"},       {"&&"},     {"|"},           {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
};
#define LEVELS ((int)(sizeof operators / sizeof *operators))

static struct value apply_logic(const char *how, struct value x, struct value y)
{
    const bool decides = how[0] == '|'; /* one true operand decides */
    if ((!x.open && (x.bits != 0) == decides) || (!y.open && (y.bits != 0) == decides))
        return value_of(decides);
    return x.open || y.open ? open_value : value_of(!decides);
}

static struct value apply_shift(const char *how, struct value x, struct value y)
{
    const int64_t by = (int64_t)y.bits;
    if (by < 0 || by > 63 || y.bits > 63) return open_value;
    if (how[0] == '<') x.bits <<= by;
    else x.bits = x.is_unsigned || (int64_t)x.bits >= 0 ? x.bits >> by : ~(~x.bits >> by);
    return x;
}

static struct value apply_division(const char *how, struct value x, struct value y, bool is_unsigned)
{
    const int64_t a = (int64_t)x.bits, b = (int64_t)y.bits;
    const bool quotient = how[0] == '/';
    struct value z = {.is_unsigned = is_unsigned};
    if (b == 0 || (!is_unsigned && a == INT64_MIN && b == -1)) return open_value;
    if (is_unsigned) z.bits = quotient ? x.bits / y.bits : x.bits % y.bits;
    else z.bits = (uint64_t)(quotient ? a / b : a % b);
    return z;
}

static struct value apply_order(const char *how, struct value x, struct value y, bool is_unsigned)
{
    const bool less = is_unsigned ? x.bits < y.bits : (int64_t)x.bits < (int64_t)y.bits;
    const bool equal = x.bits == y.bits, or_equal = how[1] == '=';
    if (how[0] == '=') return value_of(equal);
    if (how[0] == '!') return value_of(!equal);
    return value_of((equal && or_equal) || (!equal && (how[0] == '<') == less));
}

static struct value apply(const char *how, struct value x, struct value y)
{
    const bool is_unsigned = x.is_unsigned || y.is_unsigned;
    if (strcmp(how, "||") == 0 || strcmp(how, "&&") == 0) return apply_logic(how, x, y);
    if (x.open || y.open) return open_value;
    if (strcmp(how, "<<") == 0 || strcmp(how, ">>") == 0) return apply_shift(how, x, y);
    if (strchr("<>=!", how[0])) return apply_order(how, x, y, is_unsigned);
    struct value z = {.is_unsigned = is_unsigned};
    switch (how[0]) {
    case '|':
        z.bits = x.bits | y.bits;
        return z;
    case '^':
        z.bits = x.bits ^ y.bits;
        return z;
    case '&':
        z.bits = x.bits & y.bits;
        return z;
    case '+':
        z.bits = x.bits + y.bits;
        return z;
    case '-':
        z.bits = x.bits - y.bits;
        return z;
    case '*':
        z.bits = x.bits * y.bits;
        return z;
    default:
        return apply_division(how, x, y, is_unsigned);
    }
}

static const char *take_operator(struct expression *e, int level)
{
    for (int i = 0; operators[level][i]; i++)
        if (take(e, operators[level][i])) return operators[level][i];
    return NULL;
}

static struct value read_binary(struct expression *e, int level)
{
    if (level == LEVELS) return read_unary(e);
    struct value x = read_binary(e, level + 1);
    for (const char *how; !e->broken && (how = take_operator(e, level));)
        x = apply(how, x, read_binary(e, level + 1));
    return x;
}

static struct value read_choice(struct expression *e)
{
    if (e->broken || e->depth == DEPTH_MAX) return e->broken = true, open_value;
    e->depth++;
    struct value x = read_binary(e, 0);
    if (!e->broken && take(e, "?")) {
        const struct value yes = read_choice(e);
        e->broken |= !take(e, ":");
        const struct value no = read_choice(e);
        const bool is_unsigned = yes.is_unsigned || no.is_unsigned;
        if (!x.open) x = x.bits ? yes : no;
        x.is_unsigned |= is_unsigned;
    }
    e->depth--;
    return x;
}

enum answer condition_holds(struct macros *macros, const char *at)
{
    struct expression e = {.macros = macros, .place = {{at, NULL}}, .places = 1};
    advance(&e);
    const struct value x = read_choice(&e);
    if (e.broken || e.next.kind != TOKEN_END || x.open) return ANSWER_OPEN;
    return x.bits ? ANSWER_YES : ANSWER_NO;
}
