/* suite.h — problems as people and programs list them: one a line, in the text form of problem.h, as "M N K"
 * or "M,N,K", or as other tools write them (suite_forms.h).
 */
#ifndef GT_SUITE_H
#define GT_SUITE_H

#include "problem.h"

/* What --suite takes, for tables of options. */
#define SUITE_ABOUT                                                                                          \
    "a file with one problem per line (MxNxK in full, M N K, M,N,K, a table with names, or what TunableOp "  \
    "or hipblaslt-bench write); -: standard input; may be repeated"

#define SUITE_LINE_MAX (PROBLEM_TEXT_MAX + 1) /* room for a text that is too long to be a problem */

#define SUITE_KINDS_MAX 8

struct suite {
    struct problem *at; /* owned */
    size_t count;
    size_t left_out; /* problems of kinds that gemmtune does not do */
    struct suite_kind {
        const char *what; /* "FP64 products"; NULL: no more kinds */
        size_t count;
    } kinds[SUITE_KINDS_MAX]; /* they are of */
    char why[200];            /* of the first of them */
    char unread[200];         /* columns of its tables, as form_unread lists them */
};

/* One line without comment and blanks around it. type, op: of texts that name none; op NULL: nn. Errors:
 * E_INPUT; E_ABSENT: no problem, such as the head of a table (status_text is ""), or one of a kind that is
 * not done. */
enum status suite_line(const char *text, enum gemm_type type, const char *op, struct problem *problem);

/* The lines that a line with a range of M stands for, such as "nt:5..64x4096x4096" of 5, 8, 16, 32 and 64
 * rows: the first, the powers of two after it, and the last. Any other line stands for itself. *m: 0 at
 * first. Returns false after the last one. A longer text fills the line, which suite_line then refuses. */
bool suite_range(const char *text, int64_t *m, char line[SUITE_LINE_MAX]);

/* Of equal problems the first stays, with its weight; weights may be NULL. Errors: E_MEMORY. */
enum status problems_drop_repeated(struct problem *problems, double *weights, size_t *count);

/* path "-": standard input. '#' starts a comment, blank lines are skipped. A table may begin with the names
 * of its columns. What is left out is told on standard error, by kinds, and which columns are not read.
 * Errors: E_IO, E_INPUT (with file:line and what the file looks like, or because no problem is left). */
enum status suite_read(const char *path, enum gemm_type type, const char *op, struct suite *suite);

/* Could this regular file be read as a suite? It is told to who named it for something else. */
bool suite_is(const char *path);

/* "tune --suite PATH", as a shell takes it. A path of more than 600 bytes is cut. */
#define SUITE_COMMAND_MAX 640
const char *suite_command(const char *path, char text[SUITE_COMMAND_MAX]);

void suite_free(struct suite *suite); /* takes a zeroed struct */

#endif
