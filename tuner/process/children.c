#include "children.h"

#include "clock.h"
#include "messages.h"
#include "utf8.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILER_NICE    10 /* else compilers could delay a worker, and thereby a GPU */
#define GREETINGS_MAX    3  /* failed greetings or idle deaths in a row before a GPU is given up */
#define COMPILER_RETRIES 1  /* the system may have killed it because another process used the memory */

enum stage { GREETING, READY, AT_WORK, LEAVING /* given up, not yet said */, GONE };

/* A child process and its state in the protocol. */
struct child_slot {
    int child;
    enum stage stage;
    void *tag;
    int failures; /* since its last successful answer */

    struct worker_info info;         /* of workers */
    char reason[OUTCOME_DETAIL_MAX]; /* why it was given up */

    struct kernel_key kernel; /* of a busy compiler, to repeat the request */
    int retries;
    bool again; /* repeat the request after the greeting */
};

struct children {
    struct pool *pool;
    struct child_slot *compiler, *worker;
    int compilers, workers;
    char nvrtc[CHILDREN_VERSION_MAX];
};

/* ---- greeting ---- */

static struct child_slot *slot_of(struct children *children, int child, bool *compiler)
{
    for (int i = 0; i < children->compilers; i++)
        if (children->compiler[i].child == child) {
            *compiler = true;
            return &children->compiler[i];
        }
    *compiler = false;
    for (int i = 0; i < children->workers; i++)
        if (children->worker[i].child == child) return &children->worker[i];
    return NULL;
}

static enum status greet(struct children *children, struct child_slot *slot)
{
    json_t *hello = json_pack("{s:s}", "do", "hello");
    if (!hello) return fail(E_MEMORY, "out of memory for a greeting");
    slot->stage = GREETING;
    enum status st = pool_submit(children->pool, slot->child, hello, CHILDREN_DEADLINE_S, slot);
    json_decref(hello);
    /* It is ending already, or gone. That is reported as an event; then it is greeted again or given up. */
    return st == E_BUSY || st == E_CHILD ? OK : st;
}

static void copy_text(const json_t *answer, const char *key, char *to, size_t room)
{
    const char *text = json_string_value(json_object_get(answer, key));
    snprintf(to, room, "%s", text ? text : "");
}

static enum status take_worker_hello(struct child_slot *slot, const json_t *answer)
{
    enum status st = message_check(answer);
    struct worker_info info = {.device = slot->info.device};
    if (!st) st = gpu_from_json(json_object_get(answer, "gpu"), &info.gpu);
    if (st) return st;
    if (json_is_false(json_object_get(answer, "canary")))
        return fail(E_GPU, "GPU %d (%s) computes a known product wrongly: it cannot be trusted", info.device,
                    info.gpu.name);
    copy_text(answer, "uuid", info.uuid, sizeof info.uuid);
    copy_text(answer, "driver", info.driver, sizeof info.driver);
    copy_text(answer, "cublas", info.cublas, sizeof info.cublas);
    copy_text(answer, "nvrtc", info.nvrtc, sizeof info.nvrtc);
    info.power_limit_w = json_number_value(json_object_get(answer, "power_limit_w"));
    slot->info = info;
    return OK;
}

/* A child that dies at its start may have been killed because another process used the memory: it is greeted
 * again. */
static enum status greet_again(struct children *children, struct child_slot *slot, bool compiler,
                               const struct pool_event *e)
{
    if (e->kind == POOL_DIED && !e->gone && ++slot->failures < GREETINGS_MAX) return greet(children, slot);
    return fail(E_CHILD, "a %s did not start: %s", compiler ? "compiler" : "GPU worker", e->reason);
}

