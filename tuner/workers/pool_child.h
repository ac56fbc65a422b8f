/* pool_child.h — one child process of a pool: start, output and end. Shared by pool.c and pool_child.c. */
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
    uv_pipe_t errors;  /* standard error of the child: its last line explains a death */
    uv_timer_t deadline;
    double deadline_s, set_s, ran_s; /* set_s, ran_s: clock and processor time when the deadline was set */
    double excused_s; /* of its waits for a processor, before the deadline was set or added to it since */
    int open_handles; /* among process, channel, errors; a restart waits until all are closed */
    bool running;     /* spawned and not yet seen to end */

    bool outstanding; /* a request is unanswered */
    void *job;
    char *bytes; /* received bytes of an incomplete frame */
    size_t length, room;
    char line[LINE_MAX_LENGTH]; /* last line of errors, complete or not */
    size_t line_length;
    bool line_ended;

    bool ending; /* killed, or its socket is closed: accepts no requests */
    bool timed_out, cancelled, stopped, gone;
    int failures;     /* deaths since the last answer */
    char reason[160]; /* why it was killed, or how it ended */
};

struct queued {
    struct pool_event event;
    struct queued *next;
};

struct pool {
    uv_loop_t loop;
    uv_signal_t interrupt[3];
    int interrupts; /* number of them that are open */
    uv_timer_t tick;
    bool ticked, closing;
    pthread_mutex_t *lock; /* of the threads that share the pool; NULL: there is one */
    const char *program;
    const char *const *kept; /* variables that children do not inherit; NULL: none */
    bool echo;               /* GEMMTUNE_DEBUG: copy the children's output to our standard error */
    struct child **children;
    int count;
    struct queued *first, **last;
    bool out_of_memory;
};

/* Queues an event for pool_wait; takes ownership of its message. */
void pool_push(struct pool *pool, struct pool_event event);

/* Starts the program again. On failure the child is gone, with the reason. Its end comes as an event, and it
 * is started again. */
void child_spawn(struct child *c);
/* The first reason is kept: later ones only follow from the kill. "": the way in which the process ends is
 * the reason. */
void child_kill(struct child *c, const char *why);
/* Sets the deadline of its answer, in seconds from now, without those in which it waits for a processor. */
void child_set_deadline(struct child *c, double seconds);
/* Treats the child as ended, although the system has not reported its end. */
void child_give_up(struct child *c);
void child_free(struct child *c); /* takes NULL */

#endif
