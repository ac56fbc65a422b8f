/* tuned.h — prepares and launches kernels through the library (gemmtune.h), for column-major calls. Nothing
 * else in the drop-in calls the library.
 */
#ifndef GT_TUNED_H
#define GT_TUNED_H

#include "blas_request.h"
#include "contexts.h"
#include "gemmtune.h"

#define TUNED_WHY_MAX 256

enum tuned_result {
    TUNED_READY,
    TUNED_NOT_THIS, /* no workspace for this call, or cublasLt refuses its arguments; nothing was enqueued */
    TUNED_LATER,    /* out of memory, or a failure of the device: may succeed another time */
    TUNED_NEVER,    /* the kernel cannot be built, or is not the winner's */
    TUNED_UNBUILT   /* the kernel must be compiled, and the wish says that it must not */
};

struct tuned_wish {
    struct context *context;       /* the current one */
    const struct problem *problem; /* row-major; a beta other than 0 stands for any such beta */
    int alignment;                 /* bytes */
    bool scalars_on_device;
    bool may_compile;            /* and wait for a thread that compiles */
    const struct choice *choice; /* whose kernel is accepted, and no other */
};

/* Describes the choice's kernel and its speed in a few words. */
void tuned_describe(const struct choice *choice, char why[TUNED_WHY_MAX]);

/* Compiles if necessary, and allowed. why: a description of the kernel, or why there is none. */
enum tuned_result tuned_prepare(const struct tuned_wish *wish, struct gt_plan **plan,
                                char why[TUNED_WHY_MAX]);

/* The algorithm of cublasLt with which tuned_launch would make the call of cublasLt that the request is;
 * NULL: something else computes it. Valid as long as the plan. */
const struct blas_lt_choice *tuned_algorithm(const struct gt_plan *plan, const struct blas_request *request);

/* Enqueues the call. TUNED_READY: done. Otherwise C may be partly written, unless *untouched. */
enum tuned_result tuned_launch(struct gt_plan *plan, const struct blas_request *request, CUstream stream,
                               bool *untouched, char why[TUNED_WHY_MAX]);

#endif
