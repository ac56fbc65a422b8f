/* pool.h — the child processes, compilers and GPU workers: start, submit, wait, deadline, kill, restart.
 * Built on libuv.
 *
 * Children are the same program, executed anew (fork + exec), with a socket on file descriptor 3. Each child
 * has at most one outstanding request. Knows nothing of the messages' content. For one thread, or for several
 * that share a lock (pool_share).
 */
#ifndef GT_POOL_H
#define GT_POOL_H

#include "status.h"
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

struct pool;

enum pool_event_kind {
    POOL_REPLY, /* message is the child's answer; owned by the caller (json_decref) */
    POOL_DIED, /* the child ended or broke the protocol; reason says how. It has been restarted unless gone */
    POOL_TIMEOUT,  /* its deadline passed; it was killed and has been restarted unless gone */
    POOL_TICK,     /* nothing happened within the timeout of pool_wait */
    POOL_INTERRUPT /* SIGINT, SIGTERM or SIGHUP arrived (repeated ones too) */
};

struct pool_event {
    enum pool_event_kind kind;
    int child;
    void *job; /* as passed to pool_submit; NULL for an idle child */
    json_t *message;
    char reason[160];
    bool gone;       /* the child died RESTARTS_MAX times without a reply between, and stays dead */
    bool superseded; /* an end: the restarted child has ended, too, and the event of that follows */
};

/* Installs handlers for SIGINT, SIGTERM and SIGHUP, except for those that are ignored; ignores SIGPIPE.
 * Errors: E_CHILD. */
enum status pool_open(struct pool **pool);

/* Variables that children started from now on do not inherit; NULL-terminated; the array must outlive the
 * pool. Our own environment does not change. */
void pool_keep_from_children(struct pool *pool, const char *const *variables);

/* Starts a child: argv[0] is ignored (this program is run), NULL-terminated, copied. nice_level > 0 lowers
 * its priority by that much below ours, so that compilers do not disturb the worker. *child is its number
 * from now on, also after restarts. */
enum status pool_start(struct pool *pool, const char *const *argv, int nice_level, int *child);

/* Sends a request; the answer comes as an event with the same job. deadline_s > 0; while the child could run
 * and waits for a processor, it does not pass. The message is not changed or kept. Errors: E_BUSY (a request
 * is outstanding), E_CHILD (gone). */
enum status pool_submit(struct pool *pool, int child, const json_t *message, double deadline_s, void *job);

/* Alive with nothing outstanding, and no end of it is still to be told. */
bool pool_idle(const struct pool *pool, int child);

/* Process id, for tests that kill children; -1 if it is not running. */
int pool_pid(const struct pool *pool, int child);

/* Several threads use the pool: each holds this lock in every call, and pool_wait releases it while it
 * sleeps, so that others can submit and cancel. Only one thread at a time may wait. Children are killed when
 * the thread ends that started them, a restart in pool_wait included: no such thread may end before the pool.
 */
void pool_share(struct pool *pool, pthread_mutex_t *lock);

/* Waits for the next event, at most timeout_s (0: only events that are pending). Always fills *event. */
enum status pool_wait(struct pool *pool, double timeout_s, struct pool_event *event);

/* Kills a child (SIGKILL) and restarts it; there is no event for its job. POOL_DIED without a job follows
 * after the restart; this death does not count towards gone. */
void pool_cancel(struct pool *pool, int child);

/* Kills a child for good: it is gone, and there is no event for its job. */
void pool_stop(struct pool *pool, int child);

/* SIGKILL all children and close. Takes NULL. */
void pool_close(struct pool *pool);

#endif
