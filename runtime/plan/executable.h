/* executable.h — one problem made ready for launches: a kernel that is loaded, or cuBLAS. It does not change
 * once made, so that any number of threads may launch it.
 */
#ifndef GT_EXECUTABLE_H
#define GT_EXECUTABLE_H

#include "handle.h"
#include "launch_plan.h"
#include "lookup.h"
#include "template.h"

struct module;

/* Of a usual one, without and with an epilogue: what is always copied whole is copied fast. */
#define PLAIN_ARGUMENT_MAX    144
#define EXTENDED_ARGUMENT_MAX 192

/* How a configuration is launched. */
struct executable_form {
    struct launch_plan plan;
    CUfunction function[LAUNCH_KERNELS_MAX];
    struct {
        unsigned grid[3];
        unsigned char argument[EXTENDED_ARGUMENT_MAX]; /* without pointers and scalars */
    } only;                                            /* of a usual one: the one launch that it is */
};

/* Is it still taken? */
enum refusal {
    NOT_REFUSED,
    REFUSED,         /* it was refused */
    REFUSED_FOR_NOW, /* for lack of memory: it may do another time */
};

struct executable {
    struct executable *next; /* of the same plan */
    _Atomic(enum refusal) refusal;
    bool usual; /* one plain kernel launch without epilogue, and nothing else: what follows needs no attention
                 */
    bool usual_extended; /* the same with an epilogue */
    bool cublas;         /* or cublasLt */
    bool by_lt;          /* computed by cublasLt: a problem with an epilogue, or an algorithm that won */
    bool counted;        /* the kernel's module is not kept: graphs must hold it */
    bool provisional;    /* a better one fell away for a reason that may pass */
    atomic_int retry;    /* launches until that one is tried again */
    int patience;        /* how many that were the last time; under the plan's lock */
    bool scalars_on_device;
    uintptr_t unaligned; /* bits of an address that must be 0 */
    struct problem problem;
    struct gt_handle *handle;
    struct gpu_context *context;
    struct module *module;     /* NULL: cuBLAS, or nothing to compute */
    struct blas_lt_product lt; /* of by_lt */
    struct executable_form form;
    struct workspace_need need; /* bytes 0: none */
    struct gt_plan_info info;
};

/* Prepare a choice for a plan's problem in its context, which must be current, and for operands that are
 * multiples of so many bytes; compiles if need be. The choice must be legal; NULL: C has no elements, and
 * nothing is launched. without: cublasLt is not given a workspace. E_ABSENT: it cannot be had (refused by
 * compiler or driver, no cuBLAS), with the reason; *passing: it was a lack of memory. Errors: those of
 * modules_get. */
enum status executable_build(const struct gt_plan *plan, const struct choice *choice, int alignment,
                             bool without, struct executable **executable, bool *passing);

/* Takes NULL. */
void executable_free(struct executable *executable);

/* What came of a launch. */
enum launch_result {
    LAUNCH_DONE,
    LAUNCH_REFUSED,         /* nothing was enqueued that writes C; another executable may do */
    LAUNCH_REFUSED_FOR_NOW, /* the same, for lack of memory */
    LAUNCH_NO_WORKSPACE,    /* there is no workspace for it; nothing was enqueued */
    LAUNCH_RETRY_DUE, /* it is provisional, and the better one should be tried again; nothing was enqueued */
    LAUNCH_NOT_PREPARED, /* there was none to launch */
    LAUNCH_NO_CONTEXT,   /* no context is current in this thread; nothing was enqueued */
    LAUNCH_FAILED        /* an error; C may be partly written. status_text() says what happened */
};

/* Enqueue one call: kernel launches only, or cuBLAS. Nothing waits. */
enum launch_result executable_launch(struct executable *executable, const struct gemm_call *call);

#endif
