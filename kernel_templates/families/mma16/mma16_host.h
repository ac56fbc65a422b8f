/* mma16_host.h — shared by the host files of the mma16 family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_MMA16_HOST_H
#define GT_MMA16_HOST_H

#include "template.h"

#define PARAMS "mma16_params.def"
#include "family_params.h"
#define ASK  (config->value[P_ASK])
#define PDL  (config->value[P_PDL])
#define SWAP (config->value[P_SWAP])
#include "mma16_rules.h"

template_predict mma16_predict;

#endif
