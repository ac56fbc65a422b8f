/* children.h — the children of one run, on top of the pool: compilers, and one worker per GPU.
 *
 * Knows the messages (messages.h): greets every child, greets it again after a restart, and turns answers
 * into plain data. Knows no search and no database. Asynchronous: children_compile and children_send return
 * at once, and children_wait returns the next event. children_ask and children_build_all are the synchronous
 * forms for callers that do one thing at a time (the ladder).
 */
#ifndef GT_CHILDREN_H
#define GT_CHILDREN_H

#include "config.h"
#include "gpu.h"
#include "kernel_key.h"
#include "outcome.h"
#include "pool.h"
#include "problem.h"
#include <jansson.h>
#include <stdbool.h>

struct children;

#define CHILDREN_WORKERS_MAX 64
#define CHILDREN_DEADLINE_S  60.0  /* a compilation, a greeting */
#define CHILDREN_PREPARE_S   180.0 /* references of a large problem, and up to 30 s of warming up */
#define CHILDREN_VERSION_MAX 64

/* A worker's description of itself. Workers are numbered from 0 in the order of children_options.devices. */
struct worker_info {
    int device;
    struct gpu gpu;
    char uuid[48];
    char driver[CHILDREN_VERSION_MAX], cublas[CHILDREN_VERSION_MAX],
        nvrtc[CHILDREN_VERSION_MAX]; /* "" if absent */
    double power_limit_w;            /* 0: unknown */
};

struct children_options {
    const char *cache;  /* folder of cubins */
    int compilers;      /* number of processes; 0: one per core (cores.h) */
    const int *devices; /* CUDA ordinals */
    int device_count;   /* 0: no worker; CHILDREN_ALL_DEVICES: all GPUs */
};
#define CHILDREN_ALL_DEVICES (-1)

/* Starts all children and waits until each has answered its greeting. A GPU that fails its greeting is an
 * error here (later it is CHILDREN_GONE). Errors: E_GPU (no driver, no such GPU, canary wrong), E_COMPILER
 * (no NVRTC), E_CHILD, E_INTERRUPTED. The children do not inherit the variables that change the meaning of
 * FP32. */
enum status children_open(const struct children_options *options, struct children **children);
void children_close(struct children *children); /* takes NULL */

int children_workers(const struct children *children);
const struct worker_info *children_worker(const struct children *children, int worker);
int children_compilers(const struct children *children);
const char *children_nvrtc(const struct children *children); /* "13.0" */

/* Result of one compilation. */
struct build {
    bool built;
    enum verdict verdict; /* if not built */
    char detail[OUTCOME_DETAIL_MAX];
    char cubin[1024]; /* path in the cache */
    char checksum[40];
    bool cached; /* it was in the cache */
    struct kernel_facts facts;
};

int children_idle_compilers(const struct children *children);
bool children_compilers_rest(const struct children *children); /* each is idle or gone */
bool children_worker_idle(const struct children *children,
                          int worker); /* greeted, alive, no outstanding request */

/* Sends a request to an idle compiler; tag comes back with CHILDREN_BUILT. Errors: E_BUSY (none is idle). */
enum status children_compile(struct children *children, const struct kernel_key *kernel, void *tag);

/* Sends a request to a worker; its answer comes as CHILDREN_ANSWER with the tag. Takes over the reference to
 * request, also on failure. Errors: E_BUSY (busy, restarting or gone), E_MEMORY. */
enum status children_send(struct children *children, int worker, json_t *request, double deadline_s,
                          void *tag);

enum children_event_kind {
    CHILDREN_BUILT,  /* tag, build */
    CHILDREN_ANSWER, /* worker, tag, answer (owned by the caller; ok may be false: message_check) */
    CHILDREN_LOST,   /* worker died (hung: by its deadline) on tag (NULL: idle); reason. It is being restarted
                      */
    CHILDREN_BACK,   /* worker is back, greeted, its canary right; it must be prepared again */
    CHILDREN_GONE,   /* worker is given up after repeated failures; reason */
    CHILDREN_TICK,   /* the timeout passed */
    CHILDREN_INTERRUPT /* Ctrl-C or SIGTERM */
};

struct children_event {
    enum children_event_kind kind;
    int worker;
    void *tag;
    bool hung;
    struct build build;
    json_t *answer;
    char reason[OUTCOME_DETAIL_MAX];
};

/* Waits for one event. Errors: E_COMPILER, E_IO (the cache cannot be written), E_CHILD: no compiler can
 * work. */
enum status children_wait(struct children *children, double timeout_s, struct children_event *event);

/* As pool_share, for children_wait. */
void children_share(struct children *children, pthread_mutex_t *lock);

/* Kills a worker with its request; it is restarted and CHILDREN_BACK follows. There is no event for its
 * tag. */
void children_cancel(struct children *children, int worker);

/* Ends a worker for good: CHILDREN_GONE with the reason follows. There is no event for its tag. */
void children_give_up(struct children *children, int worker, const char *reason);

/* Sends one request and waits for its answer; *answer has ok = true and is owned by the caller. Errors: those
 * in the answer, E_CHILD if the worker died (it has been restarted and greeted: prepare again),
 * E_INTERRUPTED. */
enum status children_ask(struct children *children, int worker, json_t *request, double deadline_s,
                         json_t **answer);

/* The measured peak rates of the worker's GPU. Errors: those of children_ask. */
enum status children_roofline(struct children *children, int worker, double *fp32_tflops, double *gb_per_s);

/* Compiles `count` kernels on all compilers and waits for all; builds[i] is that of kernels[i]. */
enum status children_build_all(struct children *children, const struct kernel_key *kernels, int count,
                               struct build *builds);

/* Requests to a worker (messages.h lists the answers). New references; NULL only if out of memory. */
json_t *request_prepare(const struct problem *problem, bool cold, uint64_t seed, double warm_s,
                        double limit_s);
json_t *request_trial(const struct config *config, const struct build *build, double best_us, double limit_s);
json_t *request_block(const struct config *config, const struct build *build, double block_ms);
json_t *request_anchor_block(double block_ms);
json_t *request_rival_block(const char *who, double block_ms); /* "anchor", or a role of rivals.h */
json_t *request_verify(const struct config *config, const struct build *build, double call_us,
                       double limit_s);

#endif
