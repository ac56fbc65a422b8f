#include "children.h"

#include "clock.h"
#include "messages.h"
#include "utf8.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILER_NICE    10 /* a worker that waits for a core is a GPU that waits */
#define GREETINGS_MAX    3  /* failed greetings or idle deaths in a row before a GPU is given up */
#define COMPILER_RETRIES 1  /* a compiler that dies may have been killed for another's memory */

enum stage { GREETING, READY, AT_WORK, LEAVING /* given up, not yet said */, GONE };

/* A child, seen as what it does for us. */
struct hand {
    int child;
    enum stage stage;
    void *tag;
    int failures; /* since it last did what it was asked */

    struct worker_info info;         /* of a worker */
    char reason[OUTCOME_DETAIL_MAX]; /* why it was given up */

    struct kernel_key kernel; /* of a compiler at work, to ask again */
    int retries;
    bool again; /* ask again once greeted */
};

struct children {
    struct pool *pool;
    struct hand *compiler, *worker;
    int compilers, workers;
    char nvrtc[CHILDREN_VERSION_MAX];
};

/* ---- greeting ---- */

static struct hand *hand_of(struct children *children, int child, bool *compiler)
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

static enum status greet(struct children *children, struct hand *hand)
{
    json_t *hello = json_pack("{s:s}", "do", "hello");
    if (!hello) return fail(E_MEMORY, "out of memory for a greeting");
    hand->stage = GREETING;
    enum status st = pool_submit(children->pool, hand->child, hello, CHILDREN_DEADLINE_S, hand);
    json_decref(hello);
    /* It is ending already, or gone: that comes as an event, and it is greeted again or given up. */
    return st == E_BUSY || st == E_CHILD ? OK : st;
}

static void copy_text(const json_t *answer, const char *key, char *to, size_t room)
{
    const char *text = json_string_value(json_object_get(answer, key));
    snprintf(to, room, "%s", text ? text : "");
}

static enum status take_worker_hello(struct hand *hand, const json_t *answer)
{
    enum status st = message_check(answer);
    struct worker_info info = {.device = hand->info.device};
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
    hand->info = info;
    return OK;
}

/* A child that dies at its start may have been killed for another's memory: it is greeted again. */
static enum status greet_again(struct children *children, struct hand *hand, bool compiler,
                               const struct pool_event *e)
{
    if (e->kind == POOL_DIED && !e->gone && ++hand->failures < GREETINGS_MAX) return greet(children, hand);
    return fail(E_CHILD, "a %s did not start: %s", compiler ? "compiler" : "GPU worker", e->reason);
}

/* Wait until every child has answered its first greeting. *devices: how many GPUs a worker says there are. */
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
        struct hand *hand = hand_of(children, e.child, &compiler);
        if (e.kind != POOL_REPLY) {
            if ((st = greet_again(children, hand, compiler, &e))) return st;
            continue;
        }
        if (compiler) {
            if (!(st = message_check(e.message)))
                copy_text(e.message, "nvrtc", children->nvrtc, sizeof children->nvrtc);
        } else {
            st = take_worker_hello(hand, e.message);
            json_int_t count = json_integer_value(json_object_get(e.message, "devices"));
            if (devices) *devices = count > 0 ? (int)count : 1;
        }
        json_decref(e.message);
        if (st) return st;
        hand->stage = READY;
        hand->failures = 0;
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
        struct hand *hand = &children->compiler[i];
        children->compilers = i + 1;
        st = pool_start(children->pool, argv, COMPILER_NICE, &hand->child);
        if (!st) st = greet(children, hand);
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
    struct hand *hand = &children->worker[children->workers++];
    hand->info.device = device;
    enum status st = pool_start(children->pool, argv, 0, &hand->child);
    return st ? st : greet(children, hand);
}

/* NVIDIA's libraries read them once for a whole process, and then what was asked for as FP32 would be
 * something else, or TF32 would not be TF32. A user's program is not to be tuned for a setting of this shell.
 */
static const char *const kept_from_children[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                                 "CUBLAS_EMULATION_STRATEGY", NULL};

enum status children_open(const struct children_options *options, struct children **out)
{
    if (!utf8_valid(options->cache)) /* messages name its files, and JSON has no other characters */
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
    const struct hand *hand = &children->worker[worker];
    return hand->stage == READY && pool_idle(children->pool, hand->child);
}

/* ---- asking ---- */

static enum status ask_compiler(struct children *children, struct hand *hand)
{
    json_t *request = json_pack("{s:s, s:o}", "do", "compile", "key", kernel_to_json(&hand->kernel));
    if (!request) return fail(E_MEMORY, "out of memory for a request to a compiler");
    hand->again = false;
    hand->stage = AT_WORK;
    enum status st = pool_submit(children->pool, hand->child, request, CHILDREN_DEADLINE_S, hand);
    json_decref(request);
    return st == E_BUSY ? OK
                        : st; /* as in greet: its end is that of this compilation, which is asked again */
}

enum status children_compile(struct children *children, const struct kernel_key *kernel, void *tag)
{
    for (int i = 0; i < children->compilers; i++) {
        struct hand *hand = &children->compiler[i];
        if (hand->stage != READY || !pool_idle(children->pool, hand->child)) continue;
        hand->kernel = *kernel;
        hand->retries = 0;
        hand->tag = tag;
        return ask_compiler(children, hand);
    }
    return fail(E_BUSY, "no compiler is idle");
}

