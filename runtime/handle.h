/* handle.h — what gt_open makes, shared by the files of runtime/.
 *
 * gemmtune.c    the public functions, but for gt_gemm and gt_launch
 * arguments.c   the structs that callers hand in
 * overlap.c     whether a result shares memory with what is read
 * gpu_context.c the contexts that a handle works in
 * gemm.c        from a call to a launch
 * plan.c        from a key, which is a problem in a context, to what computes it
 * plans.c       all plans, and an LRU cache of those of gt_gemm
 * instead.c     plans of a caller that has cuBLAS: what computes a call instead of it
 * listed.c      which problems may have a winner
 * background.c  a thread that compiles while cuBLAS computes
 * modules.c     kernels compiled and loaded, each once a context
 * workspaces.c  device memory for launches that need some, one a stream
 * graphs.c      the same for graphs that are captured, and the kernels that these hold
 * memory.c      where that memory comes from
 * prepared.c    operands that were prepared, and the launches that use them
 * blas_pool.c   cuBLAS for any thread
 * object.c      what callers hold pointers to
 *
 * Which winners there are, and which of them a problem gets, is tuner/winners.
 */
#ifndef GT_HANDLE_H
#define GT_HANDLE_H

#include "blas_pool.h"
#include "device.h"
#include "gemmtune.h"
#include "listed.h"
#include "notice.h"
#include "object.h"
#include "plans.h"
#include "winner_store.h"
#include "workspaces.h"
#include <pthread.h>
#include <stdatomic.h>

struct module;
struct watch;

/* A CUDA context that plans live in. Calls that have no winner look at the first members only. */
struct gpu_context {
    struct gpu_context *next;
    struct gt_handle *handle;
    uint64_t id; /* of the context: another may come to be at its address */
    struct listed listed;
    struct device device; /* its GPU; no stream of ours */
    bool is_primary;      /* the GPU's primary one, which is retained */
    bool begun;           /* what kernels need is there; under the handle's lock */
    pthread_mutex_t lock; /* winners */
    struct winner_store winners;
    struct blas_pool blas;
    struct memory memory; /* of workspaces */
    struct graphs graphs;
    struct workspaces *workspaces; /* NULL: none of ours */
    struct module *modules;        /* under the handle's lock, as is the next */
    int module_count;
};

struct gt_handle {
    struct object object;
    unsigned flags;
    int workspaces;            /* in a context */
    int64_t workspace_bytes;   /* each, at most */
    char *database, *pretuned; /* as in gt_options */
    char cache[1024];          /* folder of compiled kernels; "": there is none (yet) */
    bool begins_late;          /* what only kernels need comes with the first one in a context */
    atomic_bool no_compiler;   /* NVRTC is missing or unusable */
    struct notices notices;
    struct device own;    /* the context that gt_open made current because there was none */
    pthread_mutex_t lock; /* contexts, modules; never held while something is compiled */
    pthread_cond_t built; /* a module is ready, or failed */
    _Atomic(struct gpu_context *) contexts;
    struct plans plans;
    struct gt_prepared *prepared; /* under the lock */
    struct watch *watch;          /* of the database; NULL: none */
};

extern struct object_pool handle_pool;

#define NO_HANDLE "%s: the handle is NULL, closed, or none of this library's"
#define NO_PLAN   "%s: the plan is NULL, closed, or none of this library's"

/* As gt_open. begins_late: no cache is looked for, and no context retained, until a kernel is needed
 * (gpu_context_begin_kernels). */
enum gt_status handle_open(struct gt_handle **handle, const struct gt_options *options, bool begins_late);

/* Finds the folder of compiled kernels: the chosen one, or (NULL) the user's. A notice says if there is none.
 */
void handle_find_cache(struct gt_handle *handle, const char *chosen);

/* The code that a caller gets. */
enum gt_status public_status(enum status st);

#endif
