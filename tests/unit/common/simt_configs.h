/* simt_configs.h — configurations of simt that differ in one value from one that is legal, and an H200. */
#ifndef GT_SIMT_CONFIGS_H
#define GT_SIMT_CONFIGS_H

#include "unit.h"

#include "template.h"

#include <string.h>

static const char *const base_text =
    "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 "
    "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1";

static const struct gpu h200 = {.id = "h200",
                                .arch = 90,
                                .sm_count = 132,
                                .threads_per_sm = 2048,
                                .blocks_per_sm = 32,
                                .registers_per_sm = 65536,
                                .smem_per_sm_bytes = 233472,
                                .smem_per_block_bytes = 232448,
                                .smem_reserved_bytes = 1024};

static inline struct config base(void)
{
    struct config config;
    assert_ok(config_parse(base_text, &config));
    return config;
}

static inline struct config with(const char *name, int value)
{
    struct config config = base();
    assert_true(config_set(&config, name, value));
    return config;
}

static inline const char *check(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu)
{
    return config->template->check(config, problem, gpu);
}

static inline void assert_refused(const char *why, const char *part)
{
    if (!why) fail_msg("taken, though: %s", part);
    if (!strstr(why, part)) fail_msg("'%s' lacks '%s'", why, part);
}

static inline void assert_taken(const char *why)
{
    if (why) fail_msg("refused: %s", why);
}

static inline struct problem square(int64_t n)
{
    return problem_make(n, n, n);
}

#endif
