/* skinny_host.h — what the host's files of the skinny family share: the places of its parameters in a
 * configuration, and the sizes that follow from them.
 */
#ifndef GT_SKINNY_HOST_H
#define GT_SKINNY_HOST_H

#include "template.h"

#define PARAMS "skinny_params.def"
#include "family_params.h"
#include "skinny_rules.h"

template_predict skinny_predict;

#endif
