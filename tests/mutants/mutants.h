/* mutants.h — bugs planted on purpose, each of which the CPU execution must catch.
 *
 * A mutant is a configuration that is right, and one change to a text of its template that makes it wrong.
 */
#ifndef GT_MUTANTS_H
#define GT_MUTANTS_H

#include "cpu_kernel.h"

struct mutant {
    const char *name;   /* the bug, in words */
    const char *config; /* text form */
    const char *op;     /* "nn" ...; with an epilogue "nn:bias", with pointers "nn:pointers" */
    struct edit edit;
};

extern const struct mutant mutants_simt[], mutants_skinny[], mutants_resident[], mutants_tall[],
    mutants_streamk[], mutants_mma[], mutants_mma16[], mutants_gemv16[], mutants_wgmma[], mutants_split[],
    mutants_ladder[], mutants_epilogue[], mutants_pointers[];
extern const int mutants_simt_count, mutants_skinny_count, mutants_resident_count, mutants_tall_count,
    mutants_streamk_count, mutants_mma_count, mutants_mma16_count, mutants_gemv16_count, mutants_wgmma_count,
    mutants_split_count, mutants_ladder_count, mutants_epilogue_count, mutants_pointers_count;

#endif
