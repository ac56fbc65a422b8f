/* players.h — kernels for the judge, the clock and the trial: one that is right, and one for every way to be
 * wrong.
 *
 * They compute on the host when they are launched, on the host device's memory, and take as long as they are
 * told.
 */
#ifndef GT_PLAYERS_H
#define GT_PLAYERS_H

#include <kernel.h>

enum fault {
    NONE,
    ONE_OFF,     /* one element is off by one */
    RANDOM_ONLY, /* one element of random data is off by ten bounds */
    UNWRITTEN,   /* one element is left as it was */
    BEFORE_C,
    BEHIND_C,
    IN_PADDING,
    BETA_IGNORED,
    BETA_TIMES_NAN, /* C is read although beta is 0 */
    LAST_K_MISSING,
    OP_SWAPPED,
    UNSTEADY, /* every other call with random data differs in one last bit */
    LATE,     /* right in its first calls, wrong from the call `late` on */
    OPERANDS_OVERWRITTEN,
    ROUNDED_TF32, /* operands are rounded to TF32: to nearest, ties away from 0 */
    ROUNDED_BF16,
    ODD_M_WRONG,  /* right where M is a multiple of 4 */
    ALPHA_0_READS /* 0 * NaN where nothing was to be read */
};

struct player {
    struct problem problem;
    enum fault fault;
    double us; /* a call takes */
    int late;
    int calls;
};

/* As struct kernel has it; self is a struct player. */
enum status play(void *self, const struct operands *operands, double alpha, double beta);

/* Device memory of the host device. */
float *host_memory(CUdeviceptr address);

#endif
