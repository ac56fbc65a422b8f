/* cost_registers.h — how likely a kernel is to spill registers before it is compiled, and what that costs.
 */
#ifndef GT_COST_REGISTERS_H
#define GT_COST_REGISTERS_H

#include "occupancy.h"

/* How likely the compiler is to spill, 0..1, where it is as likely as not to do with `needed` registers and
 * may take `limit`. */
double registers_spill_chance(double needed, int limit);

/* By how much the predicted time of a kernel that spills with this chance is to grow: one that may well not
 * is worth a compilation, one that almost certainly does ranks behind. */
double registers_spill_factor(double chance);

#endif
