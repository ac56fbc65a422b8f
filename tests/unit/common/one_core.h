/* one_core.h — a process that may use one core alone. */
#ifndef GT_TEST_ONE_CORE_H
#define GT_TEST_ONE_CORE_H

#include "unit.h"

#include <sched.h>

/* Gives what was allowed before, for sched_setaffinity. */
static inline cpu_set_t stay_on_one_core(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    return all;
}

#endif