enum status children_send(struct children *children, int worker, json_t *request, double deadline_s,
                          void *tag)
{
    struct hand *hand = &children->worker[worker];
    if (!request) return fail(E_MEMORY, "out of memory for a request to a GPU worker");
    enum status st = OK;
    if (hand->stage != READY) st = fail(E_BUSY, "the worker of GPU %d is not idle", hand->info.device);
    if (!st) st = pool_submit(children->pool, hand->child, request, deadline_s, hand);
    json_decref(request);
    if (st) return st;
    hand->stage = AT_WORK;
    hand->tag = tag;
    return OK;
}

void children_cancel(struct children *children, int worker)
{
    struct hand *hand = &children->worker[worker];
    if (hand->stage >= LEAVING) return;
    hand->stage = GREETING; /* its end comes without a job and makes us greet it */
    hand->tag = NULL;
    pool_cancel(children->pool, hand->child);
}

/* ---- what comes back ---- */

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

static void finish_compile(struct hand *hand, struct children_event *event)
{
    event->kind = CHILDREN_BUILT;
    event->tag = hand->tag;
    hand->tag = NULL;
}

static void fail_compile(struct hand *hand, const char *why, struct children_event *event)
{
    finish_compile(hand, event);
    event->build = (struct build){.verdict = VERDICT_UNBUILDABLE};
    snprintf(event->build.detail, sizeof event->build.detail, "%s", why);
}

static int compilers_left(const struct children *children)
{
    int left = 0;
    for (int i = 0; i < children->compilers; i++) left += children->compiler[i].stage != GONE;
    return left;
}

/* *found says whether *event holds something for the caller. */
static enum status from_compiler(struct children *children, struct hand *hand, struct pool_event *e,
                                 bool *found, struct children_event *event)
{
    enum status st = OK;
    bool at_work = hand->stage == AT_WORK;
    if (e->kind == POOL_REPLY) {
        st = message_check(e->message);
        if (!st && at_work) {
            finish_compile(hand, event);
            st = parse_build(e->message, &event->build);
            *found = !st;
        }
        hand->stage = READY;
        if (!st && hand->again) st = ask_compiler(children, hand);
        return st;
    }
    if (at_work && e->kind == POOL_DIED && hand->retries++ < COMPILER_RETRIES && !e->gone) {
        hand->again = true;
    } else if (at_work || hand->again) {
        char why[OUTCOME_DETAIL_MAX];
        if (e->kind == POOL_TIMEOUT)
            snprintf(why, sizeof why, "the compiler did not finish within %.0f s", CHILDREN_DEADLINE_S);
        else snprintf(why, sizeof why, "the compiler died: %s", e->reason);
        fail_compile(hand, why, event);
        hand->again = false;
        *found = true;
    }
    if (!e->gone) return greet(children, hand);
    hand->stage = GONE;
    if (compilers_left(children)) return OK;
    return fail(E_COMPILER, "every compiler process died again and again; the last one %s", e->reason);
}

static void give_up(struct children *children, struct hand *hand, const char *reason)
{
    pool_stop(children->pool, hand->child);
    hand->stage = LEAVING;
    snprintf(hand->reason, sizeof hand->reason, "%s", reason);
}

void children_give_up(struct children *children, int worker, const char *reason)
{
    struct hand *hand = &children->worker[worker];
    if (hand->stage < LEAVING) give_up(children, hand, reason);
}

static enum status from_worker(struct children *children, struct hand *hand, struct pool_event *e,
                               bool *found, struct children_event *event)
{
    if (hand->stage >= LEAVING) return OK;
    event->worker = (int)(hand - children->worker);
    event->tag = hand->tag;
    *found = true;
    if (e->kind == POOL_REPLY && hand->stage == AT_WORK) {
        hand->stage = READY;
        hand->failures = 0;
        event->kind = CHILDREN_ANSWER;
        event->answer = e->message;
        e->message = NULL;
        return OK;
    }
    if (e->kind == POOL_REPLY && take_worker_hello(hand, e->message) == OK) {
        hand->stage = READY;
        event->kind = CHILDREN_BACK;
        return OK;
    }
    if (e->kind == POOL_REPLY) { /* it greets, but the GPU is not well */
        *found = false;
        if (++hand->failures >= GREETINGS_MAX) give_up(children, hand, status_text());
        else pool_cancel(children->pool, hand->child);
        return OK;
    }

    /* It ended. Without a job during a greeting it was us who cancelled it. */
    *found = hand->stage == AT_WORK || hand->stage == READY;
    event->kind = CHILDREN_LOST;
    event->hung = e->kind == POOL_TIMEOUT;
    snprintf(event->reason, sizeof event->reason, "%s", e->reason);
    hand->tag = NULL;
    bool own_fault = hand->stage == READY || (hand->stage == GREETING && e->job);
    if ((own_fault && ++hand->failures >= GREETINGS_MAX) || e->gone) give_up(children, hand, e->reason);
    else return greet(children, hand);
    return OK;
}

static bool say_gone(struct children *children, struct children_event *event)
{
    for (int i = 0; i < children->workers; i++) {
        struct hand *hand = &children->worker[i];
        if (hand->stage != LEAVING) continue;
        hand->stage = GONE;
        *event = (struct children_event){.kind = CHILDREN_GONE, .worker = i};
        memcpy(event->reason, hand->reason, sizeof event->reason);
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
        struct hand *hand = hand_of(children, e.child, &compiler);
        if (hand && compiler) st = from_compiler(children, hand, &e, &found, event);
        else if (hand) st = from_worker(children, hand, &e, &found, event);
        json_decref(e.message);
        if (st || found) return st;
    }
}

/* ---- one thing at a time ---- */

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
