/* instead.h — plans of a caller that calls cuBLAS itself: a winner that was measured to be faster than cuBLAS
 * computes a call instead of it, and nothing else of ours does.
 *
 * Decided when the plan is made, from the winners of its context; a kernel is loaded when a call first needs
 * it. One that must be compiled is, in the background, while cuBLAS computes the calls (or they wait:
 * instead_rules.wait).
 */
#ifndef GT_INSTEAD_H
#define GT_INSTEAD_H

#include "plan.h"

#define INSTEAD_WHY_MAX 256

/* How decisions are made; set before the first. */
struct instead_rules {
    bool nearest;                          /* also by winners of similar problems */
    bool wait;                             /* calls wait for a kernel that must be compiled */
    bool (*excludes)(const char *problem); /* problems that stay with cuBLAS, by their text; NULL: none */
};
extern struct instead_rules instead_rules;

enum instead_by {
    BY_CUBLAS,
    BY_KERNEL,
    BY_KERNEL_LATER /* by cuBLAS for a number of calls, after a failure that may be temporary */
};

enum instead_failure {
    FAILS_FOR_NOW, /* out of memory, or a failure of the device: may succeed another time */
    FAILS          /* the kernel cannot be had, or is not the winner's */
};

/* What computes the calls, and why. */
struct instead_state {
    char why[INSTEAD_WHY_MAX];
    const char *family;    /* of the winner; NULL: there is none */
    double ratio, time_us; /* cuBLAS's time over the winner's, and that; 0: unknown */
    bool rival_won;        /* cuBLAS was measured to be as fast as any kernel */
};

struct instead {
    struct gt_plan *plan; /* for scalars on the host; has key, problem and extents. A beta that the key adds
                             to C stands for any but 0 */
    const char *unnamed;  /* why it is no problem of ours; NULL: it is one */
    atomic_int by;        /* enum instead_by */
    atomic_int calls_to_pass;                /* BY_KERNEL_LATER: calls until the next attempt */
    atomic_bool compiling;                   /* in the background; then it is preparing, too */
    _Atomic(struct executable *) kernels[2]; /* scalars on the host, on the device; NULL: not loaded */
    struct gt_plan *on_device;               /* the plan of the second, one of those that go with `plan` */

    /* under a lock */
    struct instead_state state;
    bool preparing;  /* a thread prepares its kernel */
    bool again;      /* new winners came meanwhile: it must be decided again */
    bool for_device; /* compiling: for scalars on the device */
    int failures;    /* number of temporary failures */

    /* used by who prepares */
    struct choice *choice; /* the winner; NULL: there is none */
    bool tried;            /* its kernel is loaded, or could not be */
};

/* A plan in the context, which is the key's and current; decided, without an executable. Not yet among the
 * handle's plans; x is to live as long as the plan. The key is that of calls with scalars on the host.
 * Errors: E_MEMORY, E_GPU. */
enum status instead_open(struct gpu_context *context, const struct plan_key *key, struct instead *x);

/* One that is not among the handle's plans. */
void instead_close(struct instead *x);

/* The call goes to a kernel, or may do so. */
static inline bool instead_is_kernel(const struct instead *x)
{
    return atomic_load_explicit(&x->by, memory_order_relaxed) != BY_CUBLAS;
}

/* For such a one: false while it passes because of a failure. Counts this call. */
bool instead_is_due(struct instead *x);

/* The winner's executable. NULL: not now, because it was not asked for before the stream was captured,
 * because it is being compiled in the background, or because cuBLAS computes by now. Threads that need the
 * same kernel meanwhile wait for it if it is not compiled or instead_rules.wait is set. A captured stream
 * waits for what is being compiled. */
struct executable *instead_kernel(struct instead *x, bool scalars_on_device, CUstream stream);

/* The plan to launch it by. */
static inline struct gt_plan *instead_plan(const struct instead *x, bool scalars_on_device)
{
    return scalars_on_device ? x->on_device : x->plan;
}

/* Its kernel is being compiled in the background. */
static inline bool instead_is_compiling(const struct instead *x)
{
    return atomic_load_explicit(&x->compiling, memory_order_relaxed);
}

/* The kernel failed: cuBLAS computes the calls from now on, for good or (FAILS_FOR_NOW) for a number of
 * calls. Does nothing if another kernel, or cuBLAS, has taken its place meanwhile. */
void instead_give_up(struct instead *x, const struct executable *kernel, enum instead_failure failure,
                     const char *why);

/* Decides again, from winners that were read again; what is faster now is prepared here, and then computes
 * the calls that follow. In its context. */
void instead_renew(struct instead *x);

void instead_state(struct instead *x, struct instead_state *state);

/* True while a call on the stream would be recorded into a graph, or would break a capture. */
bool instead_is_captured(CUstream stream);

#endif
