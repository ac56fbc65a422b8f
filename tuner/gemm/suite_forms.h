/* suite_forms.h — problems as other tools write them: lines of PyTorch's TunableOp, command lines of
 * hipblaslt-bench and rocblas-bench and the lists that these log, and tables with a line of names.
 *
 * BLAS is column-major, and so are these but for tables that are not of those programs: m, n and the operands
 * change places, so that the row-major problem has the same addresses.
 */
#ifndef GT_SUITE_FORMS_H
#define GT_SUITE_FORMS_H

#include "problem.h"

/* What a line means that names no type or op; op NULL: nn. */
struct form_usual {
    enum gemm_type type;
    const char *op;
};

/* Is it a line of TunableOp, of hipblaslt-bench or rocblas-bench? */
bool form_is_known(const char *text);

/* One of these. Errors: E_INPUT, E_MEMORY; E_ABSENT: of a kind that is not done, then *what says which ("FP64
 * products"), and status_text what to do. */
enum status form_read(const char *text, struct form_usual usual, struct problem *problem, const char **what);

/* Is it the line of names of a table that has m, n and k, or problems in full? Upper and lower case are the
 * same. suite_names.h has the names. */
bool form_is_head(const char *text);

/* Appends the names of a head that are not read, but for those that say nothing of a problem, such as times
 * and comments. ", " separates them, and each is there once. */
void form_unread(const char *head, char *list, size_t room);

/* Could it be a line of this table? */
bool form_is_row(const char *head, const char *text);

/* One that could. Errors: as form_read. */
enum status form_read_row(const char *head, const char *text, struct form_usual usual,
                          struct problem *problem, const char **what);

/* Of a line that could not be read: what its file looks like, and what to do. NULL: nothing that is known. */
const char *form_looks_like(const char *text);

#endif
