/* wgmma_host.h — shared by the host files of the wgmma family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_WGMMA_HOST_H
#define GT_WGMMA_HOST_H

#include "template.h"

#define PARAMS "wgmma_params.def"
#include "family_params.h"
#define CONSUMERS (config->value[P_CONSUMERS])
#define PDL       (config->value[P_PDL])
#define STORE     (config->value[P_STORE])
#define SWAP      (config->value[P_SWAP])
#define WALK      (config->value[P_WALK])
#define TF32      (config->template == &template_wgmma_tf32)
#include "wgmma_rules.h"

extern const struct template template_wgmma_tf32;
template_predict wgmma_predict;

#endif
