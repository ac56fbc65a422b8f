#include "pool.h"

#include "env.h"
#include "frame.h"
#include "print.h"
#include "process_limits.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#define RESTARTS_MAX    5    /* deaths in a row without an answer between them */
#define CLOSE_WAIT_MS   5000 /* the GPU driver may delay the end of a process */
#define CHILD_FD        3
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
    const char *program;
    const char *const *kept; /* variables that children do not inherit; NULL: none */
    bool echo;               /* GEMMTUNE_DEBUG: copy the children's output to our standard error */
    struct child **children;
    int count;
    struct queued *first, **last;
    bool out_of_memory;
};

static void spawn(struct child *c);

static void push(struct pool *pool, struct pool_event event)
{
    struct queued *q = malloc(sizeof *q);
    if (!q) {
        json_decref(event.message);
        pool->out_of_memory = true;
        return;
    }
    *q = (struct queued){.event = event};
    *pool->last = q;
    pool->last = &q->next;
}

/* The first reason is kept: later ones only follow from the kill. "": the way in which the process ends is
 * the reason. */
static void kill_child(struct child *c, const char *why)
{
    if (!c->running) return;
    if (!c->reason[0]) snprintf(c->reason, sizeof c->reason, "%s", why);
    c->ending = true;
    uv_process_kill(&c->process, SIGKILL);
}

/* ---- messages from children ---- */

static void take_messages(struct child *c)
{
    size_t start = 0;
    while (start < c->length) {
        json_t *message;
        size_t used;
        if (frame_decode(c->bytes + start, c->length - start, &message, &used)) {
            kill_child(c, status_text());
            break;
        }
        if (!message) break;
        start += used;
        if (!c->outstanding) {
            json_decref(message);
            kill_child(c, "it answered without a request");
            break;
        }
        c->outstanding = false;
        c->failures = 0;
        uv_timer_stop(&c->deadline);
        push(c->pool,
             (struct pool_event){.kind = POOL_REPLY, .child = c->number, .job = c->job, .message = message});
    }
    if (start == 0) return;
    memmove(c->bytes, c->bytes + start, c->length - start);
    c->length -= start;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct child *c = handle->data;
    if (c->room - c->length < 4096) {
        size_t room = c->room ? 2 * c->room : 16384;
        char *grown = realloc(c->bytes, room);
        if (grown) c->bytes = grown, c->room = room;
    }
    size_t left = c->room - c->length;
    *buffer =
        uv_buf_init(left ? c->bytes + c->length : NULL, (unsigned)left); /* a zero length gives UV_ENOBUFS */
}

static void on_bytes(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    (void)buffer;
    struct child *c = stream->data;
    if (count > 0) {
        c->length += (size_t)count;
        take_messages(c);
    } else if (count < 0) {
        uv_read_stop(stream);
        /* A process that is ending closes its socket first: a kill then does not change how it ends. */
        bool closed = count == UV_EOF || count == UV_ECONNRESET;
        kill_child(c, closed                ? ""
                      : count == UV_ENOBUFS ? "no memory for its answer"
                                            : uv_strerror((int)count));
    }
}

static void take_line(struct child *c, const char *text, size_t count)
{
    if (c->pool->echo) print_text(stderr, text, count);
    for (size_t i = 0; i < count; i++) {
        if (text[i] == '\n') {
            c->line_ended = true;
            continue;
        }
        if (c->line_ended) c->line_length = 0, c->line_ended = false;
        if (c->line_length + 1 < sizeof c->line && (unsigned char)text[i] >= ' ')
            c->line[c->line_length++] = text[i];
    }
}

/* Each stream has its own small buffer: a loop has only one read in progress. */
static void on_line_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle, (void)suggested;
    static char text[4096];
    *buffer = uv_buf_init(text, sizeof text);
}

static void on_line(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    if (count > 0) take_line(stream->data, buffer->base, (size_t)count);
    else if (count < 0) uv_read_stop(stream);
}

