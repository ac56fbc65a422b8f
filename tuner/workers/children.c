#include "children_slots.h"
#include "template.h"

#include "clock.h"
#include "messages.h"
#include "print.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILER_RETRIES 1 /* the system may have killed it because another process used the memory */

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

bool children_compilers_rest(const struct children *children)
{
    bool rest = true;
    for (int i = 0; i < children->compilers; i++)
        rest &= children->compiler[i].stage == READY || children->compiler[i].stage == GONE;
    return rest;
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
    return st == E_BUSY
               ? OK
               : st; /* as in children_greet: its end is reported for this compilation, which is repeated */
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

/* Once: why compiled kernels are not in the cache. */
static void tell_spare(struct children *children, const json_t *answer)
{
    const char *why = json_string_value(json_object_get(answer, "spare"));
    if (!why || !*why || children->told_spare) return;
    print_line(stderr, "tune: %s", why);
    children->told_spare = true;
}

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
            tell_spare(children, e->message);
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
    if (!e->gone) return children_greet_again(children, slot, e);
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
    if (e->kind == POOL_REPLY && children_take_hello(slot, e->message) == OK) {
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

    /* The process ended. Without a job during a greeting, it was cancelled by us. */
    *found = slot->stage == AT_WORK || slot->stage == READY;
    event->kind = CHILDREN_LOST;
    event->hung = e->kind == POOL_TIMEOUT;
    snprintf(event->reason, sizeof event->reason, "%s", e->reason);
    slot->tag = NULL;
    bool own_fault = slot->stage == READY || (slot->stage == GREETING && e->job);
    if ((own_fault && ++slot->failures >= GREETINGS_MAX) || e->gone) give_up(children, slot, e->reason);
    else return children_greet_again(children, slot, e);
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
        struct child_slot *slot = children_slot(children, e.child, &compiler);
        if (slot && compiler) st = from_compiler(children, slot, &e, &found, event);
        else if (slot) st = from_worker(children, slot, &e, &found, event);
        json_decref(e.message);
        if (st || found) return st;
    }
}

void children_share(struct children *children, pthread_mutex_t *lock)
{
    pool_share(children->pool, lock);
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
            if (template_is_library(kernels[sent].config.template)) {
                builds[sent++] = (struct build){.built = true, .cached = true};
                done++;
                continue;
            }
            st = children_compile(children, &kernels[sent], &builds[sent]);
            if (!st) sent++;
        }
        if (st && st != E_BUSY) return st;
        if (done == count) break;
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
