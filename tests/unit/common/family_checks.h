/* family_checks.h — what the tests of a kernel family's rules have in common: its configurations that differ
 * in one value from one that is legal, an H200, and claims that hold for every family.
 */
#ifndef GT_FAMILY_CHECKS_H
#define GT_FAMILY_CHECKS_H

#include "h200.h"
#include "unit.h"

#include "stats.h"
#include "template.h"

#include <stdio.h>
#include <string.h>

static const char *const base_text; /* the legal one: the test says which */

static const struct gpu h200 = {H200_LIMITS};

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

static inline struct problem problem_of(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
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

/* Configurations with up to six values changed to anything, of the largest problem, too. */
static inline void assert_nothing_insane_is_taken(const struct config *like)
{
    static const int32_t values[] = {INT32_MIN, -1, 0,  1,   2,    3,     4,     5,
                                     8,         16, 64, 512, 1024, 65536, 46341, INT32_MAX};
    const struct problem huge = problem_make(PROBLEM_DIM_MAX, PROBLEM_DIM_MAX, PROBLEM_DIM_MAX);
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        struct config config = *like;
        const struct template *t = config.template;
        bool in_range = true;
        for (uint64_t changes = 1 + stats_random_below(&seed, 6); changes > 0; changes--)
            config.value[stats_random_below(&seed, (uint64_t)t->param_count)] =
                values[stats_random_below(&seed, sizeof values / sizeof *values)];
        for (int p = 0; p < t->param_count; p++)
            in_range =
                in_range && config.value[p] >= t->params[p].least && config.value[p] <= t->params[p].most;
        const char *why = check(&config, i % 2 ? &huge : NULL, i % 3 ? &h200 : NULL);
        if (!in_range && !why) fail_msg("a value outside its range was taken");
    }
}

/* Every header that a text includes by name must be handed to the compiler, except the one of the CPU
 * execution. */
static inline void assert_texts_include_only_each_other(const struct template *t)
{
    int includes = 0;
    for (int i = 0; t->sources[i].name; i++)
        for (const char *at = t->sources[i].text; (at = strstr(at, "#include \"")); at++) {
            char name[64];
            bool found = false;
            assert_int_equal(sscanf(at, "#include \"%63[^\"]\"", name), 1);
            for (int j = 0; t->sources[j].name; j++) found = found || !strcmp(t->sources[j].name, name);
            if (!found && strcmp(name, "gt_cpu.h") != 0) fail_msg("%s is not among the sources", name);
            includes++;
        }
    assert_true(includes >= template_source_count(t) - 1);
}

#endif
