/* tall_host.h — what the host's files of the tall family share: the places of its parameters in a
 * configuration, and the sizes that follow from them.
 */
#ifndef GT_TALL_HOST_H
#define GT_TALL_HOST_H

#include "template.h"

#define PARAMS "tall_params.def"
#include "family_params.h"
#include "tall_rules.h"
#define STAYS_X  SMALL_X
#define STREAM_X TALL_X

template_predict tall_predict;

#endif