/* Output that a child wrote just before it ended is still in the pipes; it may contain an answer. */
static void drain(struct child *c)
{
    char text[4096];
    uv_os_fd_t fd;
    ssize_t n;
    if (uv_fileno((uv_handle_t *)&c->errors, &fd) == 0)
        while ((n = read(fd, text, sizeof text)) > 0) take_line(c, text, (size_t)n);
    if (uv_fileno((uv_handle_t *)&c->channel, &fd) == 0)
        for (;;) {
            uv_buf_t room;
            on_room((uv_handle_t *)&c->channel, 0, &room);
            if (room.len == 0 || (n = read(fd, room.base, room.len)) <= 0) break;
            c->length += (size_t)n;
        }
    take_messages(c);
}

/* ---- end and restart of a child ---- */

static void describe_end(struct child *c, int64_t status, int signal_number)
{
    if (!c->reason[0]) {
        if (signal_number) snprintf(c->reason, sizeof c->reason, "ended by %s", strsignal(signal_number));
        else snprintf(c->reason, sizeof c->reason, "ended with exit code %d", (int)status);
    }
    if (c->line_length == 0) return;
    c->line[c->line_length] = '\0';
    size_t used = strlen(c->reason);
    snprintf(c->reason + used, sizeof c->reason - used, ": %s", c->line);
}

static void report_end(struct child *c)
{
    struct pool_event event = {.kind = c->timed_out ? POOL_TIMEOUT : POOL_DIED, .child = c->number};
    if (c->outstanding) event.job = c->job;
    memcpy(event.reason, c->reason, sizeof event.reason);
    if (!c->cancelled) c->failures++;
    c->outstanding = c->timed_out = c->cancelled = false;
    c->gone = c->failures >= RESTARTS_MAX;
    if (!c->gone) {
        spawn(c);
        if (c->gone) memcpy(event.reason, c->reason, sizeof event.reason);
    }
    event.gone = c->gone;
    push(c->pool, event);
}

static void on_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    if (--c->open_handles == 0 && !c->pool->closing && !c->stopped) report_end(c);
}

static void on_exit_of_child(uv_process_t *process, int64_t status, int signal_number)
{
    struct child *c = process->data;
    drain(c);
    describe_end(c, status, signal_number);
    c->running = false;
    uv_timer_stop(&c->deadline);
    uv_close((uv_handle_t *)&c->process, on_closed);
    uv_close((uv_handle_t *)&c->channel, on_closed);
    uv_close((uv_handle_t *)&c->errors, on_closed);
}

static void on_failed_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    c->open_handles--;
}

static bool is_kept_from_children(const struct pool *pool, const char *assignment)
{
    const size_t length = strcspn(assignment, "=");
    for (const char *const *name = pool->kept; name && *name; name++)
        if (strlen(*name) == length && strncmp(*name, assignment, length) == 0) return true;
    return false;
}

/* The environment of a child: an array to be freed, with strings that belong to our environment. */
static char **environment_of_child(const struct pool *pool)
{
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **environment = calloc(count + 1, sizeof *environment);
    for (size_t i = 0; environment && i < count; i++)
        if (!is_kept_from_children(pool, environ[i])) environment[kept++] = environ[i];
    return environment;
}

/* Starts the program again. On failure the child is gone, with the reason. */
static void spawn(struct child *c)
{
    struct pool *pool = c->pool;
    c->length = 0;
    c->line_length = 0, c->line_ended = false;
    c->reason[0] = '\0';
    c->process.data = c->channel.data = c->errors.data = c;
    uv_pipe_init(&pool->loop, &c->channel, 0);
    uv_pipe_init(&pool->loop, &c->errors, 0);

    uv_stdio_container_t stdio[CHILD_FD + 1] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    stdio[2].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[2].data.stream = (uv_stream_t *)&c->errors;
    stdio[CHILD_FD].flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE;
    stdio[CHILD_FD].data.stream = (uv_stream_t *)&c->channel;
    uv_process_options_t options = {
        .exit_cb = on_exit_of_child,
        .file = pool->program,
        .args = c->argv,
        .flags = UV_PROCESS_DETACHED, /* Ctrl-C in a terminal reaches the supervisor only */
        .stdio_count = CHILD_FD + 1,
        .stdio = stdio,
    };
    options.env = environment_of_child(pool);
    int error = options.env ? uv_spawn(&pool->loop, &c->process, &options) : UV_ENOMEM;
    free(options.env);
    c->open_handles = 3;
    if (error) {
        c->gone = true;
        snprintf(c->reason, sizeof c->reason, "cannot run %s: %s", pool->program, uv_strerror(error));
        uv_close((uv_handle_t *)&c->process, on_failed_closed);
        uv_close((uv_handle_t *)&c->channel, on_failed_closed);
        uv_close((uv_handle_t *)&c->errors, on_failed_closed);
        return;
    }
    c->running = true;
    c->ending = false;
    if (c->nice_level > 0) /* the system limits it to 19 */
        setpriority(PRIO_PROCESS, (id_t)c->process.pid, getpriority(PRIO_PROCESS, 0) + c->nice_level);
    uv_read_start((uv_stream_t *)&c->channel, on_room, on_bytes);
    uv_read_start((uv_stream_t *)&c->errors, on_line_room, on_line);
}

