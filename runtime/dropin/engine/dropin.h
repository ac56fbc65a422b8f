/* dropin.h — handles a call of the program: it is counted, and computed by a tuned kernel or passed on to
 * cuBLAS.
 *
 * Controlled by the environment:
 *     GEMMTUNE_DROPIN     exact (default): kernels measured for exactly this problem;
 *                         nearest: also those of similar problems; off: everything goes to cuBLAS
 *     GEMMTUNE_EXCLUDE    problems that stay with cuBLAS (exclude.h)
 *     GEMMTUNE_LOG        1: which call went where and why, once per problem and reason
 *     GEMMTUNE_CAPTURE    file for the problems, their counts and times (capture.h)
 *     GEMMTUNE_CAPTURE_S  seconds between two saves of it (30)
 */
#ifndef GT_DROPIN_H
#define GT_DROPIN_H

#include "engine.h"
#include "recorder.h"

/* As in struct engine. */
bool dropin_take(const struct blas_request *request, struct intercept *intercept, int *result);
void dropin_refuse(struct refusal *refusal, const struct blas_request *request, struct intercept *intercept);
void dropin_end(struct intercept *intercept);
void dropin_in_child(void);

/* False: everything goes to cuBLAS, as in a forked child. The first call reads the environment. */
bool dropin_on(void);

/* True if calls that pass are counted or logged. False: only calls for a tuned kernel matter. */
bool dropin_is_watched(void);

/* Launches the kernel of a problem. reads_c: C is read, or may be. True: the call is done, *result is its
 * status. False: nothing was computed that cuBLAS does not overwrite; the kernel may have been given up. */
bool dropin_launch(const struct blas_request *request, struct record *record, struct gt_plan *plan,
                   struct executable *kernel, CUstream stream, bool reads_c, int *result);

#endif
