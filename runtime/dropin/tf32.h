/* tf32.h — NVIDIA_TF32_OVERRIDE, an environment variable that all of NVIDIA's libraries obey. */
#ifndef GT_TF32_H
#define GT_TF32_H

#include "env.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* True if it is 0: then calls that allow TF32 are computed in strict FP32. The environment is read once. */
static inline bool tf32_is_forbidden(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int known;
    int forbidden = atomic_load_explicit(&known, memory_order_relaxed);
    if (forbidden == UNKNOWN) {
        const char *value = env_text("NVIDIA_TF32_OVERRIDE");
        forbidden = value && strcmp(value, "0") == 0 ? YES : NO;
        atomic_store_explicit(&known, forbidden, memory_order_relaxed);
    }
    return forbidden == YES;
}

#endif