/* Waits until every child has answered its first greeting. *devices: number of GPUs according to a worker. */
static enum status await_greetings(struct children *children, int *devices)
{
    for (;;) {
        bool waiting = false;
        for (int i = 0; i < children->compilers; i++) waiting |= children->compiler[i].stage == GREETING;
        for (int i = 0; i < children->workers; i++) waiting |= children->worker[i].stage == GREETING;
        if (!waiting) return OK;

        struct pool_event e;
        enum status st = pool_wait(children->pool, CHILDREN_DEADLINE_S, &e);
        if (st) return st;
        if (e.kind == POOL_INTERRUPT) return fail(E_INTERRUPTED, "interrupted before the first trial");
        if (e.kind == POOL_TICK) continue;
        bool compiler;
        struct child_slot *slot = slot_of(children, e.child, &compiler);
        if (e.kind != POOL_REPLY) {
            if ((st = greet_again(children, slot, compiler, &e))) return st;
            continue;
        }
        if (compiler) {
            if (!(st = message_check(e.message)))
                copy_text(e.message, "nvrtc", children->nvrtc, sizeof children->nvrtc);
        } else {
            st = take_worker_hello(slot, e.message);
            json_int_t count = json_integer_value(json_object_get(e.message, "devices"));
            if (devices) *devices = count > 0 ? (int)count : 1;
        }
        json_decref(e.message);
        if (st) return st;
        slot->stage = READY;
        slot->failures = 0;
    }
}

static int core_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}

static enum status start_compilers(struct children *children, const struct children_options *options)
{
    int count = options->compilers > 0 ? options->compilers : core_count();
    if (!(children->compiler = calloc((size_t)count, sizeof *children->compiler)))
        return fail(E_MEMORY, "out of memory for %d compilers", count);
    const char *argv[] = {"tune", "_compiler", "--cache", options->cache, NULL};
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) {
        struct child_slot *slot = &children->compiler[i];
        children->compilers = i + 1;
        st = pool_start(children->pool, argv, COMPILER_NICE, &slot->child);
        if (!st) st = greet(children, slot);
    }
    return st;
}

static enum status start_worker(struct children *children, int device, const char *cache)
{
    if (children->workers == CHILDREN_WORKERS_MAX)
        return fail(E_INPUT, "at most %d GPUs can be tuned at once", CHILDREN_WORKERS_MAX);
    char ordinal[16];
    snprintf(ordinal, sizeof ordinal, "%d", device);
    const char *argv[] = {"tune", "_worker", "--device", ordinal, "--cache", cache, NULL};
    struct child_slot *slot = &children->worker[children->workers++];
    slot->info.device = device;
    enum status st = pool_start(children->pool, argv, 0, &slot->child);
    return st ? st : greet(children, slot);
}

/* NVIDIA's libraries read these variables once for a whole process; then FP32 would be computed in another
 * way, or TF32 would not be TF32. Tuning for a user's program must not depend on this shell's settings. */
static const char *const kept_from_children[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                                 "CUBLAS_EMULATION_STRATEGY", NULL};

enum status children_open(const struct children_options *options, struct children **out)
{
    if (!utf8_valid(options->cache)) /* messages contain its paths, and JSON allows only UTF-8 */
        return fail(E_INPUT, "the name of the cache folder is not UTF-8: %.200s; choose another with --cache",
                    options->cache);
    struct children *children = calloc(1, sizeof *children);
    if (!children) return fail(E_MEMORY, "out of memory for the child processes");
    enum status st = OK;
    int devices = 0;
    if (!(children->worker = calloc(CHILDREN_WORKERS_MAX, sizeof *children->worker)))
        st = fail(E_MEMORY, "out of memory for the GPU workers");
    if (!st) st = pool_open(&children->pool);
    if (!st) pool_keep_from_children(children->pool, kept_from_children);
    if (!st) st = start_compilers(children, options);
    for (int i = 0; i < options->device_count && !st; i++)
        st = start_worker(children, options->devices[i], options->cache);
    if (options->device_count == CHILDREN_ALL_DEVICES && !st) st = start_worker(children, 0, options->cache);
    if (!st) st = await_greetings(children, &devices);
    if (options->device_count == CHILDREN_ALL_DEVICES) {
        for (int i = 1; i < devices && !st; i++) st = start_worker(children, i, options->cache);
        if (!st) st = await_greetings(children, NULL);
    }
    if (st) {
        children_close(children);
        return st;
    }
    *out = children;
    return OK;
}

