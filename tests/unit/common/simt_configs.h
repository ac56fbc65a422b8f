/* simt_configs.h — a legal configuration of simt, for family_checks.h. */
#ifndef GT_SIMT_CONFIGS_H
#define GT_SIMT_CONFIGS_H

#include "family_checks.h"

static const char *const base_text =
    "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 "
    "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1";

static inline struct problem square(int64_t n)
{
    return problem_make(n, n, n);
}

#endif
