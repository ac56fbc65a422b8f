/* dropin.h — what happens to a call of the program: counted, sent to a tuned kernel, or on to cuBLAS.
 *
 *     struct turn turn;
 *     int result;
 *     if (dropin_take(&asked, &turn, &result)) return result;
 *     result = <the real function>(...);
 *     dropin_end(&turn);
 *
 * Told by the environment:
 *     GEMMTUNE_DROPIN     exact (default): kernels measured for the very problem;
 *                         nearest: those of similar problems, too; off: everything goes to cuBLAS
 *     GEMMTUNE_LOG        1: which call went where and why, once for each problem and reason
 *     GEMMTUNE_CAPTURE    file that gets the problems, their counts and times (capture.h)
 *     GEMMTUNE_CAPTURE_S  seconds between two savings of it (30)
 */
#ifndef GT_DROPIN_H
#define GT_DROPIN_H

#include "asked.h"
#include "recorder.h"

struct turn {
    bool outer; /* the real function runs inside of this call: what it calls itself is not the program's */
    CUstream stream;
    struct sample *sample;
};

/* True: the call is done, *result is the status for the program. False: the real function is to be called,
 * then dropin_end. */
bool dropin_take(const struct asked *asked, struct turn *turn, int *result);

/* The same for a call that no tuned kernel can answer, whatever its sizes; why is told once a place. */
struct refusal {
    const char *function, *why;
    atomic_flag said;
};
void dropin_pass(struct refusal *refusal, struct turn *turn);

void dropin_end(struct turn *turn);

/* False: everything goes to cuBLAS. The first call reads the environment. */
bool dropin_on(void);

/* Calls that pass are counted or told of. False: only those that a tuned kernel answers matter. */
bool dropin_is_watched(void);

/* True in a call that the real function makes. */
bool dropin_is_inside(void);

#endif
