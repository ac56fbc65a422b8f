#include "problem_list.h"

#include "print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options count for the problems from `first` on, because they come in any order. Of equal problems of the
 * whole list the first stays. */
static enum status use_options(struct problem_list *list, size_t first)
{
    for (size_t i = first; i < list->count; i++) {
        if (list->at[i].type == GEMM_TYPE_DEFAULT) list->at[i].type = list->accuracy;
        if (list->prepared) problem_prepare(&list->at[i], list->prepared);
        if (list->invariant) problem_make_invariant(&list->at[i]);
    }
    return problems_drop_repeated(list->at, NULL, &list->count);
}

static enum status append(struct problem_list *list, const struct problem *problems, size_t count)
{
    struct problem *more = realloc(list->at, (list->count + count + 1) * sizeof *more);
    if (!more) return fail(E_MEMORY, "out of memory for the problems");
    list->at = more;
    if (count) memcpy(more + list->count, problems, count * sizeof *more);
    list->count += count;
    return use_options(list, list->count - count);
}

enum status problem_list_accuracy(void *opaque, const struct command_option *option, char *value)
{
    struct problem_list *list = opaque;
    if (!gemm_type_of_accuracy(value, &list->accuracy))
        return fail(E_USAGE, "--%s '%.40s' is none of %s", option->name, value, GEMM_ACCURACIES);
    return use_options(list, 0);
}

enum status problem_list_prepared(void *opaque, const struct command_option *option, char *value)
{
    struct problem_list *list = opaque;
    if (!problem_prepared_parse(value, &list->prepared))
        return fail(E_USAGE, "--%s '%.40s' is none of %s", option->name, value, PREPARED_OPERANDS);
    return use_options(list, 0);
}

enum status problem_list_invariant(void *opaque, const struct command_option *option, char *value)
{
    struct problem_list *list = opaque;
    (void)option, (void)value;
    list->invariant = true;
    return use_options(list, 0);
}

enum status problem_list_check(const struct problem_list *list)
{
    enum status st = OK;
    if (list->count == 0 && list->accuracy != GEMM_TYPE_DEFAULT)
        return fail(E_USAGE, "--accuracy is of problems: say which, with --shape or --suite");
    if (list->count == 0 && list->prepared)
        return fail(E_USAGE, "--prepared is of problems: say which, with --shape or --suite");
    if (list->count == 0 && list->invariant)
        return fail(E_USAGE, "--batch-invariant is of problems: say which, with --shape or --suite");
    for (size_t i = 0; i < list->count && !st; i++) {
        struct problem p = list->at[i];
        if (list->prepared) st = problem_prepare(&p, list->prepared);
        if (list->invariant && !st) st = problem_make_invariant(&p);
    }
    return st;
}

enum status problem_list_shape(void *list, const struct command_option *option, char *value)
{
    struct problem problem;
    char line[SUITE_LINE_MAX];
    enum status st = OK;
    int lines = 0;
    (void)option;
    for (int64_t m = 0; !st && suite_range(value, &m, line); lines++) {
        st = suite_line(line, GEMM_TYPE_DEFAULT, NULL, &problem);
        if (st == E_ABSENT) st = fail(E_INPUT, "'%.60s': %s", line, status_text());
        if (!st) st = append(list, &problem, 1);
    }
    if (lines > 1) ((struct problem_list *)list)->ranges = true;
    return st;
}

enum status problem_list_suite(void *list, const struct command_option *option, char *value)
{
    struct suite suite;
    (void)option;
    enum status st = suite_read(value, GEMM_TYPE_DEFAULT, NULL, &suite);
    if (!st) st = append(list, suite.at, suite.count);
    suite_free(&suite);
    return st;
}

enum status problem_list_each(const struct problem_list *list, struct db_filter filter,
                              enum status (*read)(void *self, const struct db_filter *filter), void *self)
{
    const size_t count = list ? list->count : 0;
    enum status st = list ? problem_list_check(list) : OK;
    if (!st && count == 0) st = read(self, &filter);
    for (size_t i = 0; i < count && !st; i++) {
        filter.problem = &list->at[i];
        st = read(self, &filter);
    }
    return st;
}

void problem_list_progress(const char *command, size_t number, size_t count, const char *problem)
{
    char line[PROBLEM_TEXT_MAX + 64];
    snprintf(line, sizeof line, "%s: %zu of %zu, %s", command, number, count, problem);
    print_replace(stderr, line);
}

void problem_list_free(struct problem_list *list)
{
    free(list->at);
    *list = (struct problem_list){0};
}
