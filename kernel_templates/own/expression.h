/* expression.h — integer expressions of a kernel's description (describe.h), compiled once and evaluated for
 * each candidate.
 *
 * 64-bit integers; overflow and division by zero are noticed. In the order of precedence, as in C: ?: || &&
 * == != < <= > >= + - * / % unary - and !, parentheses; ceil(x, y), which is x / y rounded up, min(x, ...),
 * max(x, ...). Knows no kernel: names are those of a list.
 *
 * muParser's integer mode, Debian's nearest, computes in doubles (2^53, no overflow, no division by zero), is
 * C++, and the runtime library, which evaluates grids of stored kernels, would depend on it.
 */
#ifndef GT_EXPRESSION_H
#define GT_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPRESSION_STEPS_MAX 128
#define EXPRESSION_STACK_MAX 24
#define EXPRESSION_NAMES_MAX 64

/* One step of the evaluation: see expression.c. */
struct expression_step {
    uint8_t op, from; /* from: where the right operand is */
    uint16_t at;      /* which variable, or the step to jump to */
    int64_t value;    /* of a constant */
};

struct expression {
    uint64_t uses; /* bit i: name i occurs */
    int steps;     /* 0: there is no expression */
    struct expression_step step[EXPRESSION_STEPS_MAX];
};

/* The names that an expression may use; their values are asked for by their numbers. NULL: a number that has
 * no name here. */
struct expression_names {
    const char *const *name;
    int count;
};

/* What is wrong, and where in the text. */
struct expression_error {
    size_t at;
    char what[160];
};

/* Compiles the longest expression at the start of the text. *length: how many characters it has. False: there
 * is none, or it is wrong. */
bool expression_compile(const char *text, const struct expression_names *names, struct expression *out,
                        size_t *length, struct expression_error *error);

/* values: of the names, by their numbers; those that do not occur are not looked at. NULL, or why there is no
 * result: a constant. */
const char *expression_evaluate(const struct expression *e, const int64_t *values, int64_t *result);

/* One more than the number of the last that occurs of the first names; 0: none does. */
int expression_needs(const struct expression *e, int first);

#endif
