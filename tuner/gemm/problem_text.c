#include "problem_internal.h"

#include "not_done.h"
#include "number.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* Read decimal digits at *text into *value and move past them. */
static enum status parse_integer(const char *whole, const char **text, const char *name, int64_t *value)
{
    const char *start = *text;
    if (!isdigit((unsigned char)*start))
        return fail(E_INPUT, "'%s': %s must be a whole number of at least 0, found '%.16s'", whole, name,
                    start);
    errno = 0;
    char *end;
    long long parsed = strtoll(start, &end, 10);
    if (errno == ERANGE) return fail(E_INPUT, "'%s': %s does not fit in 64 bits", whole, name);
    *value = parsed;
    *text = end;
    return OK;
}

static enum status parse_scalar(const char *whole, const char **text, const char *name, double *value)
{
    char *end;
    errno = 0;
    float parsed = number_float(*text, &end);
    if (end == *text || !isfinite(parsed))
        return fail(E_INPUT, "'%s': %s must be a finite number, found '%.16s'", whole, name, *text);
    if (parsed == 0 && errno == ERANGE)
        return fail(E_INPUT, "'%s': %s = %.16s is 0 in FP32, whose smallest number is 1.4e-45", whole, name,
                    *text);
    *value = (double)parsed;
    *text = end;
    return OK;
}

static enum status parse_sizes(const char *whole, const char **text, struct problem *p)
{
    int64_t *const sizes[3] = {&p->m, &p->n, &p->k};
    static const char *const names[3] = {"M", "N", "K"};
    for (int i = 0; i < 3; i++) {
        enum status st = parse_integer(whole, text, names[i], sizes[i]);
        if (st) return st;
        if (i < 2 && *(*text)++ != 'x')
            return fail(E_INPUT, "'%s': expected 'x' after %s; a shape is MxNxK, for example 4096x4096x4096",
                        whole, names[i]);
    }
    return OK;
}

/* A refusal says which problem it is about: there may be many on a command line. */
static enum status refuse(const char *whole, enum status st)
{
    char why[300];
    snprintf(why, sizeof why, "%s", status_text());
    return fail(st, "'%s': %s", whole, why);
}

/* The name of an epilogue, up to the next option. */
static enum status parse_epilogue(const char *whole, const char **text, int *code)
{
    char name[64];
    const size_t length = strcspn(*text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), *text);
    if (epilogue_parse(name, code)) return refuse(whole, E_INPUT);
    *text += length;
    return OK;
}

/* The elements of C: those of the type, or FP32. */
static enum status parse_c(const char *whole, const char **text, enum gemm_type *type)
{
    char name[8];
    const size_t length = strcspn(*text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), *text);
    if (!gemm_type_with_c(name, type))
        return fail(E_INPUT, "'%s': c is '%.16s'; C has the elements of A and B, or f32", whole, *text);
    *text += length;
    return OK;
}

static enum status parse_prepared(const char *whole, const char **text, enum prepared_operand *prepared)
{
    char name[4];
    const size_t length = strcspn(*text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), *text);
    if (!problem_prepared_parse(name, prepared))
        return fail(E_INPUT, "'%s': prepared is '%.16s'; a or b is the operand that is prepared once", whole,
                    *text);
    *text += length;
    return OK;
}

/* An option without a value. */
static enum status parse_word(const char *whole, const char **text, const char *name, bool *given,
                              bool *found)
{
    const char *const end = *text + strlen(name);
    *found = strncmp(*text, name, strlen(name)) == 0 && (*end == '\0' || *end == ':');
    if (!*found) return OK;
    if (*given) return fail(E_INPUT, "'%s': %s is given twice", whole, name);
    *given = true;
    *text = end;
    return OK;
}

