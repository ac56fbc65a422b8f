#include "pool_child.h"
#include "clock.h"

#include "frame.h"
#include "print.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RESTARTS_MAX 5 /* deaths in a row without an answer between them */
#define CHILD_FD     3

#define EXCUSE_LEAST_S 1e-3 /* what a deadline is put off by, at least */
#define EXCUSE_MOST    20   /* deadlines: later it is over whatever the child waits for */

void child_kill(struct child *c, const char *why)
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
            child_kill(c, status_text());
            break;
        }
        if (!message) break;
        start += used;
        if (!c->outstanding) {
            json_decref(message);
            child_kill(c, "it answered without a request");
            break;
        }
        c->outstanding = false;
        c->failures = 0;
        uv_timer_stop(&c->deadline);
        pool_push(c->pool, (struct pool_event){
                               .kind = POOL_REPLY, .child = c->number, .job = c->job, .message = message});
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
        child_kill(c, closed                ? ""
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
        child_spawn(c);
        if (c->gone) memcpy(event.reason, c->reason, sizeof event.reason);
    }
    event.gone = c->gone;
    pool_push(c->pool, event);
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

void child_spawn(struct child *c)
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

/* ---- deadlines ---- */

/* What the first thread of a process has done in its life, in seconds. */
struct usage {
    double ran_s,
        waited_s;  /* waited: for a processor, but not where a group of processes has used up its share */
    bool runnable; /* now */
};

static struct usage usage_of(const struct child *c)
{
    char path[64], state = 'S';
    unsigned long long ran_ns = 0, waited_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)c->process.pid);
    FILE *file = fopen(path, "re");
    if (!file) return (struct usage){0}; /* the kernel does not say */
    if (fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2) ran_ns = waited_ns = 0;
    fclose(file);
    if (ran_ns == 0) return (struct usage){0}; /* it does not count */
    snprintf(path, sizeof path, "/proc/%d/stat", (int)c->process.pid);
    file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'S';
    if (file) fclose(file);
    return (struct usage){1e-9 * (double)ran_ns, 1e-9 * (double)waited_ns, state == 'R'};
}

static void start_timer(struct child *c, double seconds);

/* A machine that others use, too, may run the child, a nice compiler above all, for a small part of the time:
 * what it has waited for a processor is added to its deadline, and one that could run has it all as processor
 * time. One that sleeps or computes for ever gets no more. */
static void on_deadline(uv_timer_t *timer)
{
    struct child *c = timer->data;
    drain(c); /* we may have been busy for longer than the child */
    if (!c->outstanding) return;
    const struct usage now = usage_of(c);
    double more_s = now.waited_s - c->excused_s;
    c->excused_s = now.waited_s;
    if (more_s < EXCUSE_LEAST_S && now.runnable) more_s = c->deadline_s - (now.ran_s - c->ran_s);
    if (more_s >= EXCUSE_LEAST_S && now_s() < c->set_s + EXCUSE_MOST * c->deadline_s) {
        start_timer(c, more_s);
        return;
    }
    c->timed_out = true;
    child_kill(c, "it did not answer before its deadline");
}

static void start_timer(struct child *c, double seconds)
{
    uv_update_time(&c->pool->loop);
    uv_timer_start(&c->deadline, on_deadline, (uint64_t)(seconds * 1000) + 1, 0);
}

void child_set_deadline(struct child *c, double seconds)
{
    const struct usage now = usage_of(c);
    c->deadline_s = seconds;
    c->set_s = now_s();
    c->ran_s = now.ran_s;
    c->excused_s = now.waited_s;
    start_timer(c, seconds);
}

void child_give_up(struct child *c)
{
    on_exit_of_child(&c->process, 0, SIGKILL);
}

void child_free(struct child *c)
{
    if (!c) return;
    for (int i = 0; c->argv[i]; i++) free(c->argv[i]);
    free(c->bytes);
    free(c);
}