void children_close(struct children *children)
{
    if (!children) return;
    pool_close(children->pool);
    free(children->compiler);
    free(children->worker);
    free(children);
}

int children_workers(const struct children *children)
{
    return children->workers;
}

const struct worker_info *children_worker(const struct children *children, int worker)
{
    return &children->worker[worker].info;
}

int children_compilers(const struct children *children)
{
    return children->compilers;
}

const char *children_nvrtc(const struct children *children)
{
    return children->nvrtc;
}

int children_idle_compilers(const struct children *children)
{
    int idle = 0;
    for (int i = 0; i < children->compilers; i++) idle += children->compiler[i].stage == READY;
    return idle;
}

bool children_worker_idle(const struct children *children, int worker)
{
    const struct child_slot *slot = &children->worker[worker];
    return slot->stage == READY && pool_idle(children->pool, slot->child);
}

/* ---- requests ---- */

static enum status ask_compiler(struct children *children, struct child_slot *slot)
{
    json_t *request = json_pack("{s:s, s:o}", "do", "compile", "key", kernel_to_json(&slot->kernel));
    if (!request) return fail(E_MEMORY, "out of memory for a request to a compiler");
    slot->again = false;
    slot->stage = AT_WORK;
    enum status st = pool_submit(children->pool, slot->child, request, CHILDREN_DEADLINE_S, slot);
    json_decref(request);
    return st == E_BUSY ? OK
                        : st; /* as in greet: its end is reported for this compilation, which is repeated */
}

enum status children_compile(struct children *children, const struct kernel_key *kernel, void *tag)
{
    for (int i = 0; i < children->compilers; i++) {
        struct child_slot *slot = &children->compiler[i];
        if (slot->stage != READY || !pool_idle(children->pool, slot->child)) continue;
        slot->kernel = *kernel;
        slot->retries = 0;
        slot->tag = tag;
        return ask_compiler(children, slot);
    }
    return fail(E_BUSY, "no compiler is idle");
}

enum status children_send(struct children *children, int worker, json_t *request, double deadline_s,
                          void *tag)
{
    struct child_slot *slot = &children->worker[worker];
    if (!request) return fail(E_MEMORY, "out of memory for a request to a GPU worker");
    enum status st = OK;
    if (slot->stage != READY) st = fail(E_BUSY, "the worker of GPU %d is not idle", slot->info.device);
    if (!st) st = pool_submit(children->pool, slot->child, request, deadline_s, slot);
    json_decref(request);
    if (st) return st;
    slot->stage = AT_WORK;
    slot->tag = tag;
    return OK;
}

void children_cancel(struct children *children, int worker)
{
    struct child_slot *slot = &children->worker[worker];
    if (slot->stage >= LEAVING) return;
    slot->stage = GREETING; /* its end is reported without a job, and it is greeted again */
    slot->tag = NULL;
    pool_cancel(children->pool, slot->child);
}

/* ---- answers ---- */

static enum status parse_build(const json_t *answer, struct build *build)
{
    int built = 0, cached = 0;
    const char *cubin = "", *checksum = "", *verdict = "unbuildable", *detail = "";
    json_error_t error;
    if (json_unpack_ex((json_t *)(uintptr_t)answer, &error, 0, "{s:b, s?s, s?s, s?b, s?s, s?s}", "built",
                       &built, "cubin", &cubin, "checksum", &checksum, "cached", &cached, "verdict", &verdict,
                       "detail", &detail) ||
        (built && (!*cubin || !*checksum)))
        return fail(E_CHILD, "a compiler gave a malformed answer");
    *build = (struct build){.built = built, .cached = cached};
    enum status st = built ? OK : verdict_parse(verdict, &build->verdict);
    const json_t *facts = json_object_get(answer, "facts");
    if (!st && facts) st = facts_from_json(facts, &build->facts);
    snprintf(build->cubin, sizeof build->cubin, "%s", cubin);
    snprintf(build->checksum, sizeof build->checksum, "%s", checksum);
    snprintf(build->detail, sizeof build->detail, "%s", detail);
    return st;
}