/* seen: a bit for each option that was given. */
static enum status parse_option(const char *whole, const char **text, unsigned *seen, struct problem *p)
{
    const struct {
        const char *name;
        int64_t *integer;
        double *scalar;
    } options[] = {{"batch", &p->batch, NULL},
                   {"lda", &p->lda, NULL},
                   {"ldb", &p->ldb, NULL},
                   {"ldc", &p->ldc, NULL},
                   {"stride_a", &p->stride_a, NULL},
                   {"stride_b", &p->stride_b, NULL},
                   {"stride_c", &p->stride_c, NULL},
                   {"alpha", NULL, &p->alpha},
                   {"beta", NULL, &p->beta},
                   {"epilogue", NULL, NULL},
                   {"stride_bias", &p->stride_bias, NULL},
                   {"c", NULL, NULL},
                   {"prepared", NULL, NULL}};
    bool found;
    enum status st = parse_word(whole, text, "pointers", &p->pointers, &found);
    if (!found) st = parse_word(whole, text, "invariant", &p->invariant, &found);
    if (found) return st;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        size_t length = strlen(options[i].name);
        if (strncmp(*text, options[i].name, length) != 0 || (*text)[length] != '=') continue;
        if (*seen >> i & 1) return fail(E_INPUT, "'%s': %s is given twice", whole, options[i].name);
        *seen |= 1u << i;
        *text += length + 1;
        if (options[i].scalar) return parse_scalar(whole, text, options[i].name, options[i].scalar);
        if (!options[i].integer)
            return strcmp(options[i].name, "c") == 0          ? parse_c(whole, text, &p->type)
                   : strcmp(options[i].name, "prepared") == 0 ? parse_prepared(whole, text, &p->prepared)
                                                              : parse_epilogue(whole, text, &p->epilogue);
        st = parse_integer(whole, text, options[i].name, options[i].integer);
        const bool stride = strncmp(options[i].name, "stride", 6) == 0;
        if (!st && *options[i].integer == 0 && !stride)
            st = fail(E_INPUT, "'%s': %s must be at least 1", whole, options[i].name);
        return st;
    }
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(*text, "=:"), *text);
    const char *why = not_done(word);
    if (why) return fail(E_INPUT, "'%s': %s", whole, why);
    return fail(E_INPUT,
                "'%s': unknown option at '%.16s'; known: batch pointers lda ldb ldc stride_a stride_b "
                "stride_c alpha beta "
                "epilogue stride_bias c prepared invariant",
                whole, *text);
}

static enum status unknown_type(const char *text, const char *name)
{
    char names[GEMM_TYPE_NAMES_MAX], meant[LIKELY_TEXT_MAX];
    const char *why = not_done(name);
    if (why) return fail(E_INPUT, "'%s': %s", text, why);
    return fail(E_INPUT, "'%s': unknown type or op '%s'; types: %s, ops: nn nt tn tt%s", text, name,
                gemm_type_names(names), gemm_type_likely(name, meant));
}

enum status problem_parse(const char *text, struct problem *problem)
{
    return problem_parse_as(text, GEMM_TYPE_DEFAULT, problem);
}

enum status problem_parse_as(const char *text, enum gemm_type type, struct problem *problem)
{
    const char *at = text;
    struct problem p = {.type = type, .batch = 1, .alpha = 1.0, STRIDES_ABSENT};
    if (strlen(text) >= PROBLEM_TEXT_MAX)
        return fail(E_INPUT, "'%.60s...': a problem is at most %d characters", text, PROBLEM_TEXT_MAX - 1);

    for (const char *colon; isalpha((unsigned char)*at) && (colon = strchr(at, ':'));) {
        int length = (int)(colon - at);
        if (length == 2 && (at[0] == 'n' || at[0] == 't') && (at[1] == 'n' || at[1] == 't')) {
            p.trans_a = at[0] == 't';
            p.trans_b = at[1] == 't';
            at = colon + 1;
            break;
        }
        char name[PROBLEM_TEXT_MAX];
        snprintf(name, sizeof name, "%.*s", length, at);
        if (at != text || !gemm_type_find(name, &p.type)) return unknown_type(text, name);
        at = colon + 1;
    }

    unsigned seen = 0;
    enum status st = parse_sizes(text, &at, &p);
    while (!st && *at == ':') {
        at++;
        st = parse_option(text, &at, &seen, &p);
    }
    if (st) return st;
    if (*at != '\0') return fail(E_INPUT, "'%s': unexpected '%.16s' after the shape", text, at);

    /* Sizes first: the defaults are products of them. */
    const int64_t dims[3] = {p.m, p.n, p.k};
    for (int i = 0; i < 3; i++)
        if (dims[i] > PROBLEM_DIM_MAX)
            return fail(E_INPUT, "'%s': %c = %" PRId64 " is above the limit of %d", text, "MNK"[i], dims[i],
                        PROBLEM_DIM_MAX);
    if (p.pointers &&
        (p.stride_a != STRIDE_ABSENT || p.stride_b != STRIDE_ABSENT || p.stride_c != STRIDE_ABSENT))
        return fail(E_INPUT, "'%s': " PROBLEM_NO_STRIDES, text);
    if ((st = problem_check_ld(&p))) return refuse(text, st);
    problem_set_defaults(&p);
    if ((st = problem_check(&p))) return refuse(text, st);
    *problem = p;
    return OK;
}

