/* resident_host.h — what the host's files of the resident family share: the places of its parameters in a
 * configuration, and the sizes that follow from them.
 */
#ifndef GT_RESIDENT_HOST_H
#define GT_RESIDENT_HOST_H

#include "template.h"

#define PARAMS "resident_params.def"
#include "family_params.h"
#include "resident_rules.h"
#define STAYS_X RESIDENT_X

template_predict resident_predict;

#endif
