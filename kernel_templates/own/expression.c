/* expression.c — a recursive descent that writes steps for a machine with a stack, and the machine.
 *
 * A step takes its left operand from the stack and its right one from where it is: a variable and a constant
 * need no step of their own, so that BM % WM == 0 are three steps.
 */
#include "expression.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The first ones have two operands. */
enum op {
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    CEIL,
    MIN,
    MAX,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    PUSH,
    NEG,
    NOT,
    BOOL,
    SKIP_IF,
    SKIP_UNLESS,
    SKIP,
    DROP
};
enum from { STACK, CONSTANT, NAME };

#define DEPTH_MAX 64

struct compiler {
    const char *text, *at;
    const struct expression_names *names;
    struct expression *out;
    struct expression_error *error;
    int depth; /* of the parser */
    int stack; /* values on the machine's */
    int fence; /* steps before it are not changed: jumps lead there */
    bool failed;
};

static bool wrong(struct compiler *c, const char *at, const char *what)
{
    if (!c->failed) {
        c->error->at = (size_t)(at - c->text);
        snprintf(c->error->what, sizeof c->error->what, "%s", what);
    }
    c->failed = true;
    return false;
}

/* ---- steps ---- */

static bool add(struct compiler *c, enum op op, enum from from, int at, int64_t value)
{
    struct expression *e = c->out;
    if (e->steps == EXPRESSION_STEPS_MAX) return wrong(c, c->at, "the expression is too long");
    e->step[e->steps++] = (struct expression_step){
        .op = (uint8_t)op, .from = (uint8_t)from, .at = (uint16_t)at, .value = value};
    return true;
}

static bool push(struct compiler *c, enum from from, int at, int64_t value)
{
    if (++c->stack > EXPRESSION_STACK_MAX) return wrong(c, c->at, "the expression is nested too deeply");
    return add(c, PUSH, from, at, value);
}

/* Both operands are there: a right one that was only pushed is taken from where it is. */
static bool combine(struct compiler *c, enum op op)
{
    struct expression *e = c->out;
    c->stack--;
    struct expression_step *last = e->steps > c->fence ? &e->step[e->steps - 1] : NULL;
    if (!last || last->op != PUSH) return add(c, op, STACK, 0, 0);
    last->op = (uint8_t)op;
    return true;
}

static int jump(struct compiler *c, enum op op)
{
    return add(c, op, STACK, 0, 0) ? c->out->steps - 1 : -1;
}

static void land(struct compiler *c, int jump)
{
    if (jump < 0) return;
    c->out->step[jump].at = (uint16_t)c->out->steps;
    c->fence = c->out->steps;
}

/* ---- text ---- */

static void skip_blanks(struct compiler *c)
{
    while (isspace((unsigned char)*c->at)) c->at++;
}

static bool take(struct compiler *c, const char *sign)
{
    skip_blanks(c);
    const size_t length = strlen(sign);
    if (strncmp(c->at, sign, length) != 0) return false;
    c->at += length;
    return true;
}

static bool take_ternary(struct compiler *c);

static bool expect(struct compiler *c, const char *sign)
{
    char what[40];
    if (take(c, sign)) return true;
    snprintf(what, sizeof what, "expected '%s'", sign);
    return wrong(c, c->at, what);
}

static bool take_number(struct compiler *c)
{
    const char *const begin = c->at;
    int64_t value = 0;
    for (; isdigit((unsigned char)*c->at); c->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c->at - '0', &value))
            return wrong(c, begin, "the number is larger than 2^63 - 1");
    if (isalpha((unsigned char)*c->at) || *c->at == '_' || *c->at == '.')
        return wrong(c, begin, "expected a whole number in decimal digits");
    return push(c, CONSTANT, 0, value);
}

/* ceil(x, y), min(x, ...), max(x, ...), whose name has been read. */
static bool take_call(struct compiler *c, const char *name, enum op op)
{
    int arguments = 0;
    do {
        if (!take_ternary(c)) return false;
        if (++arguments > 1 && !combine(c, op)) return false;
        if (arguments == 2 && op == CEIL) break;
    } while (take(c, ","));
    return arguments < 2
               ? wrong(c, name, op == CEIL ? "expected ceil(x, y)" : "expected two arguments or more")
               : expect(c, ")");
}

