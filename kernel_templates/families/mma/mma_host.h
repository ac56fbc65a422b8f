/* mma_host.h — what the host's files of the mma family share: the places of its parameters in a
 * configuration, and the sizes that follow from them.
 */
#ifndef GT_MMA_HOST_H
#define GT_MMA_HOST_H

#include "template.h"

#define PARAMS "mma_params.def"
#include "family_params.h"
#include "mma_rules.h"

template_predict mma_predict;

#endif
