/* timing.h — what surrounds the calls whose time is taken: the same number says nothing of another timing.
 */
#ifndef GT_TIMING_H
#define GT_TIMING_H

#include "status.h"

enum call_timing {
    TIMING_REPEAT, /* the call again and again, alone */
    TIMING_BEHIND, /* behind another kernel, which has just written A, as in most programs */
    TIMING_LOAD,   /* as repeat, after so much of the same call that clocks and power have settled */
    TIMING_COUNT   /* in a database: one that only a later program knows */
};

/* "repeat", "behind", "load", and the inverse; "other" for TIMING_COUNT. Errors: E_INPUT. */
const char *timing_name(enum call_timing timing);
enum status timing_parse(const char *name, enum call_timing *timing);

#endif