static bool take_name(struct compiler *c)
{
    static const struct {
        const char *name;
        enum op op;
    } functions[] = {{"ceil", CEIL}, {"min", MIN}, {"max", MAX}};
    const char *const begin = c->at;
    while (isalnum((unsigned char)*c->at) || *c->at == '_') c->at++;
    const size_t length = (size_t)(c->at - begin);
    for (int i = 0; i < c->names->count; i++) {
        const char *const name = c->names->name[i];
        if (!name || strlen(name) != length || strncmp(name, begin, length) != 0) continue;
        c->out->uses |= UINT64_C(1) << i;
        return push(c, NAME, i, 0);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, begin, length) == 0)
            return expect(c, "(") && take_call(c, begin, functions[i].op);
    char what[sizeof c->error->what];
    snprintf(what, sizeof what, "unknown name '%.*s'; expected a parameter, M, N, K, ..., ceil, min or max",
             (int)(length < 40 ? length : 40), begin);
    return wrong(c, begin, what);
}

static bool take_primary(struct compiler *c)
{
    skip_blanks(c);
    if (take(c, "(")) return take_ternary(c) && expect(c, ")");
    if (isdigit((unsigned char)*c->at)) return take_number(c);
    if (isalpha((unsigned char)*c->at) || *c->at == '_') return take_name(c);
    return wrong(c, c->at, "expected a number, a name or '('");
}

static bool take_unary(struct compiler *c)
{
    skip_blanks(c);
    if (++c->depth > DEPTH_MAX) return wrong(c, c->at, "the expression is nested too deeply");
    bool good;
    if (*c->at == '-') good = c->at++, take_unary(c) && add(c, NEG, STACK, 0, 0);
    else if (*c->at == '!' && c->at[1] != '=') good = c->at++, take_unary(c) && add(c, NOT, STACK, 0, 0);
    else good = take_primary(c);
    c->depth--;
    return good;
}

/* Binary operators that associate to the left; longer signs before those that begin alike. */
static const struct {
    const char *sign;
    int level;
    enum op op;
} operators[] = {{"==", 0, EQ}, {"!=", 0, NE}, {"<=", 1, LE}, {">=", 1, GE}, {"<", 1, LT}, {">", 1, GT},
                 {"+", 2, ADD}, {"-", 2, SUB}, {"*", 3, MUL}, {"/", 3, DIV}, {"%", 3, MOD}};

static bool take_binary(struct compiler *c, int level)
{
    if (level > 3) return take_unary(c);
    if (!take_binary(c, level + 1)) return false;
    for (;;) {
        size_t i = 0, count = sizeof operators / sizeof *operators;
        while (i < count && (operators[i].level != level || !take(c, operators[i].sign))) i++;
        if (i == count) return true;
        if (!take_binary(c, level + 1) || !combine(c, operators[i].op)) return false;
    }
}

/* x && y, x || y: y is not evaluated where x decides, and the result is 0 or 1. */
static bool take_logical(struct compiler *c, bool or)
{
    if (!(or ? take_logical(c, false) : take_binary(c, 0))) return false;
    while (take(c, or ? "||" : "&&")) {
        if (!add(c, BOOL, STACK, 0, 0)) return false;
        const int over = jump(c, or ? SKIP_IF : SKIP_UNLESS);
        if (over < 0 || !add(c, DROP, STACK, 0, 0)) return false;
        c->stack--;
        c->fence = c->out->steps;
        if (!(or ? take_logical(c, false) : take_binary(c, 0)) || !add(c, BOOL, STACK, 0, 0)) return false;
        land(c, over);
    }
    return true;
}

static bool take_ternary(struct compiler *c)
{
    if (++c->depth > DEPTH_MAX) return wrong(c, c->at, "the expression is nested too deeply");
    bool good = take_logical(c, true);
    if (good && take(c, "?")) {
        const int otherwise = jump(c, SKIP_UNLESS);
        good = otherwise >= 0 && add(c, DROP, STACK, 0, 0);
        c->stack--;
        c->fence = c->out->steps;
        good = good && take_ternary(c) && expect(c, ":");
        const int end = good ? jump(c, SKIP) : -1;
        if (good) land(c, otherwise);
        good = end >= 0 && add(c, DROP, STACK, 0, 0);
        c->stack--;
        c->fence = c->out->steps;
        good = good && take_ternary(c);
        if (good) land(c, end);
    }
    c->depth--;
    return good;
}

