#include "children_slots.h"

#include "cores.h"
#include "messages.h"
#include "paths.h"
#include "template.h"
#include "utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CHILDREN_PATH_MAX 4096

#define COMPILER_NICE 10 /* else compilers could delay a worker, and thereby a GPU */

struct child_slot *children_slot(struct children *children, int child, bool *compiler)
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

enum status children_greet(struct children *children, struct child_slot *slot)
{
    json_t *hello = json_pack("{s:s}", "do", "hello");
    if (!hello) return fail(E_MEMORY, "out of memory for a greeting");
    slot->stage = GREETING;
    enum status st = pool_submit(children->pool, slot->child, hello, CHILDREN_DEADLINE_S, slot);
    json_decref(hello);
    /* The process is ending already, or gone. That is reported as an event; then it is greeted again or given
     * up. */
    return st == E_BUSY || st == E_CHILD ? OK : st;
}

enum status children_greet_again(struct children *children, struct child_slot *slot,
                                 const struct pool_event *end)
{
    if (!end->superseded) return children_greet(children, slot);
    slot->stage = GREETING;
    return OK;
}

static void copy_text(const json_t *answer, const char *key, char *to, size_t room)
{
    const char *text = json_string_value(json_object_get(answer, key));
    snprintf(to, room, "%s", text ? text : "");
}

enum status children_take_hello(struct child_slot *slot, const json_t *answer)
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
static enum status greet_after_death(struct children *children, struct child_slot *slot, bool compiler,
                                     const struct pool_event *e)
{
    if (e->kind == POOL_DIED && !e->gone && ++slot->failures < GREETINGS_MAX)
        return children_greet_again(children, slot, e);
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
        struct child_slot *slot = children_slot(children, e.child, &compiler);
        if (e.kind != POOL_REPLY) {
            if ((st = greet_after_death(children, slot, compiler, &e))) return st;
            continue;
        }
        if (compiler) {
            if (!(st = message_check(e.message)))
                copy_text(e.message, "nvrtc", children->nvrtc, sizeof children->nvrtc);
        } else {
            st = children_take_hello(slot, e.message);
            json_int_t count = json_integer_value(json_object_get(e.message, "devices"));
            if (devices) *devices = count > 0 ? (int)count : 1;
        }
        json_decref(e.message);
        if (st) return st;
        slot->stage = READY;
        slot->failures = 0;
    }
}

/* The texts of all own kernels that this process knows, a line each, in a file of the cache: children are
 * executed anew and add them. path: "" if there are none. */
static enum status write_kernels(const char *cache, char path[CHILDREN_PATH_MAX])
{
    XXH64_state_t *const hash = XXH64_createState();
    const size_t all = templates_all();
    char partial[CHILDREN_PATH_MAX + 16];
    path[0] = '\0';
    if (all == template_count || !hash) {
        XXH64_freeState(hash);
        return hash ? OK : fail(E_MEMORY, "out of memory for own kernels");
    }
    XXH64_reset(hash, 0);
    for (size_t i = template_count; i < all; i++)
        XXH64_update(hash, template_at(i)->own, strlen(template_at(i)->own) + 1);
    const int length =
        snprintf(path, CHILDREN_PATH_MAX, "%s/%016" PRIx64 ".kernels", cache, XXH64_digest(hash));
    XXH64_freeState(hash);
    size_t made;
    if (length >= CHILDREN_PATH_MAX)
        return fail(E_INPUT, "the name of the cache folder is too long: %.200s", cache);
    const int error = paths_make_folders(path, &made);
    snprintf(partial, sizeof partial, "%s.%d", path, (int)getpid());
    const int fd = error ? -1 : open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *const f = fd < 0 ? NULL : fdopen(fd, "w");
    bool good = f != NULL;
    for (size_t i = template_count; i < all && good; i++) good = fprintf(f, "%s\n", template_at(i)->own) > 0;
    if (f) good = fclose(f) == 0 && good;
    good = good && rename(partial, path) == 0;
    return good ? OK : fail(E_IO, "cannot write %.300s: %s", path, strerror(errno));
}

static enum status start_compilers(struct children *children, const struct children_options *options,
                                   const char *kernels)
{
    int count = options->compilers > 0 ? options->compilers : cores_allowed();
    if (!(children->compiler = calloc((size_t)count, sizeof *children->compiler)))
        return fail(E_MEMORY, "out of memory for %d compilers", count);
    const char *argv[] = {"tune",  "_compiler", "--cache", options->cache, *kernels ? "--kernels" : NULL,
                          kernels, NULL};
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) {
        struct child_slot *slot = &children->compiler[i];
        children->compilers = i + 1;
        st = pool_start(children->pool, argv, COMPILER_NICE, &slot->child);
        if (!st) st = children_greet(children, slot);
    }
    return st;
}

static enum status start_worker(struct children *children, int device, const char *cache, const char *kernels)
{
    if (children->workers == CHILDREN_WORKERS_MAX)
        return fail(E_INPUT, "at most %d GPUs can be tuned at once", CHILDREN_WORKERS_MAX);
    char ordinal[16];
    snprintf(ordinal, sizeof ordinal, "%d", device);
    const char *argv[] = {
        "tune",  "_worker", "--device", ordinal, "--cache", cache, *kernels ? "--kernels" : NULL,
        kernels, NULL};
    struct child_slot *slot = &children->worker[children->workers++];
    slot->info.device = device;
    enum status st = pool_start(children->pool, argv, 0, &slot->child);
    return st ? st : children_greet(children, slot);
}

/* NVIDIA's libraries read these variables once for a whole process; then FP32 would be computed in another
 * way, TF32 would not be TF32, or each launch would wait for the one before. Tuning for a user's program must
 * not depend on this shell's settings. */
static const char *const kept_from_children[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                                 "CUBLAS_EMULATION_STRATEGY", "CUDA_LAUNCH_BLOCKING", NULL};

enum status children_open(const struct children_options *options, struct children **out)
{
    if (!utf8_valid(options->cache)) /* messages contain its paths, and JSON allows only UTF-8 */
        return fail(E_INPUT, "the name of the cache folder is not UTF-8: %.200s; choose another with --cache",
                    options->cache);
    struct children *children = calloc(1, sizeof *children);
    if (!children) return fail(E_MEMORY, "out of memory for the child processes");
    enum status st = OK;
    int devices = 0;
    char kernels[CHILDREN_PATH_MAX];
    if (!(children->worker = calloc(CHILDREN_WORKERS_MAX, sizeof *children->worker)))
        st = fail(E_MEMORY, "out of memory for the GPU workers");
    if (!st) st = pool_open(&children->pool);
    if (!st) pool_keep_from_children(children->pool, kept_from_children);
    if (!st) st = write_kernels(options->cache, kernels);
    if (!st) st = start_compilers(children, options, kernels);
    for (int i = 0; i < options->device_count && !st; i++)
        st = start_worker(children, options->devices[i], options->cache, kernels);
    if (options->device_count == CHILDREN_ALL_DEVICES && !st)
        st = start_worker(children, 0, options->cache, kernels);
    if (!st) st = await_greetings(children, &devices);
    if (options->device_count == CHILDREN_ALL_DEVICES) {
        for (int i = 1; i < devices && !st; i++) st = start_worker(children, i, options->cache, kernels);
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
