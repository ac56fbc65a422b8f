/* load.h — the time and the energy of a call while nothing else runs for seconds, so that clocks and power
 * are those of a long run and not those of the kernel before.
 *
 * After another kernel an H200 needs 0.3 s until its clock is right within one per cent, and at its power
 * limit the clock swings with a period below one second (docs/results/h200-race.md). The energy is that of
 * the driver's counter of the whole board (NVML), which goes on about ten times a second: calls are counted
 * from one of its steps to another.
 */
#ifndef GT_LOAD_H
#define GT_LOAD_H

#include "measure.h"

struct load {
    double call_us; /* mean of the wall time, pauses of about 0.1 % between parts included */
    double
        joules;   /* a call: all that the board took, divided by the calls; 0: the driver does not count it */
    double watts; /* mean power of the board; 0: the same */
    int64_t calls;
    struct gpu_state state; /* at the end */
};

/* Runs the call for lead_s, whose calls do not count, and then for `seconds` or a little longer; four calls
 * at least. Errors: E_GPU. */
enum status timed_load(struct timed *timed, double lead_s, double seconds, struct load *load);

#endif
