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

/* Configurations that differ from the two in the last parameter, SMS, and in fewer than `changes` of the
 * others, which are some of these values: what is refused with some values known is refused whatever the
 * others are.
 */
struct drawn {
    const struct config *starts; /* two */
    const char *const *shapes;
    size_t shape_count;
    const int32_t *values;
    size_t value_count;
    uint64_t changes;
};

static inline struct config draw(const struct drawn *d, int number, uint64_t *seed)
{
    struct config config = d->starts[number % 2];
    const int last = config.template->param_count - 1;
    config.value[last] = 1 + (int32_t)stats_random_below(seed, 132);
    for (uint64_t i = stats_random_below(seed, d->changes); i > 0; i--) {
        const uint64_t param = stats_random_below(seed, (uint64_t)last);
        config.value[param] = d->values[stats_random_below(seed, d->value_count)];
    }
    return config;
}

static inline void assert_drawn_prefixes_pass(const struct drawn *d)
{
    uint64_t seed = 1;
    int taken = 0;
    for (int i = 0; i < 400000; i++) {
        const struct config config = draw(d, i, &seed);
        const struct problem p = problem_of(d->shapes[(size_t)i % d->shape_count]);
        if (check(&config, &p, &h200)) continue;
        taken++;
        assert_prefixes_pass(&config, &p, &h200);
    }
    assert_true(taken > 1000);
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
