/* handle.h — what gt_open makes, shared by the files of runtime/.
 *
 * gemmtune.c    the public functions: arguments checked, contexts found
 * plan.c        a plan: the first choice that can be prepared, and another one when a launch needs it
 * way.c         one prepared way to compute a problem: a kernel or cuBLAS
 * modules.c     kernels compiled and loaded, each once a context
 * lookup.c      what to choose: exact, nearest, predicted, fallback
 * nearest.c     which measured problems are like a given one
 * known.c       the winners known for a GPU
 * shape.c       where a problem lies among others
 * pretuned.c    winners as text
 * workspaces.c  memory for split-K, one a stream
 * blas_pool.c   cuBLAS for any thread
 * plan_cache.c  plans found again by problem, without a lock
 * notice.c      what is said on standard error
 */
#ifndef GT_HANDLE_H
#define GT_HANDLE_H

#include "blas_pool.h"
#include "device.h"
#include "gemmtune.h"
#include "known.h"
#include "notice.h"
#include "plan_cache.h"
#include <pthread.h>
#include <stdatomic.h>

struct module;

/* A CUDA context that plans live in. */
struct place {
    struct place *next;
    struct device device; /* its GPU; no stream of ours */
    pthread_mutex_t lock; /* known */
    struct known known;
    struct blas_pool blas;
    struct module *modules; /* under the handle's lock */
};

struct gt_handle {
    unsigned flags;
    int workspaces;
    int64_t workspace_bytes;   /* each, at most */
    char *database, *pretuned; /* as in gt_options */
    char cache[1024];          /* folder of compiled kernels; "": there is none */
    char private_cache[64];  /* one of ours alone, removed at the end, where that one cannot be used; "": none
                                yet */
    atomic_bool no_compiler; /* NVRTC is missing or unusable */
    struct notices notices;
    struct device own;    /* the context that gt_open made current because there was none */
    pthread_mutex_t lock; /* modules, plans, private_cache; never held while something is compiled */
    pthread_cond_t built; /* a module is ready, or failed */
    _Atomic(struct place *) places;
    struct gt_plan *plans;
    struct plan_cache found;
};

#endif
