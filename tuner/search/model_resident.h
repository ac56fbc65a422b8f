/* model_resident.h — the part of the model that knows the resident family (resident.cu). */
#ifndef GT_MODEL_RESIDENT_H
#define GT_MODEL_RESIDENT_H

#include "model.h"

/* As model_predict, for a problem that is not empty and a configuration of resident. */
struct prediction model_resident_predict(const struct config *config, const struct problem *problem,
                                         const struct gpu *gpu, const struct kernel_facts *facts);

#endif
