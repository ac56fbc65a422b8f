#include "timing.h"

#include <string.h>

static const char *const names[TIMING_COUNT] = {
    [TIMING_REPEAT] = "repeat", [TIMING_BEHIND] = "behind", [TIMING_LOAD] = "load"};

const char *timing_name(enum call_timing timing)
{
    return timing < TIMING_COUNT ? names[timing] : "other";
}

enum status timing_parse(const char *name, enum call_timing *timing)
{
    for (int i = 0; i < TIMING_COUNT; i++)
        if (strcmp(name, names[i]) == 0) return *timing = (enum call_timing)i, OK;
    return fail(E_INPUT, "unknown timing '%.40s'; there are repeat, behind and load", name);
}
