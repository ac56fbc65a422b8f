/* streamk_host.h — shared by the host files of the streamk family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_STREAMK_HOST_H
#define GT_STREAMK_HOST_H

#include "template.h"

#define PARAMS "streamk_params.def"
#include "family_params.h"
#include "streamk_line.h"
#include "streamk_rules.h"

template_predict streamk_predict;

#endif
