/* simt_host.h — shared by the host files of the simt family: the index of each parameter in a configuration,
 * and the sizes derived from the parameters. */
#ifndef GT_SIMT_HOST_H
#define GT_SIMT_HOST_H

#include "template.h"

#define PARAMS "simt_params.def"
#include "family_params.h"
#include "simt_rules.h"

template_predict simt_predict;

#endif
