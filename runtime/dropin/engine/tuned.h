/* tuned.h — prepares and launches kernels through the library (gemmtune.h), for column-major calls. Nothing
 * else in the drop-in calls the library.
 */
#ifndef GT_TUNED_H
#define GT_TUNED_H

#include "asked.h"
#include "contexts.h"
#include "gemmtune.h"

#define TUNED_WHY_MAX 256

enum tuned_result {
    TUNED_READY,
    TUNED_NOT_THIS, /* no workspace for this call; nothing was enqueued */
    TUNED_LATER,    /* out of memory, or a failure of the device: may succeed another time */
    TUNED_NEVER     /* the kernel cannot be built, or is not the winner's */
};

struct tuned_wish {
    struct context *context;       /* the current one */
    const struct problem *problem; /* row-major; a beta other than 0 stands for any such beta */
    int alignment;                 /* bytes */
    bool scalars_on_device;
    bool nearest; /* accept the winner of a similar problem */
};

/* Compiles if necessary. why: a description of the kernel, or why there is none. */
enum tuned_result tuned_prepare(const struct tuned_wish *wish, struct gt_plan **plan,
                                char why[TUNED_WHY_MAX]);

/* Enqueues the call. TUNED_READY: done. Otherwise C may be partly written, unless *untouched. */
enum tuned_result tuned_launch(struct gt_plan *plan, const struct asked *asked, CUstream stream,
                               bool *untouched, char why[TUNED_WHY_MAX]);

#endif