static void on_deadline(uv_timer_t *timer)
{
    struct child *c = timer->data;
    c->timed_out = true;
    kill_child(c, "it did not answer before its deadline");
}

/* ---- the interface ---- */

static void on_interrupt(uv_signal_t *handle, int number)
{
    (void)number;
    push(handle->data, (struct pool_event){.kind = POOL_INTERRUPT, .child = -1});
}

static void on_tick(uv_timer_t *timer)
{
    ((struct pool *)timer->data)->ticked = true;
}

/* A signal that is ignored stays ignored: nohup relies on it. */
static int watch_interrupts(struct pool *p)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    int error = 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals && !error; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN) continue;
        uv_signal_t *watch = &p->interrupt[p->interrupts++];
        uv_signal_init(&p->loop, watch);
        watch->data = p;
        error = uv_signal_start(watch, on_interrupt, signals[i]);
    }
    return error;
}

enum status pool_open(struct pool **pool)
{
    enum status st = limits_files(1); /* libuv aborts if it can open no file */
    if (st) return st;
    struct pool *p = calloc(1, sizeof *p);
    if (!p) return fail(E_MEMORY, "out of memory for the child processes");
    int error = uv_loop_init(&p->loop);
    if (error) {
        free(p);
        return fail(E_CHILD, "cannot make an event loop: %s", uv_strerror(error));
    }
    p->last = &p->first;
    const char *program = env_text("GEMMTUNE_EXE");
    p->program = program && *program ? program : "/proc/self/exe";
    p->echo = env_text("GEMMTUNE_DEBUG") != NULL;
    signal(SIGPIPE, SIG_IGN);
    error = watch_interrupts(p);
    uv_timer_init(&p->loop, &p->tick);
    p->tick.data = p;
    *pool = p;
    if (!error) return OK;
    pool_close(p);
    return fail(E_CHILD, "cannot watch for Ctrl-C: %s", uv_strerror(error));
}

static void free_child(struct child *c)
{
    if (!c) return;
    for (int i = 0; c->argv[i]; i++) free(c->argv[i]);
    free(c->bytes);
    free(c);
}

void pool_keep_from_children(struct pool *pool, const char *const *variables)
{
    pool->kept = variables;
}

enum status pool_start(struct pool *pool, const char *const *argv, int nice_level, int *child)
{
    enum status st = limits_files(pool->count + 1);
    if (st) return st;
    struct child *c = calloc(1, sizeof *c);
    struct child **grown = realloc(pool->children, ((size_t)pool->count + 1) * sizeof(struct child *));
    if (grown) pool->children = grown;
    bool memory = c && grown;
    for (int i = 0; memory && argv[i] && i < CHILD_ARGS_MAX; i++)
        memory = (c->argv[i] = strdup(argv[i])) != NULL;
    if (!memory) {
        free_child(c);
        return fail(E_MEMORY, "out of memory for a child process");
    }
    c->pool = pool;
    c->number = pool->count;
    c->nice_level = nice_level;
    pool->children[pool->count++] = c;
    uv_timer_init(&pool->loop, &c->deadline);
    c->deadline.data = c;
    spawn(c);
    if (c->gone) return fail(E_CHILD, "a child process %s", c->reason);
    *child = c->number;
    return OK;
}

struct sending {
    uv_write_t request;
    char *bytes;
};

static void on_sent(uv_write_t *request, int status)
{
    (void)status; /* a child that cannot be written to has ended, which is noticed elsewhere */
    struct sending *s = request->data;
    free(s->bytes);
    free(s);
}

