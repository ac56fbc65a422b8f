/* plan.h — a plan: a key, which is a problem in a context, and what computes it.
 *
 * That is an executable: a kernel that is loaded, or cuBLAS. It does not change once made, so that any number
 * of threads may launch it; if it is refused, or another is faster now, the plan takes another. A call that
 * its plan's key does not fit has another key, for which there is another plan (plan_other).
 *
 * plan.c goes from a key to an executable: which choices there are, and the first of them that can be loaded;
 * gemm.c from a call to a launch.
 */
#ifndef GT_PLAN_H
#define GT_PLAN_H

#include "gemm_call.h"
#include "handle.h"
#include "launch_plan.h"
#include "lookup.h"
#include "overlap.h"
#include "prepared.h"

/* Argument bytes of a usual executable, without and with an epilogue: a constant size is copied fast. */
#define PLAIN_ARGUMENT_MAX    144
#define EXTENDED_ARGUMENT_MAX 192

enum launch_refusal {
    NOT_REFUSED,
    REFUSED,
    REFUSED_FOR_NOW /* for lack of memory: it may do another time */
};

struct executable {
    struct executable *next; /* of the same plan */
    _Atomic(enum launch_refusal) refusal;
    bool usual;          /* one plain kernel launch without epilogue, and nothing else: what follows needs no
                            attention */
    bool usual_extended; /* the same with an epilogue */
    bool cublas;         /* or cublasLt */
    bool by_lt;          /* computed by cublasLt: a problem with an epilogue, or an algorithm that won */
    bool counted;        /* the kernel's module is not kept: graphs must hold it */
    bool provisional;    /* a better one fell away for a reason that may pass */
    atomic_int retry;    /* launches until that one is tried again */
    int patience;        /* how many that were the last time; under the plan's lock */
    uintptr_t unaligned; /* bits of an address that must be 0 */
    struct {
        unsigned grid[3];
        unsigned char argument[EXTENDED_ARGUMENT_MAX]; /* without pointers and scalars */
    } only;                                            /* of a usual one: the one launch that it is */
    CUfunction function[LAUNCH_KERNELS_MAX];
    struct launch_plan form;         /* how the kernels are launched */
    struct prepared_forms *prepared; /* NULL: it takes no prepared operand */
    struct module *module;           /* NULL: cuBLAS, or nothing to compute */
    struct entries *entries;         /* of an own kernel; else NULL */
    struct blas_lt_product lt;       /* of by_lt */
    struct workspace_need need;      /* bytes 0: none */
    struct gt_plan_info info;
};

/* How the caller means a plan, beside its problem. */
struct plan_traits {
    int alignment; /* of the operands, bytes */
    int element;   /* bytes of an element of A and B */
    int element_c; /* of C, the source and the bias */
    bool scalars_on_device;
    bool column_major; /* A and B of a call change places: the problem is by rows */
    bool out_of_place; /* where C is read, it is the call's source */
    bool pointers;     /* A, B and C of a call are arrays */
    bool extended;     /* a call has a bias, or a source, or only an activation: see `extents`; or arrays */
};

struct instead;

struct gt_plan {
    struct object object;
    struct plan_entry entry; /* among the handle's plans; has the key */
    struct gpu_context *context;
    struct problem problem; /* of the key, as the traits are */
    struct plan_traits traits;
    struct extents extents; /* of its operands */
    _Atomic(struct executable *) now;
    struct executable *made;        /* all: another thread may still be launching one that was replaced */
    pthread_mutex_t lock;           /* making another executable, or another plan for a call */
    _Atomic(struct gt_plan *) next; /* the plans of the calls that the key of the first does not fit */
    atomic_llong launches;          /* of one without a workspace */
    struct instead *instead;        /* NULL: the caller has no cuBLAS of its own */
};

extern struct object_pool plan_pool;

/* A plan for a key, without an executable. Not yet among the handle's plans. Errors: E_INPUT (then it is made
 * all the same, without a problem), E_GPU, E_MEMORY. */
enum status plan_make(struct gt_handle *handle, const struct plan_key *key, struct gt_plan **plan);

/* The same with its executable; in the current context, which is the key's. Errors: E_INPUT, E_ABSENT
 * (nothing can compute it), E_GPU, E_MEMORY, E_BUSY (modules.h). */
enum status plan_open(struct gt_handle *handle, const struct plan_key *key, struct gt_plan **plan);

/* Takes it out of the handle's plans. Its context need not be current. Does nothing where another thread does
 * it. */
void plan_free(struct gt_plan *plan);

/* The plan of a call that has this key: the caller's own plan, or one that goes with it, opened if it is not
 * there; in the plan's context, which must be current. Errors: as plan_open. */
enum status plan_other(struct gt_plan *own, const struct plan_key *key, struct gt_plan **plan);

/* Its executable, or a new one if that was refused; in the plan's context, which must be current. Compiles if
 * need be, also while something is captured. Where a better choice fell away for a reason that may pass, it
 * is provisional. Errors: E_ABSENT (nothing can compute it), E_MEMORY, E_BUSY (modules.h). */
enum status plan_ready(struct gt_plan *plan, struct executable **executable);

/* Decides again, also on what was refused for lack of memory, and takes what is better now; in the plan's
 * context, which must be current. Calls go on as before until then, and graphs keep what they have. */
void plan_retry(struct gt_plan *plan);

/* The same for a caller's plan and all that go with it. */
void plan_renew(struct gt_plan *plan);

void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info);

/* Looks up the choices for a plan: the exact ones, or the others. *held is set if another program holds the
 * database; else it stays as it is. Errors: E_MEMORY. */
enum status plan_ask(const struct gt_plan *plan, bool others, struct choice choices[CHOICES_MAX], int *count,
                     bool *held);

/* The executable of one choice, made if it was not yet; in the plan's context, which must be current.
 * *passing is set if a reason why not may pass. Errors: E_ABSENT (it cannot be had, with the reason),
 * E_MEMORY, E_BUSY (modules.h), E_INTERRUPTED. */
enum status plan_take(struct gt_plan *plan, const struct choice *choice, bool *passing,
                      struct executable **executable);

/* The algorithm of cublasLt that an executable is, if one has won; else NULL. */
static inline const struct blas_lt_choice *executable_algorithm(const struct executable *x)
{
    return x->by_lt && x->lt.needs_alignment ? &x->lt.promised : NULL;
}

/* Launches this executable of the plan, or nothing; the call is as one of gt_launch. Errors: E_INPUT,
 * E_ABSENT (it is not for this call), E_MEMORY; nothing was enqueued then. E_GPU: C may be partly written. */
enum status plan_launch(struct gt_plan *plan, struct executable *x, const struct gemm_call *call);

#endif
