/* way.h — one prepared way to compute one problem: a kernel that is loaded, or cuBLAS. It does not change
 * once made, so that any number of threads may launch it.
 */
#ifndef GT_WAY_H
#define GT_WAY_H

#include "handle.h"
#include "launch_plan.h"
#include "lookup.h"
#include "template.h"

struct module;

#define WAY_ARGUMENT_MAX 144 /* of a usual way: what is always copied whole is copied fast */

/* How a configuration is launched. */
struct way_form {
    struct launch_plan plan;
    CUfunction function[LAUNCH_KERNELS_MAX];
    struct {
        unsigned grid[3];
        unsigned char argument[WAY_ARGUMENT_MAX]; /* without pointers and scalars */
    } only;                                       /* of a usual way: the one launch that it is */
};

/* Why a way is not taken any more. */
enum way_bar {
    WAY_OPEN,
    WAY_BARRED,         /* it was refused */
    WAY_BARRED_FOR_NOW, /* for lack of memory: it may do another time */
};

struct way {
    struct way *next; /* of the same plan */
    _Atomic(enum way_bar) bar;
    bool usual; /* one plain kernel launch and nothing else: what follows needs no attention */
    bool cublas;
    bool counted;     /* the kernel's module is not kept: graphs must hold it */
    bool provisional; /* a better one fell away for a reason that may pass */
    atomic_int retry; /* launches until that one is tried again */
    int patience;     /* how many that were the last time; under the plan's lock */
    bool scalars_on_device;
    uintptr_t unaligned; /* bits of an address that must be 0 */
    struct problem problem;
    struct gt_handle *handle;
    struct place *place;
    struct module *module; /* NULL: cuBLAS, or nothing to compute */
    struct way_form form;
    struct workspace_need need; /* bytes 0: none */
    struct gt_plan_info info;
};

/* Prepare a choice for a plan's problem in its context, which must be current, and for operands that are
 * multiples of so many bytes; compiles if need be. The choice must be legal; NULL: C has no elements, and
 * nothing is launched. E_ABSENT: this way is barred (refused by compiler or driver, no cuBLAS), with the
 * reason; *passing: it was a lack of memory. Errors: those of modules_get. */
enum status way_build(const struct gt_plan *plan, const struct choice *choice, int alignment,
                      struct way **way, bool *passing);

/* Takes NULL. */
void way_free(struct way *way);

/* What came of a launch. */
enum way_result {
    WAY_DONE,
    WAY_REFUSED,     /* nothing was enqueued that writes C; another way may do */
    WAY_REFUSED_NOW, /* the same, for lack of memory */
    WAY_CROWDED,     /* there is no workspace for it; nothing was enqueued */
    WAY_DUE,         /* it is provisional, and the better one should be tried again; nothing was enqueued */
    WAY_MISSING,     /* there was none to launch */
    WAY_NO_CONTEXT,  /* no context is current in this thread; nothing was enqueued */
    WAY_BROKEN       /* an error; C may be partly written. status_text() says what happened */
};

/* Enqueue one call: kernel launches only, or cuBLAS. Nothing waits. */
enum way_result way_launch(struct way *way, const struct gemm_call *call);

#endif
