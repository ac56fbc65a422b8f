/* resident_host.h — shared by the host files of the resident family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_RESIDENT_HOST_H
#define GT_RESIDENT_HOST_H

#include "template.h"

#define PARAMS "resident_params.def"
#include "family_params.h"
#include "resident_rules.h"

template_predict resident_predict;

#endif