static void finish_compile(struct child_slot *slot, struct children_event *event)
{
    event->kind = CHILDREN_BUILT;
    event->tag = slot->tag;
    slot->tag = NULL;
}

static void fail_compile(struct child_slot *slot, const char *why, struct children_event *event)
{
    finish_compile(slot, event);
    event->build = (struct build){.verdict = VERDICT_UNBUILDABLE};
    snprintf(event->build.detail, sizeof event->build.detail, "%s", why);
}

static int compilers_left(const struct children *children)
{
    int left = 0;
    for (int i = 0; i < children->compilers; i++) left += children->compiler[i].stage != GONE;
    return left;
}

/* *found tells whether *event holds an event for the caller. */
static enum status from_compiler(struct children *children, struct child_slot *slot, struct pool_event *e,
                                 bool *found, struct children_event *event)
{
    enum status st = OK;
    bool at_work = slot->stage == AT_WORK;
    if (e->kind == POOL_REPLY) {
        st = message_check(e->message);
        if (!st && at_work) {
            finish_compile(slot, event);
            st = parse_build(e->message, &event->build);
            *found = !st;
        }
        slot->stage = READY;
        if (!st && slot->again) st = ask_compiler(children, slot);
        return st;
    }
    if (at_work && e->kind == POOL_DIED && slot->retries++ < COMPILER_RETRIES && !e->gone) {
        slot->again = true;
    } else if (at_work || slot->again) {
        char why[OUTCOME_DETAIL_MAX];
        if (e->kind == POOL_TIMEOUT)
            snprintf(why, sizeof why, "the compiler did not finish within %.0f s", CHILDREN_DEADLINE_S);
        else snprintf(why, sizeof why, "the compiler died: %s", e->reason);
        fail_compile(slot, why, event);
        slot->again = false;
        *found = true;
    }
    if (!e->gone) return greet(children, slot);
    slot->stage = GONE;
    if (compilers_left(children)) return OK;
    return fail(E_COMPILER, "every compiler process died repeatedly; the last one %s", e->reason);
}

static void give_up(struct children *children, struct child_slot *slot, const char *reason)
{
    pool_stop(children->pool, slot->child);
    slot->stage = LEAVING;
    snprintf(slot->reason, sizeof slot->reason, "%s", reason);
}

void children_give_up(struct children *children, int worker, const char *reason)
{
    struct child_slot *slot = &children->worker[worker];
    if (slot->stage < LEAVING) give_up(children, slot, reason);
}

static enum status from_worker(struct children *children, struct child_slot *slot, struct pool_event *e,
                               bool *found, struct children_event *event)
{
    if (slot->stage >= LEAVING) return OK;
    event->worker = (int)(slot - children->worker);
    event->tag = slot->tag;
    *found = true;
    if (e->kind == POOL_REPLY && slot->stage == AT_WORK) {
        slot->stage = READY;
        slot->failures = 0;
        event->kind = CHILDREN_ANSWER;
        event->answer = e->message;
        e->message = NULL;
        return OK;
    }
    if (e->kind == POOL_REPLY && take_worker_hello(slot, e->message) == OK) {
        slot->stage = READY;
        event->kind = CHILDREN_BACK;
        return OK;
    }
    if (e->kind == POOL_REPLY) { /* it answers, but the GPU failed its test */
        *found = false;
        if (++slot->failures >= GREETINGS_MAX) give_up(children, slot, status_text());
        else pool_cancel(children->pool, slot->child);
        return OK;
    }

    /* It ended. Without a job during a greeting, it was cancelled by us. */
    *found = slot->stage == AT_WORK || slot->stage == READY;
    event->kind = CHILDREN_LOST;
    event->hung = e->kind == POOL_TIMEOUT;
    snprintf(event->reason, sizeof event->reason, "%s", e->reason);
    slot->tag = NULL;
    bool own_fault = slot->stage == READY || (slot->stage == GREETING && e->job);
    if ((own_fault && ++slot->failures >= GREETINGS_MAX) || e->gone) give_up(children, slot, e->reason);
    else return greet(children, slot);
    return OK;
}

