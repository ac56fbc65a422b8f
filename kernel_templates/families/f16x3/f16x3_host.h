/* f16x3_host.h — shared by the host files of the f16x3 family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_F16X3_HOST_H
#define GT_F16X3_HOST_H

#include "template.h"

#define PARAMS "f16x3_params.def"
#include "family_params.h"
#define LOW (config->value[P_LOW])
#include "f16x3_rules.h"

template_predict f16x3_predict;

#endif
