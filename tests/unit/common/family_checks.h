/* family_checks.h — what the tests of the kernel families' rules have in common: an H200, whether a
 * configuration is taken, and limits at which it no longer is.
 */
#ifndef GT_FAMILY_CHECKS_H
#define GT_FAMILY_CHECKS_H

#include "family_texts.h"
#include "h200.h"
#include "problem_texts.h"

#include "stats.h"
#include "template.h"

#include <stdio.h>
#include <string.h>

static const struct gpu h200 = {H200_LIMITS};

static inline struct config config_of(const char *text)
{
    struct config config;
    assert_ok(config_parse(text, &config));
    return config;
}

static inline const char *check(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu)
{
    return config->template->check(config, problem, gpu);
}

static inline struct launch_plan plan_of(const struct config *config, const struct problem *p)
{
    struct launch_plan plan;
    config->template->plan(config, p, &plan);
    return plan;
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

/* Taken with as many bytes of shared memory a block, and with one less not. */
static inline void assert_needs_smem(const struct config *config, const struct problem *p, int bytes)
{
    struct gpu gpu = h200;
    gpu.smem_per_block_bytes = bytes;
    assert_taken(check(config, p, &gpu));
    gpu.smem_per_block_bytes--;
    assert_refused(check(config, p, &gpu), "do not fit in a block's shared memory");
}

/* MIN_BLOCKS blocks of so many threads together are too much for an SM that holds one less. */
static inline void assert_fills_an_sm(const struct config *config, const struct problem *p, int blocks,
                                      int threads)
{
    struct gpu small = h200;
    small.blocks_per_sm = blocks - 1;
    assert_refused(check(config, p, &small), "hold MIN_BLOCKS blocks");
    small = h200;
    small.threads_per_sm = threads - 1;
    assert_refused(check(config, p, &small), "threads of MIN_BLOCKS");
}

#endif
