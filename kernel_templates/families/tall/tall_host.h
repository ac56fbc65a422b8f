/* tall_host.h — shared by the host files of the tall family: the index of each parameter in a configuration,
 * and the sizes derived from the parameters. */
#ifndef GT_TALL_HOST_H
#define GT_TALL_HOST_H

#include "template.h"

#define PARAMS "tall_params.def"
#include "family_params.h"
#include "tall_rules.h"

template_predict tall_predict;

#endif
