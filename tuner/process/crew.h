/* crew.h — the children of one run, on top of the pool: compilers, and one worker per GPU.
 *
 * Knows the messages (messages.h): greets every child, greets it again after a restart, and turns answers
 * into plain data. Knows no search and no database. Asynchronous: crew_compile and crew_send return at once,
 * and crew_wait returns the next event. crew_ask and crew_build_all are the synchronous forms for callers
 * that do one thing at a time (the ladder).
 */
#ifndef GT_CREW_H
#define GT_CREW_H

#include "config.h"
#include "gpu.h"
#include "kernel_key.h"
#include "outcome.h"
#include "pool.h"
#include "problem.h"
#include <jansson.h>
#include <stdbool.h>

struct crew;

#define CREW_WORKERS_MAX 64
#define CREW_DEADLINE_S  60.0  /* a compilation, a greeting */
#define CREW_PREPARE_S   180.0 /* reference results of a large problem and up to 30 s of warming up */
#define CREW_VERSION_MAX 64

/* What a worker said of itself. Workers are numbered from 0 in the order of crew_options.devices. */
struct worker_info {
    int device;
    struct gpu gpu;
    char uuid[48];
    char driver[CREW_VERSION_MAX], cublas[CREW_VERSION_MAX], nvrtc[CREW_VERSION_MAX]; /* "" if absent */
    double power_limit_w;                                                             /* 0: unknown */
};

struct crew_options {
    const char *cache;  /* folder of cubins */
    int compilers;      /* processes; 0: one a core */
    const int *devices; /* CUDA ordinals */
    int device_count;   /* 0: no worker; CREW_ALL_DEVICES: every GPU there is */
};
#define CREW_ALL_DEVICES (-1)

/* Start all children and wait until each has greeted. A GPU that fails its greeting is an error here (later
 * it is CREW_GONE). Errors: E_GPU (no driver, no such GPU, canary wrong), E_COMPILER (no NVRTC), E_CHILD,
 * E_INTERRUPTED. The children do not inherit the variables that change the meaning of FP32. */
enum status crew_open(const struct crew_options *options, struct crew **crew);
void crew_close(struct crew *crew); /* takes NULL */

int crew_workers(const struct crew *crew);
const struct worker_info *crew_worker(const struct crew *crew, int worker);
int crew_compilers(const struct crew *crew);
const char *crew_nvrtc(const struct crew *crew); /* "13.0" */

/* What became of one compilation. */
struct build {
    bool built;
    enum verdict verdict; /* when not built */
    char detail[OUTCOME_DETAIL_MAX];
    char cubin[1024]; /* path in the cache */
    char checksum[40];
    bool cached; /* it was there already */
    struct kernel_facts facts;
};

int crew_idle_compilers(const struct crew *crew);
bool crew_worker_idle(const struct crew *crew, int worker); /* greeted, alive, nothing outstanding */

/* Ask an idle compiler; tag comes back with CREW_BUILT. Errors: E_BUSY (none is idle). */
enum status crew_compile(struct crew *crew, const struct kernel_key *kernel, void *tag);

/* Send a worker a request; its answer comes as CREW_ANSWER with the tag. Takes over the reference of request,
 * also when it fails. Errors: E_BUSY (busy, restarting or gone), E_MEMORY. */
enum status crew_send(struct crew *crew, int worker, json_t *request, double deadline_s, void *tag);

enum crew_event_kind {
    CREW_BUILT,  /* tag, build */
    CREW_ANSWER, /* worker, tag, answer (owned by the caller; ok may be false: message_check) */
    CREW_LOST,   /* worker died (hung: by its deadline) on tag (NULL: idle); reason. It is being restarted */
    CREW_BACK,   /* worker is there again, greeted, its canary right; it must be prepared anew */
    CREW_GONE,   /* worker is given up after repeated failures; reason */
    CREW_TICK,   /* the time given passed */
    CREW_INTERRUPT /* Ctrl-C or SIGTERM */
};

struct crew_event {
    enum crew_event_kind kind;
    int worker;
    void *tag;
    bool hung;
    struct build build;
    json_t *answer;
    char reason[OUTCOME_DETAIL_MAX];
};

/* Wait for one event. Errors: E_COMPILER, E_IO (the cache cannot be written), E_CHILD: no compiler can work.
 */
enum status crew_wait(struct crew *crew, double timeout_s, struct crew_event *event);

/* Kill what a worker is doing; it is restarted, CREW_BACK follows, its tag brings nothing. */
void crew_cancel(struct crew *crew, int worker);

/* No more of this GPU: its process is ended; CREW_GONE with the reason follows, its tag brings nothing. */
void crew_give_up(struct crew *crew, int worker, const char *reason);

/* One request, waited for; *answer has ok = true and is owned by the caller. Errors: what the answer says,
 * E_CHILD when the worker died (it has been restarted and greeted: prepare again), E_INTERRUPTED. */
enum status crew_ask(struct crew *crew, int worker, json_t *request, double deadline_s, json_t **answer);

/* What the worker's GPU can do at most, measured. Errors: those of crew_ask. */
enum status crew_roofline(struct crew *crew, int worker, double *fp32_tflops, double *gb_per_s);

/* Compile many on all compilers and wait for all; builds[i] is that of kernels[i]. */
enum status crew_build_all(struct crew *crew, const struct kernel_key *kernels, int count,
                           struct build *builds);

/* Requests to a worker (messages.h says what each answers). New references; NULL only out of memory. */
json_t *request_prepare(const struct problem *problem, bool cold, uint64_t seed, double warm_s);
json_t *request_trial(const struct config *config, const struct build *build, double best_us);
json_t *request_block(const struct config *config, const struct build *build, double block_ms);
json_t *request_anchor_block(double block_ms);
json_t *request_rival_block(const char *who, double block_ms); /* "anchor", or a role of rivals.h */
json_t *request_verify(const struct config *config, const struct build *build);

#endif
