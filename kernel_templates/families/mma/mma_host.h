/* mma_host.h — shared by the host files of the mma family: the index of each parameter in a configuration,
 * and the sizes derived from the parameters. */
#ifndef GT_MMA_HOST_H
#define GT_MMA_HOST_H

#include "template.h"

#define PARAMS "mma_params.def"
#include "family_params.h"
#include "mma_rules.h"

template_predict mma_predict;

#endif