enum status pool_submit(struct pool *pool, int child, const json_t *message, double deadline_s, void *job)
{
    struct child *c = pool->children[child];
    if (c->gone) return fail(E_CHILD, "the child process is gone: %s", c->reason);
    if (!pool_idle(pool, child)) return fail(E_BUSY, "the child process has a request outstanding");
    struct sending *s = calloc(1, sizeof *s);
    if (!s) return fail(E_MEMORY, "out of memory for a message");
    size_t length = 0;
    enum status st = frame_encode(message, &s->bytes, &length);
    if (st) {
        free(s);
        return st;
    }
    s->request.data = s;
    uv_buf_t buffer = uv_buf_init(s->bytes, (unsigned)length);
    int error = uv_write(&s->request, (uv_stream_t *)&c->channel, &buffer, 1, on_sent);
    if (error) on_sent(&s->request, error); /* it is ending: its end is reported for this job */
    c->outstanding = true;
    c->job = job;
    uv_update_time(&pool->loop);
    uv_timer_start(&c->deadline, on_deadline, (uint64_t)(deadline_s * 1000) + 1, 0);
    return OK;
}

bool pool_idle(const struct pool *pool, int child)
{
    const struct child *c = pool->children[child];
    return c->running && !c->ending && !c->outstanding;
}

bool pool_gone(const struct pool *pool, int child)
{
    return pool->children[child]->gone;
}

int pool_pid(const struct pool *pool, int child)
{
    const struct child *c = pool->children[child];
    return c->running ? (int)c->process.pid : -1;
}

static bool pop(struct pool *pool, struct pool_event *event)
{
    struct queued *q = pool->first;
    if (!q) return false;
    *event = q->event;
    pool->first = q->next;
    if (!pool->first) pool->last = &pool->first;
    free(q);
    return true;
}

enum status pool_wait(struct pool *pool, double timeout_s, struct pool_event *event)
{
    *event = (struct pool_event){.kind = POOL_TICK, .child = -1};
    uv_run(&pool->loop, UV_RUN_NOWAIT);
    if (!pool->first && timeout_s > 0) {
        pool->ticked = false;
        uv_update_time(&pool->loop);
        uv_timer_start(&pool->tick, on_tick, (uint64_t)(timeout_s * 1000) + 1, 0);
        while (!pool->first && !pool->ticked && !pool->out_of_memory) uv_run(&pool->loop, UV_RUN_ONCE);
        uv_timer_stop(&pool->tick);
    }
    if (pool->out_of_memory) return fail(E_MEMORY, "out of memory for an event of a child process");
    pop(pool, event);
    return OK;
}

void pool_cancel(struct pool *pool, int child)
{
    struct child *c = pool->children[child];
    if (!c->running) return;
    c->outstanding = false;
    c->cancelled = true;
    c->job = NULL;
    uv_timer_stop(&c->deadline);
    kill_child(c, "cancelled");
}

void pool_stop(struct pool *pool, int child)
{
    pool->children[child]->stopped = true;
    pool_cancel(pool, child);
    pool->children[child]->gone = true;
}

static void on_close_wait(uv_timer_t *timer)
{
    struct pool *pool = timer->data;
    for (int i = 0; i < pool->count; i++) {
        struct child *c = pool->children[i];
        if (c->running) on_exit_of_child(&c->process, 0, SIGKILL);
    }
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

void pool_close(struct pool *pool)
{
    if (!pool) return;
    pool->closing = true;
    for (int i = 0; i < pool->interrupts; i++) close_handle((uv_handle_t *)&pool->interrupt[i]);
    for (int i = 0; i < pool->count; i++) {
        struct child *c = pool->children[i];
        close_handle((uv_handle_t *)&c->deadline);
        kill_child(c, "the tuner ends");
    }
    uv_timer_start(&pool->tick, on_close_wait, CLOSE_WAIT_MS, 0);
    uv_unref((uv_handle_t *)&pool->tick); /* does not keep the loop alive without children */
    uv_run(&pool->loop, UV_RUN_DEFAULT);
    close_handle((uv_handle_t *)&pool->tick);
    uv_run(&pool->loop, UV_RUN_DEFAULT);
    uv_loop_close(&pool->loop);

    struct pool_event event;
    while (pop(pool, &event)) json_decref(event.message);
    for (int i = 0; i < pool->count; i++) free_child(pool->children[i]);
    free(pool->children);
    free(pool);
}
