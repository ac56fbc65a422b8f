/* way.h — one prepared way to compute one problem: a kernel that is loaded, or cuBLAS. It does not change
 * once made, so that any number of threads may launch it.
 */
#ifndef GT_WAY_H
#define GT_WAY_H

#include "handle.h"
#include "lookup.h"
#include "templates.h"
#include "workspaces.h"

/* How a configuration is launched. */
struct way_form {
    struct launch_plan plan;
    CUfunction function[LAUNCH_KERNELS_MAX];
};

struct way {
    struct way *next; /* of the same plan */
    bool barred;      /* it was refused: not to be prepared again; under the plan's lock */
    bool cublas;
    bool scalars_on_device;
    uintptr_t unaligned; /* bits of an address that must be 0 */
    struct problem problem;
    struct place *place;
    struct way_form form, unsplit; /* unsplit: needs no workspace; plan.kernels 0: there is none */
    struct workspaces *workspaces; /* NULL: form needs none */
    struct gt_plan_info info;
};

/* Prepare a choice in the place's context, which must be current; compiles if need be. The choice must be
 * legal. E_ABSENT: this way is barred (refused by compiler or driver, no memory for its workspace, no
 * cuBLAS), with the reason. Errors: those of modules_get. */
enum status way_build(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      int alignment, bool scalars_on_device, const struct choice *choice, struct way **way);

/* In the place's context. Takes NULL. */
void way_free(struct way *way);

/* What came of a launch. */
enum way_result {
    WAY_DONE,
    WAY_REFUSED,    /* nothing was enqueued that writes C; another way may do */
    WAY_CROWDED,    /* all workspaces belong to other streams; nothing was enqueued */
    WAY_NO_CONTEXT, /* no context is current in this thread; nothing was enqueued */
    WAY_BROKEN      /* an error; C may be partly written. status_text() says what happened */
};

/* Enqueue one call: kernel launches only, or cuBLAS. Nothing waits. */
enum way_result way_launch(const struct way *way, const struct gemm_call *call);

#endif
