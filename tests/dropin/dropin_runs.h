/* dropin_runs.h — scenarios under the drop-in: each in a process of its own, started with the drop-in before
 * the program's cuBLAS (LD_PRELOAD), because the drop-in reads the environment once.
 */
#ifndef GT_DROPIN_RUNS_H
#define GT_DROPIN_RUNS_H

#include "unit.h"

struct scenario {
    const char *name;
    void (*run)(void **state);
    const char *variable, *value; /* set for it; may be NULL */
};

#define SCENARIO(function)                                                                                   \
    {                                                                                                        \
        .name = #function, .run = function                                                                   \
    }

struct scenario_group {
    const char *name;
    const struct scenario *scenarios;
    int count;
    const struct CMUnitTest *more; /* tests that start scenarios themselves and look at what they leave */
    int more_count;
    CMFixtureFunction setup, teardown; /* before a scenario, in its process, and after it */
};

/* A program's main: every scenario and then more, or, in the processes that it starts, the one scenario that
 * is named. Returns how many failed. */
int scenarios_run(int argc, char **argv, const struct scenario_group *group);

/* The exit status of this program running one scenario under the drop-in. What it says goes to the file said;
 * NULL: to standard error. */
int scenario_start(const char *name, const char *said);

/* What a scenario that passes says under GEMMTUNE_LOG=1, and the problems that it captures. Until the next
 * call. */
const char *scenario_log(const char *name);
const char *scenario_capture(const char *name);

/* The same as scenario_start where the program's problems are recorded in the file at path, timed, and saved
 * all the time. */
int scenario_start_recorded(const char *name, const char *said, const char *path);

#endif
