/* entries.h — the kernels of a plan in a compiled file, where they have parameters of their own
 * (launch_plan.h): which symbols they are, and whether they take what the plan passes. Nothing is launched
 * that was not compared.
 */
#ifndef GT_ENTRIES_H
#define GT_ENTRIES_H

#include "cubin.h"
#include "launch_plan.h"
#include "status.h"

/* The symbols, to which a plan then points. */
struct entries {
    char symbol[LAUNCH_KERNELS_MAX][CUBIN_SYMBOL_MAX];
};

/* Kernels whose one parameter is the argument stay as they are. E_ABSENT: a kernel is missing, or it takes
 * other parameters than the plan has. */
enum status entries_find(const void *cubin, size_t bytes, struct launch_plan *plan, struct entries *entries);

#endif
