/* exec_problems.h — which problems a configuration is tried on: its tile sizes and their neighbours, edges of
 * length 0 and 1, primes, several tiles, with scalars, leading dimensions, batches and strides that take
 * turns.
 */
#ifndef GT_EXEC_PROBLEMS_H
#define GT_EXEC_PROBLEMS_H

#include "trial_cpu.h"

/* Legal trials of a configuration for problems of the type and op of `like`, whose sizes do not count, at
 * most `room`; the same ones every time. thorough: more of them. */
int exec_problems(const struct config *config, const struct problem *like, bool thorough,
                  struct trial *trials, int room);

/* Is the configuration legal for *p, or for the same with rows of A and B that no vector fits? Then these are
 * in *p: there is a template that takes no others. */
bool exec_fits(const struct config *config, struct problem *p);

/* The GPU whose limits the tests keep to: large ones, so that what is tested is the kernel. */
const struct gpu *exec_gpu(void);

#endif
