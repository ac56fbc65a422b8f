/* bf16x6_host.h — shared by the host files of the bf16x6 family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_BF16X6_HOST_H
#define GT_BF16X6_HOST_H

#include "template.h"

#define PARAMS "bf16x6_params.def"
#include "family_params.h"
#define FUSE (config->value[P_FUSE])
#define SWAP (config->value[P_SWAP])
#include "bf16x6_rules.h"

template_predict bf16x6_predict;

#endif
