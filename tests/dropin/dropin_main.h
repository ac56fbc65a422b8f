/* dropin_main.h — a program with scenarios on the fakes. */
#ifndef GT_DROPIN_MAIN_H
#define GT_DROPIN_MAIN_H

#include "dropin_runs.h"
#include "runtime_fakes.h"

/* For scenarios about other things than who compiles when. */
static inline int waiting_setup(void **state)
{
    setenv("GEMMTUNE_WAIT", "1", 1);
    return fakes_setup(state);
}

/* The main of a program with these scenarios on the fakes; calls wait for kernels. */
static inline int dropin_main(int argc, char **argv, const char *name, const struct scenario *scenarios,
                              size_t count, const struct CMUnitTest *more, size_t more_count)
{
    const struct scenario_group group = {.name = name,
                                         .scenarios = scenarios,
                                         .count = (int)count,
                                         .more = more,
                                         .more_count = (int)more_count,
                                         .setup = waiting_setup,
                                         .teardown = store_teardown};
    return scenarios_run(argc, argv, &group);
}

#endif
