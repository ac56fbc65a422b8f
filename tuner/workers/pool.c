#include "pool.h"

#include "env.h"
#include "frame.h"
#include "pool_child.h"
#include "process_limits.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_WAIT_MS 5000 /* the GPU driver may delay the end of a process */

void pool_push(struct pool *pool, struct pool_event event)
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

static void on_interrupt(uv_signal_t *handle, int number)
{
    (void)number;
    pool_push(handle->data, (struct pool_event){.kind = POOL_INTERRUPT, .child = -1});
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
    p->program = program ? program : "/proc/self/exe";
    p->echo = env_is_on("GEMMTUNE_DEBUG");
    signal(SIGPIPE, SIG_IGN);
    error = watch_interrupts(p);
    uv_timer_init(&p->loop, &p->tick);
    p->tick.data = p;
    *pool = p;
    if (!error) return OK;
    pool_close(p);
    return fail(E_CHILD, "cannot watch for Ctrl-C: %s", uv_strerror(error));
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
        child_free(c);
        return fail(E_MEMORY, "out of memory for a child process");
    }
    c->pool = pool;
    c->number = pool->count;
    c->nice_level = nice_level;
    pool->children[pool->count++] = c;
    uv_timer_init(&pool->loop, &c->deadline);
    c->deadline.data = c;
    child_spawn(c);
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
    child_set_deadline(c, deadline_s);
    return OK;
}

static bool is_end(const struct pool_event *event)
{
    return event->kind == POOL_DIED || event->kind == POOL_TIMEOUT;
}

/* An end of the child, before the process that runs now, waits to be told. */
static bool end_is_queued(const struct pool *pool, int child)
{
    bool queued = false;
    for (const struct queued *q = pool->first; q; q = q->next)
        queued |= is_end(&q->event) && q->event.child == child;
    return queued;
}

bool pool_idle(const struct pool *pool, int child)
{
    const struct child *c = pool->children[child];
    return c->running && !c->ending && !c->outstanding && !end_is_queued(pool, child);
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
    event->superseded = is_end(event) && end_is_queued(pool, event->child);
    return true;
}

void pool_share(struct pool *pool, pthread_mutex_t *lock)
{
    pool->lock = lock;
}

/* Sleeps until the loop has something to do. No code of libuv runs meanwhile: another thread may call it.
 * What that one changes is noticed at the next tick at the latest, but for an answer, whose socket is watched
 * already. */
static void sleep_until_ready(struct pool *pool)
{
    struct pollfd ready = {.fd = uv_backend_fd(&pool->loop), .events = POLLIN};
    const int timeout_ms = uv_backend_timeout(&pool->loop);
    if (pool->lock) pthread_mutex_unlock(pool->lock);
    poll(&ready, 1, timeout_ms);
    if (pool->lock) pthread_mutex_lock(pool->lock);
}

enum status pool_wait(struct pool *pool, double timeout_s, struct pool_event *event)
{
    *event = (struct pool_event){.kind = POOL_TICK, .child = -1};
    uv_run(&pool->loop, UV_RUN_NOWAIT);
    if (!pool->first && timeout_s > 0) {
        pool->ticked = false;
        uv_update_time(&pool->loop);
        uv_timer_start(&pool->tick, on_tick, (uint64_t)(timeout_s * 1000) + 1, 0);
        while (!pool->first && !pool->ticked && !pool->out_of_memory) {
            sleep_until_ready(pool);
            uv_run(&pool->loop, UV_RUN_NOWAIT);
        }
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
    child_kill(c, "cancelled");
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
        if (c->running) child_give_up(c);
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
        child_kill(c, "the tuner ends");
    }
    uv_timer_start(&pool->tick, on_close_wait, CLOSE_WAIT_MS, 0);
    uv_unref((uv_handle_t *)&pool->tick); /* does not keep the loop alive without children */
    uv_run(&pool->loop, UV_RUN_DEFAULT);
    close_handle((uv_handle_t *)&pool->tick);
    uv_run(&pool->loop, UV_RUN_DEFAULT);
    uv_loop_close(&pool->loop);

    struct pool_event event;
    while (pop(pool, &event)) json_decref(event.message);
    for (int i = 0; i < pool->count; i++) child_free(pool->children[i]);
    free(pool->children);
    free(pool);
}