/* ---- writing ---- */

static void format(const struct problem *problem, char *text, int number(char *, size_t, float))
{
    struct problem plain = {.type = problem->type,
                            .trans_a = problem->trans_a,
                            .trans_b = problem->trans_b,
                            .m = problem->m,
                            .n = problem->n,
                            .k = problem->k,
                            .batch = problem->batch,
                            STRIDES_ABSENT};
    problem_set_defaults(&plain);
    struct problem strided = plain; /* a stride's default follows the leading dimension */
    strided.lda = problem->lda, strided.ldb = problem->ldb, strided.ldc = problem->ldc;
    strided.stride_a = strided.stride_b = strided.stride_c = STRIDE_ABSENT;
    problem_set_defaults(&strided);

    const char *const type = gemm_type_row(problem->type)->name, *const of_c = type + strcspn(type, ":");
    int used =
        snprintf(text, PROBLEM_TEXT_MAX, "%.*s:%s:%" PRId64 "x%" PRId64 "x%" PRId64 "%s", (int)(of_c - type),
                 type, problem_op_name(problem), problem->m, problem->n, problem->k, of_c);
    const struct {
        const char *name;
        int64_t value, usual;
    } options[] = {{"batch", problem->batch, 1},
                   {"lda", problem->lda, plain.lda},
                   {"ldb", problem->ldb, plain.ldb},
                   {"ldc", problem->ldc, plain.ldc},
                   {"stride_a", problem->stride_a, strided.stride_a},
                   {"stride_b", problem->stride_b, strided.stride_b},
                   {"stride_c", problem->stride_c, strided.stride_c}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        bool batch_only = strncmp(options[i].name, "stride", 6) == 0;
        if (options[i].value == options[i].usual || (batch_only && problem->batch == 1)) continue;
        used += snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), ":%s=%" PRId64, options[i].name,
                         options[i].value);
    }
    if (problem->pointers) used += snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), ":pointers");
    if (problem->prepared)
        used += snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), ":prepared=%c",
                         problem->prepared == PREPARED_A ? 'a' : 'b');
    if (problem->invariant) used += snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), ":invariant");
    const struct {
        const char *name;
        double value, usual;
    } scalars[] = {{":alpha=", problem->alpha, 1.0}, {":beta=", problem->beta, 0.0}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (scalars[i].value == scalars[i].usual) continue;
        used += snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), "%s", scalars[i].name);
        used += number(text + used, (size_t)(PROBLEM_TEXT_MAX - used), (float)scalars[i].value);
    }
    if (problem->epilogue == 0) return;
    char epilogue[EPILOGUE_TEXT_MAX];
    epilogue_format(problem->epilogue, epilogue);
    used += snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), ":epilogue=%s", epilogue);
    if (problem->stride_bias > 0 && problem->batch > 1)
        snprintf(text + used, (size_t)(PROBLEM_TEXT_MAX - used), ":stride_bias=%" PRId64,
                 problem->stride_bias);
}

void problem_format(const struct problem *problem, char *text)
{
    format(problem, text, number_format_float);
}

static int nine_digits(char *text, size_t room, float value)
{
    return number_format(text, room, 9, (double)value);
}

void problem_key(const struct problem *problem, char *text)
{
    format(problem, text, nine_digits);
}

bool problem_equal(const struct problem *x, const struct problem *y)
{
    char xt[PROBLEM_TEXT_MAX], yt[PROBLEM_TEXT_MAX];
    problem_format(x, xt);
    problem_format(y, yt);
    return strcmp(xt, yt) == 0;
}

struct problem problem_class(const struct problem *problem)
{
    struct problem p = *problem;
    p.alpha = p.alpha != 0;
    p.beta = p.beta != 0;
    return p;
}

bool problem_alike(const struct problem *x, const struct problem *y)
{
    const struct problem of_x = problem_class(x), of_y = problem_class(y);
    return problem_equal(&of_x, &of_y);
}

bool problem_alike_but_m(const struct problem *x, const struct problem *y)
{
    struct problem like = *y;
    like.m = x->m;
    if (like.trans_a) like.lda = x->lda;
    like.stride_a = x->stride_a;
    like.stride_c = x->stride_c;
    like.stride_bias = x->stride_bias;
    return problem_alike(&like, x);
}
