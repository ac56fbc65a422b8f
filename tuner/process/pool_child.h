/* pool_child.h — one child process of a pool: started, listened to, and seen to end. What pool.c and
 * pool_child.c share.
 */
#ifndef GT_POOL_CHILD_H
#define GT_POOL_CHILD_H

#include "pool.h"
#include <uv.h>

#define CHILD_ARGS_MAX  32
#define LINE_MAX_LENGTH 120

struct child {
    struct pool *pool;
    int number;
    char *argv[CHILD_ARGS_MAX + 1];
    int nice_level;

    uv_process_t process;
    uv_pipe_t channel; /* frames, both ways */
    uv_pipe_t errors;  /* its standard error: the last line explains a death */
    uv_timer_t deadline;
    int open_handles; /* of process, channel, errors: a restart waits until all are closed */
    bool running;     /* spawned and not yet seen to end */

    bool outstanding; /* a request without its answer */
    void *job;
    char *bytes; /* received, not yet a whole frame */
    size_t length, room;
    char line[LINE_MAX_LENGTH]; /* last whole or partial line of errors */
    size_t line_length;
    bool line_ended;

    bool ending; /* killed, or its socket is closed: takes no more requests */
    bool timed_out, cancelled, stopped, gone;
    int failures;     /* deaths since the last answer */
    char reason[160]; /* why we killed it, or how it ended */
};

struct queued {
    struct pool_event event;
    struct queued *next;
};

struct pool {
    uv_loop_t loop;
    uv_signal_t interrupt[3];
    int interrupts; /* of them, those that are watched for */
    uv_timer_t tick;
    bool ticked, closing;
    const char *program;
    const char *const *kept; /* variables that children do not get; NULL: none */
    bool echo;               /* GEMMTUNE_DEBUG: what children print goes to our standard error */
    struct child **children;
    int count;
    struct queued *first, **last;
    bool out_of_memory;
};

/* An event for pool_wait, which owns its message from now on. */
void pool_push(struct pool *pool, struct pool_event event);

/* Run the program anew. A failure leaves the child gone, with the reason. Its end comes as an event, and it
 * is spawned again. */
void child_spawn(struct child *c);
/* The first reason stands: what follows from a kill explains nothing. "" leaves it to the way the process
 * ends. */
void child_kill(struct child *c, const char *why);
/* From now on it has so many seconds to answer. */
void child_set_deadline(struct child *c, double seconds);
/* It is taken to have ended, though the system does not say so. */
void child_give_up(struct child *c);
void child_free(struct child *c); /* takes NULL */

#endif
