/* problem_list.h — the problems of a command line, single ones or a suite. */
#ifndef GT_PROBLEM_LIST_H
#define GT_PROBLEM_LIST_H

#include "command_line.h"
#include "problem.h"

struct problem_list {
    struct problem *at;
    size_t count;
};

/* Errors: E_INPUT, E_MEMORY. */
enum status problem_list_add(struct problem_list *list, const char *text);

/* The options of a command that runs a list: of a struct whose first member is the list (a problem; a suite).
 */
enum status problem_list_shape(void *list, const struct command_option *option, char *value);
enum status problem_list_suite(void *list, const struct command_option *option, char *value);
#define OPTION_ROW_SUITE                                                                                     \
    {                                                                                                        \
        "suite", 0, "FILE", "a file with one problem per line", .repeats = true,                             \
                                                                OPTION_CALL(problem_list_suite)              \
    }

/* "bench: 3 of 12, 4096x4096x4096" in place of the line before, on a terminal's standard error. */
void problem_list_progress(const char *command, size_t number, size_t count, const char *problem);

void problem_list_free(struct problem_list *list); /* takes a zeroed struct */

#endif
