/* claims.h — does a family describe its kernels as they are? What resources() says of a configuration,
 * against what its plan launches and the kernel that the compiler has made. A prediction is arithmetic over
 * that description, and nothing runs that could refute it.
 */
#ifndef GT_CLAIMS_H
#define GT_CLAIMS_H

#include "gpu.h"
#include "outcome.h"
#include "template.h"

/* False if they differ, or if the kernel fits no multiprocessor; then `why` says how. For a legal
 * configuration; what the facts do not tell is not compared. */
bool claims_hold(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                 const struct kernel_facts *facts, char why[OUTCOME_DETAIL_MAX]);

#endif
