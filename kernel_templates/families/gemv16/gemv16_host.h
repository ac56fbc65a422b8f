/* gemv16_host.h — shared by the host files of the gemv16 family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_GEMV16_HOST_H
#define GT_GEMV16_HOST_H

#include "template.h"

#define PARAMS "gemv16_params.def"
#include "family_params.h"
#define FEW  (config->value[P_FEW])
#define ASK  (config->value[P_ASK])
#define SPAN (config->value[P_SPAN])
#define PAD  (config->value[P_PAD])
#define PDL  (config->value[P_PDL])
#include "gemv16_rules.h"

template_predict gemv16_predict;

#endif
