/* problem_list.h — the problems of a command line, single ones or a suite. */
#ifndef GT_PROBLEM_LIST_H
#define GT_PROBLEM_LIST_H

#include "problem.h"

struct problem_list {
    struct problem *at;
    size_t count;
};

/* Errors: E_INPUT, E_MEMORY. */
enum status problem_list_add(struct problem_list *list, const char *text);

/* Errors: E_INPUT, E_IO, E_MEMORY. */
enum status problem_list_add_suite(struct problem_list *list, const char *path);

void problem_list_free(struct problem_list *list); /* takes a zeroed struct */

#endif
