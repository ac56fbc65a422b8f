/* model_tall.h — the part of the model that knows the tall family (tall.cu). */
#ifndef GT_MODEL_TALL_H
#define GT_MODEL_TALL_H

#include "model.h"

/* As model_predict, for a problem that is not empty and a configuration of tall. */
struct prediction model_tall_predict(const struct config *config, const struct problem *problem,
                                     const struct gpu *gpu, const struct kernel_facts *facts);

#endif
