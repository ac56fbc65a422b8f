/* behind.h — the time that a call adds to a program in which another kernel comes before it.
 *
 * The kernel before reads A of the call's set and writes it as it is. So A is in the L2 cache as far as it
 * fits, the other operands are as cold as they were, and a kernel with programmatic dependency overlaps a
 * kernel that does not help it. Timed are pairs of both; the time of the kernel before alone, in the same
 * block, is subtracted.
 */
#ifndef GT_BEHIND_H
#define GT_BEHIND_H

#include "measure.h"

/* The kernel before, alone: one for all calls on a workload. */
struct before {
    const struct workload *work;
    struct kernel kernel;
    struct timed timed;
    double us; /* of one call: a mean in which the last blocks count more; 0: not timed yet */
};

enum status before_start(struct stopwatch *watch, const struct workload *work, struct before *before);
void before_stop(struct before *before); /* takes a zeroed struct too */

/* A call behind it. Zeroed: not started. */
struct behind {
    const struct timed *call; /* not owned */
    struct kernel kernel;
    struct timed timed;
};

/* Times the pair. call: ready for timing; neither it nor *behind may move. Errors: those of timed_start. */
enum status behind_start(const struct timed *call, struct behind *behind);
void behind_stop(struct behind *behind); /* takes a zeroed struct too */

/* One block of about block_us, a quarter of it for the kernel before. *us: what a call adds, above 0; calls,
 * state: as timed_blocks. */
enum status behind_block(struct before *before, struct behind *behind, double block_us, double *us,
                         int64_t *calls, struct gpu_state *state);

#endif
