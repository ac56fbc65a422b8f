/* skinny_host.h — shared by the host files of the skinny family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_SKINNY_HOST_H
#define GT_SKINNY_HOST_H

#include "template.h"

#define PARAMS "skinny_params.def"
#include "family_params.h"
#include "skinny_rules.h"

template_predict skinny_predict;

#endif
