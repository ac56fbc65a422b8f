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

enum status problem_list_add(struct problem_list *list, const char *text)
{
    struct problem problem;
    enum status st = problem_parse(text, &problem);
    return st ? st : append(list, &problem, 1);
}

enum status problem_list_shape(void *list, const struct command_option *option, char *value)
{
    (void)option;
    return problem_list_add(list, value);
}

enum status problem_list_suite(void *list, const struct command_option *option, char *value)
{
    struct problem *suite = NULL;
    size_t count = 0;
    (void)option;
    enum status st = problem_read_suite(value, GEMM_SGEMM, &suite, &count);
    if (!st) st = append(list, suite, count);
    free(suite);
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
