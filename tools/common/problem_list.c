#include "problem_list.h"

#include "print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status append(struct problem_list *list, const struct problem *problems, size_t count)
{
    struct problem *more = realloc(list->at, (list->count + count + 1) * sizeof *more);
    if (!more) return fail(E_MEMORY, "out of memory for the problems");
    list->at = more;
    if (count) memcpy(more + list->count, problems, count * sizeof *more);
    list->count += count;
    return OK;
}

enum status problem_list_shape(void *list, const struct command_option *option, char *value)
{
    struct problem problem;
    char line[PROBLEM_TEXT_MAX];
    enum status st = OK;
    int lines = 0;
    (void)option;
    for (int64_t m = 0; !st && suite_range(value, &m, line); lines++) {
        st = suite_line(line, GEMM_SGEMM, NULL, &problem);
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
    enum status st = suite_read(value, GEMM_SGEMM, NULL, &suite);
    if (!st) st = append(list, suite.at, suite.count);
    suite_free(&suite);
    return st;
}

enum status problem_list_each(const struct problem_list *list, struct db_filter filter,
                              enum status (*read)(void *self, const struct db_filter *filter), void *self)
{
    const size_t count = list ? list->count : 0;
    enum status st = count == 0 ? read(self, &filter) : OK;
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
