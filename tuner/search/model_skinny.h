/* model_skinny.h — the part of the model that knows the skinny family (skinny.cu). */
#ifndef GT_MODEL_SKINNY_H
#define GT_MODEL_SKINNY_H

#include "model.h"

/* As model_predict, for a problem that is not empty and a configuration of skinny. */
struct prediction model_skinny_predict(const struct config *config, const struct problem *problem,
                                       const struct gpu *gpu, const struct kernel_facts *facts);

#endif
