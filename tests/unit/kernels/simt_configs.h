/* simt_configs.h — a legal configuration of simt, for one_family.h. */
#ifndef GT_SIMT_CONFIGS_H
#define GT_SIMT_CONFIGS_H

#include "one_family.h"

static const char *const base_text = SIMT_BASE;

static inline struct problem square(int64_t n)
{
    return problem_make(n, n, n);
}

#endif
