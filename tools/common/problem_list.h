/* problem_list.h — the problems of a command line, single ones or a suite, each once. */
#ifndef GT_PROBLEM_LIST_H
#define GT_PROBLEM_LIST_H

#include "command_line.h"
#include "db.h"
#include "suite.h"

struct problem_list {
    struct problem *at;
    size_t count;
    enum gemm_type accuracy;        /* --accuracy: in place of GEMM_TYPE_DEFAULT */
    enum prepared_operand prepared; /* --prepared, of all that have it to prepare: problem_list_check */
    bool invariant;                 /* --batch-invariant, of all: problem_list_check */
    bool ranges;                    /* a text had a range of M */
};

/* The options of a command that has a list, of a struct whose first member is the list. */
enum status problem_list_shape(void *list, const struct command_option *option, char *value);
enum status problem_list_suite(void *list, const struct command_option *option, char *value);
enum status problem_list_accuracy(void *list, const struct command_option *option, char *value);
enum status problem_list_prepared(void *list, const struct command_option *option, char *value);
enum status problem_list_invariant(void *list, const struct command_option *option, char *value);
#define OPTION_ROWS_PROBLEMS(about)                                                                          \
    {"shape", 's', "MxNxK", about "; may be repeated", .repeats = true, OPTION_CALL(problem_list_shape)},    \
        {"suite", 0, "FILE", SUITE_ABOUT, .repeats = true, OPTION_CALL(problem_list_suite)},                 \
        {"accuracy", 0, GEMM_ACCURACIES, GEMM_ACCURACY_ABOUT, OPTION_CALL(problem_list_accuracy)},           \
        {"prepared", 0, PREPARED_OPERANDS, PREPARED_ABOUT, OPTION_CALL(problem_list_prepared)},              \
    {                                                                                                        \
        "batch-invariant", 0, NULL, INVARIANT_ABOUT, OPTION_CALL(problem_list_invariant)                     \
    }

/* Is what --accuracy, --prepared and --batch-invariant ask for possible, once all options are known? Errors:
 * E_USAGE, E_INPUT.
 */
enum status problem_list_check(const struct problem_list *list);

/* Checks the list, then calls `read` with the filter for each problem, or once for all if the list is empty
 * or NULL. Errors: its first. */
enum status problem_list_each(const struct problem_list *list, struct db_filter filter,
                              enum status (*read)(void *self, const struct db_filter *filter), void *self);

/* "bench: 3 of 12, 4096x4096x4096" in place of the line before, on a terminal's standard error. */
void problem_list_progress(const char *command, size_t number, size_t count, const char *problem);

void problem_list_free(struct problem_list *list); /* takes a zeroed struct */

#endif
