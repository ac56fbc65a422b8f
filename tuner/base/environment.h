/* environment.h — switches in the environment, ours and cuBLAS's. */
#ifndef GT_ENVIRONMENT_H
#define GT_ENVIRONMENT_H

#include "env.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Neither empty nor 0. */
static inline bool is_set(const char *variable)
{
    const char *value = env_text(variable);
    return value && value[0] && strcmp(value, "0") != 0;
}

#endif
