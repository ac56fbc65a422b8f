/* canary.h — self-test before a worker's GPU is trusted: small products, computed by the judge on the GPU and
 * by the host.
 */
#ifndef GT_CANARY_H
#define GT_CANARY_H

#include "trial_setup.h"

/* Operands are generated, multiplied and judged on the GPU, and compared with the same computation on the
 * CPU: operands and integer answers bit for bit, random answers within FP64 rounding. A C with one planted
 * error must be found wrong at that element. Leaves the setup without a problem. Errors: E_GPU with the
 * difference and its place. */
enum status canary_run(struct trial_setup *setup);

#endif
