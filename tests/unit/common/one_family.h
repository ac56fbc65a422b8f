/* one_family.h — for the tests of one kernel family: its configurations that differ in one value from one
 * that is legal. */
#ifndef GT_ONE_FAMILY_H
#define GT_ONE_FAMILY_H

#include "family_checks.h"

static const char *const base_text; /* the legal one: the test says which */

static inline struct config base(void)
{
    return config_of(base_text);
}

static inline struct config with(const char *name, int value)
{
    struct config config = base();
    assert_true(config_set(&config, name, value));
    return config;
}

/* A value that the base is refused with, and a part of the reason. */
struct violation {
    const char *name;
    int value;
    const char *part;
};

static inline void assert_each_refused(const struct violation *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct config config = with(cases[i].name, cases[i].value);
        assert_refused(check(&config, NULL, NULL), cases[i].part);
    }
}

/* A value outside its parameter's range. */
struct outside {
    const char *name;
    int value;
};

static inline void assert_each_outside(const struct outside *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct config config = with(cases[i].name, cases[i].value);
        assert_refused(check(&config, NULL, NULL), "outside its range");
    }
}

/* An access of 3 floats is refused. */
static inline void assert_vector_is_checked(const char *name)
{
    char part[64];
    const struct config config = with(name, 3);
    snprintf(part, sizeof part, "%s must be 1, 2 or 4", name);
    assert_refused(check(&config, NULL, NULL), part);
}

/* However few of its values are known, a legal configuration is not refused; the others are not looked at. */
static inline void assert_prefixes_pass(const struct config *config, const struct problem *p,
                                        const struct gpu *gpu)
{
    const int count = config->template->param_count;
    for (int known = 0; known < count; known++) {
        struct config prefix = *config;
        for (int j = known; j < count; j++) prefix.value[j] = INT32_MIN + j;
        const char *why = config->template->check_prefix(&prefix, known, p, gpu);
        if (why) fail_msg("%d values of a legal configuration are refused: %s", known, why);
    }
}

/* The last parameter, SMS, gets any value, and fewer than `changes` of the others get some of these. */
static inline void change_at_random(struct config *config, const int32_t *values, size_t count,
                                    uint64_t changes, uint64_t *seed)
{
    const int last = config->template->param_count - 1;
    config->value[last] = 1 + (int32_t)stats_random_below(seed, 132);
    for (uint64_t i = stats_random_below(seed, changes); i > 0; i--) {
        const uint64_t param = stats_random_below(seed, (uint64_t)last);
        config->value[param] = values[stats_random_below(seed, count)];
    }
}

/* Tiles of warps, of threads in them. */
static inline void assert_warp_tiles_are_checked(void)
{
    static const struct violation cases[] = {{"BM", 48, "BM must be a multiple of WM"},
                                             {"BN", 96, "BN must be a multiple of WN"},
                                             {"TM", 5, "WM must be a multiple of TM"},
                                             {"TN", 6, "WN must be a multiple of TN"},
                                             {"WM", 64, "32 lanes"}};
    assert_each_refused(cases, sizeof cases / sizeof *cases);
}

/* One operand in shared memory, the other streamed by the blocks of so many SMs. */
static inline void assert_streams_are_checked(void)
{
    static const struct outside outside[] = {{"SIDE", 2}, {"STAGES", 1}, {"MIN_BLOCKS", 0}, {"SMS", 0}};
    static const struct violation cases[] = {{"UNROLL", 7, "UNROLL must be even"},
                                             {"UNROLL", 24, "UNROLL must not exceed BK"}};
    assert_vector_is_checked("VC");
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
}

#endif
