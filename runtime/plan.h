/* plan.h — a plan: a problem in a context, and the ways to compute it that were made ready.
 *
 * A way is a kernel that is loaded, or cuBLAS. It does not change once made, so that any number of threads
 * may launch it; where it will not do, the plan prepares another, which takes its place.
 *
 * plan.c goes from a problem to a way: which choices there are, and the first of them that can be loaded;
 * gemm.c from a call to a launch.
 */
#ifndef GT_PLAN_H
#define GT_PLAN_H

#include "gemm_call.h"
#include "handle.h"
#include "launch_plan.h"
#include "overlap.h"
#include "prepared.h"

/* Operands as aligned as promised, or any; with a workspace if it wants one, or without; with beta = 0 if the
 * plan's problem is for another, and the other way round. Bits. */
enum plan_case { PLAN_USUAL = 0, PLAN_UNALIGNED = 1, PLAN_WITHOUT = 2, PLAN_OTHER_BETA = 4, PLAN_CASES = 8 };

/* Argument bytes of a usual way, without and with an epilogue: a constant size is copied fast. */
#define PLAIN_ARGUMENT_MAX    144
#define EXTENDED_ARGUMENT_MAX 192

enum way_refusal {
    NOT_REFUSED,
    REFUSED,
    REFUSED_FOR_NOW /* for lack of memory: it may do another time */
};

struct way {
    struct way *next; /* of the same plan */
    _Atomic(enum way_refusal) refusal;
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

struct gt_plan {
    struct object object;
    struct plan_entry entry; /* among the handle's plans */
    struct gpu_context *context;
    struct problem problem;
    struct plan_traits traits;
    struct extents extents;                /* of its operands */
    _Atomic(struct way *) way[PLAN_CASES]; /* all but the first are NULL until one is needed */
    atomic_llong without;                  /* launches that could not have their workspace */
    pthread_mutex_t lock;                  /* making another way */
    uint64_t wanted[PLAN_CASES];           /* hash of what was chosen at the last renewal; under the lock */
    struct way *ways; /* all that were made: another thread may still be launching an old one */
};

extern struct object_pool plan_pool;

/* A plan for a caller's problem, with all members of ours, and its usual way; in the current context, which
 * has this id. Not yet among the handle's plans. Errors: E_INPUT, E_ABSENT (nothing can compute it), E_GPU,
 * E_MEMORY, E_BUSY (modules.h). */
enum status plan_open(struct gt_handle *handle, uint64_t context_id, const struct gt_problem *problem,
                      struct gt_plan **plan);

/* Takes it out of the handle's plans. Its context need not be current. Does nothing where another thread does
 * it. */
void plan_free(struct gt_plan *plan);

/* The way for a case that is there, or a new one if there is none or it was refused; in the plan's context,
 * which must be current. Compiles if need be, also while something is captured. Where a better choice fell
 * away for a reason that may pass, the way is provisional. Errors: E_ABSENT (nothing can compute it),
 * E_MEMORY, E_BUSY (modules.h). */
enum status plan_prepare(struct gt_plan *plan, enum plan_case which, struct way **way);

/* Try again what was refused for lack of memory and replaced by a stand-in. */
void plan_improve(struct gt_plan *plan, enum plan_case which, struct way *stand_in);

/* Looks up again what computes the plan, in each case that was prepared, and takes what is faster now; in the
 * plan's context, which must be current. Calls go on as before until then, and graphs keep what they have. */
void plan_renew(struct gt_plan *plan);

void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info);

/* The algorithm of cublasLt that computes the plan's usual calls, and has won; NULL: something else computes
 * them. Valid until the plan is freed. */
const struct blas_lt_choice *plan_algorithm(const struct gt_plan *plan);

/* The workspace of its usual calls. */
struct workspace_need plan_need(const struct gt_plan *plan);

#endif
