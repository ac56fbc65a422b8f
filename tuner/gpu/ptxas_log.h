/* ptxas_log.h — registers, spills and shared memory of a module, from the assembler's -v output.
 *
 * It is strict: every entry must have its two lines in the known form. A report that changed with a new
 * toolkit is refused, because a missed spill would be launched and blamed on the configuration.
 */
#ifndef GT_PTXAS_LOG_H
#define GT_PTXAS_LOG_H

#include "outcome.h"
#include "status.h"

/* Registers and static shared memory are those of the entry "gemm" or, if there is none, the largest of any
 * entry. spill_bytes is the sum over all functions of the module. Other facts are not changed. Errors:
 * E_COMPILER with the line and what is missing. */
enum status ptxas_log_parse(const char *log, struct kernel_facts *facts);

#endif
