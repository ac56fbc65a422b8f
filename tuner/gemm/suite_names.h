/* suite_names.h — the names of a table, of a list or of options: which say what of a problem, and which say
 * nothing. Upper and lower case are the same. tuner/manual.txt lists those that are read; a test compares.
 */
#ifndef GT_SUITE_NAMES_H
#define GT_SUITE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
