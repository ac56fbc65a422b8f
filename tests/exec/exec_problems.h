/* exec_problems.h — the problems for testing a configuration: its tile sizes and their neighbours, edges of
 * length 0 and 1, primes, several tiles, with varying scalars, leading dimensions, batches and strides. */
#ifndef GT_EXEC_PROBLEMS_H
#define GT_EXEC_PROBLEMS_H

#include "trial_cpu.h"

/* Legal trials of a configuration for problems with the type, op and epilogue of `like`, and with pointers
 * like it, whose sizes are ignored; at most `room`, the same ones in every run. thorough: more of them. */
int exec_problems(const struct config *config, const struct problem *like, bool thorough,
                  struct trial *trials, int room);

/* Is the configuration legal for *p, or for *p with rows of A and B that are not aligned for vectors? In the
 * second case *p is changed so: there is a template that only supports such rows. */
bool exec_fits(const struct config *config, struct problem *p);

/* The GPU whose limits the tests use: large ones, so that kernels are tested and not the limits. */
const struct gpu *exec_gpu(void);

#endif
