/* suite_forms.h — problems as other tools write them: lines of PyTorch's TunableOp, command lines of
 * hipblaslt-bench and rocblas-bench and the lists that these log, and tables with a line of names.
 *
 * BLAS is column-major, and so are these but for tables that are not of those programs: m, n and the operands
 * change places, so that the row-major problem has the same addresses.
 */
#ifndef GT_SUITE_FORMS_H
#define GT_SUITE_FORMS_H

#include "problem.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- suite_names.c ---- */

/* The names of a table, of a list or of options: which say what of a problem, and which say
 * nothing. Upper and lower case are the same. tuner/manual.txt lists those that are read; a test compares.
 */

enum suite_field {
    OF_PROBLEM,
    OF_M,
    OF_N,
    OF_K,
    OF_BATCH,
    OF_POINTERS,
    OF_OP,
    OF_TRANS_A,
    OF_TRANS_B,
    OF_TYPE,
    OF_TYPE_A,
    OF_TYPE_B,
    OF_TYPE_C,
    OF_TYPE_D,
    OF_COMPUTE,
    OF_LDA, /* and B, C */
    OF_LDC = OF_LDA + 2,
    OF_STRIDE_A, /* and B, C */
    OF_STRIDE_C = OF_STRIDE_A + 2,
    OF_BETA,
    OF_BIAS,
    OF_ACTIVATION,
    OF_EPILOGUE,
    OF_FUNCTION,
    OF_CUTLASS, /* of its profiler */
    SUITE_FIELDS
};

/* Separated by blanks. Where a table has several of a field, the first of these counts. */
extern const char *const suite_names[SUITE_FIELDS];

/* Names, and the kind of product that is not done if one of them is on. */
extern const char *const suite_switches[][2];
extern const size_t suite_switch_count;

/* words: separated by blanks. */
bool name_is_among(const char *name, const char *words);

bool name_is_read(const char *name);

/* It says nothing of a problem, or nothing that its time depends on. */
bool name_is_silent(const char *name);

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
 * same. */
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
