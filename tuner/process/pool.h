/* pool.h — the child processes, compilers and GPU workers: start, submit, wait, deadline, kill, restart.
 * Built on libuv.
 *
 * Children are the same program, executed anew (fork + exec), with a socket on file descriptor 3. Each child
 * has at most one outstanding request. Knows nothing of the messages' content. Only for the supervisor's
 * thread.
 */
#ifndef GT_POOL_H
#define GT_POOL_H

#include "status.h"
#include <jansson.h>
#include <stdbool.h>

struct pool;

enum pool_event_kind {
    POOL_REPLY, /* message is the child's answer; owned by the caller (json_decref) */
    POOL_DIED, /* the child ended or broke the protocol; reason says how. It has been restarted unless gone */
    POOL_TIMEOUT,  /* its deadline passed; it was killed and has been restarted unless gone */
    POOL_TICK,     /* nothing happened for the time given to pool_wait */
    POOL_INTERRUPT /* SIGINT, SIGTERM or SIGHUP arrived (repeated ones too) */
};

struct pool_event {
    enum pool_event_kind kind;
    int child;
    void *job; /* what pool_submit was given; NULL for an idle child */
    json_t *message;
    char reason[160];
    bool gone; /* the child died RESTARTS_MAX times without a reply between and stays dead */
};

/* Installs the handlers of SIGINT, SIGTERM and SIGHUP but for those that are ignored, ignores SIGPIPE.
 * Errors: E_CHILD. */
enum status pool_open(struct pool **pool);

/* Variables that children started from now on do not inherit; NULL-terminated, must stay. Ours stay as they
 * are. */
void pool_keep_from_children(struct pool *pool, const char *const *variables);

/* Start a child: argv[0] is ignored (the program itself is run), NULL-terminated, copied. nice_level > 0
 * lowers its priority by so much below ours, so that compilers do not disturb the worker. *child is its
 * number from now on, also after restarts. */
enum status pool_start(struct pool *pool, const char *const *argv, int nice_level, int *child);

/* Send a request; the answer comes as an event with the same job. deadline_s > 0. The message is only read.
 * Errors: E_BUSY (has a request outstanding), E_CHILD (gone). */
enum status pool_submit(struct pool *pool, int child, const json_t *message, double deadline_s, void *job);

bool pool_idle(const struct pool *pool, int child); /* alive with nothing outstanding */
bool pool_gone(const struct pool *pool, int child);

/* Process id, for tests that kill; -1 when it is not running. */
int pool_pid(const struct pool *pool, int child);

/* Wait for the next event, at most timeout_s (0: only what is there already). Always fills *event. */
enum status pool_wait(struct pool *pool, double timeout_s, struct pool_event *event);

/* Kill a child (SIGKILL) and restart it; its job gives no event. POOL_DIED without a job follows once it is
 * there again; this death does not count towards gone. */
void pool_cancel(struct pool *pool, int child);

/* Kill a child for good: it is gone, its job gives no event. */
void pool_stop(struct pool *pool, int child);

/* SIGKILL all children and close. Takes NULL. */
void pool_close(struct pool *pool);

#endif
