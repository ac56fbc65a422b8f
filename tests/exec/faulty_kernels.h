/* faulty_kernels.h — kernels for testing judge, timer and trial: a right one, and one for each kind of fault.
 *
 * They compute on the host at launch, in the host device's memory, and take a given time.
 */
#ifndef GT_FAULTY_KERNELS_H
#define GT_FAULTY_KERNELS_H

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
    UNSTEADY, /* every second call with random data differs in a last bit */
    LATE,     /* right in its first calls, wrong from call `late` on */
    OPERANDS_OVERWRITTEN,
    ROUNDED_TF32, /* operands are rounded to TF32: to nearest, ties away from 0 */
    ROUNDED_BF16,
    ODD_M_WRONG,   /* right where M is a multiple of 4 */
    ALPHA_0_READS, /* 0 * NaN where nothing was to be read */
    IDLE,          /* leaves C as it is where its first element is right already */

    /* Of an epilogue. */
    BIAS_MISSING,
    BIAS_OTHER_WAY, /* by rows instead of by columns, or the reverse */
    BIAS_OF_ITEM_0, /* all items get the first one's */
    BIAS_BEYOND,    /* the last element gets what follows the bias */
    BIAS_WRITTEN,   /* and left in memory with another value */
    ACTIVATION_MISSING,
    ACTIVATION_BEFORE_BIAS,
    OFF_BEFORE_ACTIVATION, /* one element is off by one when the activation sees it */
    GELU_BY_ERF,           /* the other definition: x / 2 (1 + erf(x / sqrt 2)) */
    GELU_COARSE,           /* tanh with a relative error of 2^-11 */
    NAN_CLAMPED,           /* ReLU of NaN is 0 */
    SOURCE_WRITTEN,        /* D is stored over the C that is only read, too */
    D_READ                 /* beta is applied to D instead of C */
};

struct faulty_kernel {
    struct problem problem;
    enum fault fault;
    double us; /* duration of a call */
    int late;
    int calls;
};

/* launch of struct kernel; self is a struct faulty_kernel. */
enum status faulty_launch(void *self, const struct operands *operands, double alpha, double beta);

/* The host memory behind an address of the host device. */
float *host_memory(CUdeviceptr address);

#endif
