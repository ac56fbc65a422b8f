/* energy.h — the energy of a call, by the counter that the driver keeps of the whole board (NVML). The
 * counter goes on about ten times a second, so that calls are counted from one of its steps to another, some
 * seconds later.
 */
#ifndef GT_ENERGY_H
#define GT_ENERGY_H

#include "measure.h"

struct energy {
    double joules; /* a call: all that the board took, divided by the calls */
    double watts;  /* the mean power */
    double call_us, seconds;
    int sm_clock_mhz; /* at the end; 0: unknown */
};

/* Runs the call without a pause: for lead_s, in which clocks and power settle, and then from one step of the
 * counter to the first one after `seconds`. E_ABSENT: NVML is missing or has no such counter, or it does not
 * move. Errors: E_GPU. */
enum status timed_energy(struct timed *timed, double lead_s, double seconds, struct energy *energy);

#endif