bool expression_compile(const char *text, const struct expression_names *names, struct expression *out,
                        size_t *length, struct expression_error *error)
{
    struct compiler c = {.text = text, .at = text, .names = names, .out = out, .error = error};
    memset(out, 0, sizeof *out);
    *error = (struct expression_error){.at = 0};
    const bool good = take_ternary(&c);
    while (c.at > text && isspace((unsigned char)c.at[-1])) c.at--;
    *length = (size_t)(c.at - text);
    if (!good) out->steps = 0;
    return good;
}

int expression_needs(const struct expression *e, int first)
{
    const uint64_t used = e->uses & ((UINT64_C(1) << first) - 1);
    return used ? 64 - __builtin_clzll(used) : 0;
}

/* ---- evaluation ---- */

/* Most numbers are small, and a division of 32 bits takes a third of the time. */
static int64_t quotient(int64_t x, int64_t y)
{
    return (uint64_t)(x | y) <= UINT32_MAX ? (int64_t)((uint32_t)x / (uint32_t)y) : x / y;
}

static int64_t remainder_of(int64_t x, int64_t y)
{
    return (uint64_t)(x | y) <= UINT32_MAX ? (int64_t)((uint32_t)x % (uint32_t)y) : x % y;
}

static int64_t divide_up(int64_t x, int64_t y)
{
    const int64_t q = quotient(x, y);
    return q + (x != q * y && (x > 0) == (y > 0));
}

/* x op y; false: it overflows. */
static bool divide(enum op op, int64_t x, int64_t y, int64_t *result)
{
    if (y == -1 && x == INT64_MIN) return false;
    *result = op == DIV ? quotient(x, y) : op == MOD ? remainder_of(x, y) : divide_up(x, y);
    return true;
}

const char *expression_evaluate(const struct expression *e, const int64_t *values, int64_t *result)
{
    int64_t stack[EXPRESSION_STACK_MAX + 1], *below = stack, top = 0; /* the values under the top one */
    for (int i = 0; i < e->steps; i++) {
        const struct expression_step *const s = &e->step[i];
        int64_t left = top, right = 0;
        bool fits = true;
        if (s->from == NAME) right = values[s->at];
        else if (s->from == CONSTANT) right = s->value;
        else if (s->op < PUSH) right = top, left = *--below; /* NOLINT: as many were pushed */
        switch ((enum op)s->op) {
        case ADD:
            fits = !__builtin_add_overflow(left, right, &top);
            break;
        case SUB:
            fits = !__builtin_sub_overflow(left, right, &top);
            break;
        case MUL:
            fits = !__builtin_mul_overflow(left, right, &top);
            break;
        case DIV:
        case MOD:
        case CEIL:
            if (right == 0) return "it divides by 0";
            fits = divide((enum op)s->op, left, right, &top);
            break;
        case MIN:
            top = left < right ? left : right;
            break;
        case MAX:
            top = left > right ? left : right;
            break;
        case EQ:
            top = left == right;
            break;
        case NE:
            top = left != right;
            break;
        case LT:
            top = left < right;
            break;
        case LE:
            top = left <= right;
            break;
        case GT:
            top = left > right;
            break;
        case GE:
            top = left >= right;
            break;
        case PUSH:
            *below++ = top;
            top = right;
            break;
        case NEG:
            fits = !__builtin_sub_overflow((int64_t)0, top, &top);
            break;
        case NOT:
            top = !top;
            break;
        case BOOL:
            top = top != 0;
            break;
        case SKIP_IF:
            if (top) i = s->at - 1;
            break;
        case SKIP_UNLESS:
            if (!top) i = s->at - 1;
            break;
        case SKIP:
            i = s->at - 1;
            break;
        case DROP:
            top = *--below; /* NOLINT: as many were pushed */
            break;
        }
        if (!fits) return "it has more than 63 bits";
    }
    *result = top;
    return NULL;
}
