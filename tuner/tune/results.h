/* results.h — the tables at the end of the main job, on standard output.
 */
#ifndef GT_RESULTS_H
#define GT_RESULTS_H

#include "session.h"
#include "table.h"
#include <stddef.h>

/* One row a problem: winner, time, TFLOPS, ratio to cuBLAS with its interval, how the model did. Errors:
 * E_IO, E_MEMORY. */
enum status results_print(const struct job_result *results, size_t count, enum table_format format);

#endif
