/* simt_host.h — what the host's files of the simt family share: the places of its parameters in a
 * configuration, and the sizes that follow from them.
 */
#ifndef GT_SIMT_HOST_H
#define GT_SIMT_HOST_H

#include "template.h"

#define PARAMS "simt_params.def"
#include "family_params.h"
#include "simt_rules.h"

template_predict simt_predict;

#endif