static bool say_gone(struct children *children, struct children_event *event)
{
    for (int i = 0; i < children->workers; i++) {
        struct child_slot *slot = &children->worker[i];
        if (slot->stage != LEAVING) continue;
        slot->stage = GONE;
        *event = (struct children_event){.kind = CHILDREN_GONE, .worker = i};
        memcpy(event->reason, slot->reason, sizeof event->reason);
        return true;
    }
    return false;
}

enum status children_wait(struct children *children, double timeout_s, struct children_event *event)
{
    double end = now_s() + timeout_s;
    for (;;) {
        *event = (struct children_event){.kind = CHILDREN_TICK, .worker = -1};
        if (say_gone(children, event)) return OK;
        struct pool_event e;
        enum status st = pool_wait(children->pool, fmax(0.0, end - now_s()), &e);
        if (st || e.kind == POOL_TICK) return st;
        if (e.kind == POOL_INTERRUPT) {
            event->kind = CHILDREN_INTERRUPT;
            return OK;
        }
        bool compiler, found = false;
        struct child_slot *slot = slot_of(children, e.child, &compiler);
        if (slot && compiler) st = from_compiler(children, slot, &e, &found, event);
        else if (slot) st = from_worker(children, slot, &e, &found, event);
        json_decref(e.message);
        if (st || found) return st;
    }
}

/* ---- synchronous calls ---- */

enum status children_ask(struct children *children, int worker, json_t *request, double deadline_s,
                         json_t **answer)
{
    *answer = NULL;
    enum status st = children_send(children, worker, request, deadline_s, NULL);
    char reason[OUTCOME_DETAIL_MAX] = "";
    while (!st) {
        struct children_event e;
        if ((st = children_wait(children, CHILDREN_DEADLINE_S, &e))) break;
        if (e.kind == CHILDREN_INTERRUPT) {
            children_cancel(children, worker);
            return fail(E_INTERRUPTED, "interrupted");
        }
        if (e.worker != worker) continue;
        if (e.kind == CHILDREN_ANSWER) {
            st = message_check(e.answer);
            if (!st) *answer = e.answer;
            else json_decref(e.answer);
            return st;
        }
        if (e.kind == CHILDREN_LOST) snprintf(reason, sizeof reason, "%s", e.reason);
        if (e.kind == CHILDREN_BACK || e.kind == CHILDREN_GONE)
            st = fail(E_CHILD, "the worker of GPU %d died: %s", children->worker[worker].info.device,
                      reason[0] ? reason : e.reason);
    }
    return st;
}

enum status children_roofline(struct children *children, int worker, double *fp32_tflops, double *gb_per_s)
{
    json_t *answer = NULL;
    enum status st =
        children_ask(children, worker, json_pack("{s:s}", "do", "roofline"), CHILDREN_PREPARE_S, &answer);
    if (st) return st;
    *fp32_tflops = json_number_value(json_object_get(answer, "fp32_tflops"));
    *gb_per_s = json_number_value(json_object_get(answer, "gb_per_s"));
    json_decref(answer);
    return OK;
}

enum status children_build_all(struct children *children, const struct kernel_key *kernels, int count,
                               struct build *builds)
{
    int sent = 0, done = 0;
    while (done < count) {
        enum status st = OK;
        while (sent < count && !st) {
            st = children_compile(children, &kernels[sent], &builds[sent]);
            if (!st) sent++;
        }
        if (st && st != E_BUSY) return st;
        struct children_event e;
        if ((st = children_wait(children, CHILDREN_DEADLINE_S, &e))) return st;
        json_decref(e.answer);
        if (e.kind == CHILDREN_INTERRUPT) return fail(E_INTERRUPTED, "interrupted while compiling");
        if (e.kind != CHILDREN_BUILT) continue;
        *(struct build *)e.tag = e.build;
        done++;
    }
    return OK;
}
