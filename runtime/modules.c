#include "modules.h"

#include "compile.h"
#include "db_code.h"
#include "gpu_context.h"
#include "kernel.h"
#include "pretuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { UNBUILT, BUILDING, READY, FAILED };

struct module {
    struct module *next;
    struct gpu_context *context;
    struct gt_handle *handle;
    struct kernel_key kernel;
    bool kept;
    enum state state;
    CUmodule module;
    char *own; /* machine code of an own kernel; NULL: of another */
    size_t own_bytes;
    int references;  /* executables and captured graphs */
    enum status why; /* FAILED */
    char why_text[300];
    bool passing;      /* for lack of memory */
    unsigned requests; /* since it failed so */
};

static _Thread_local bool may_not_compile, left_out;

void modules_no_compiling_begin(void)
{
    may_not_compile = true;
    left_out = false;
}

bool modules_no_compiling_end(void)
{
    may_not_compile = false;
    return left_out;
}

static enum status leave_out(void)
{
    left_out = true;
    return fail(E_BUSY, "its kernel is being compiled");
}

static struct module *find(const struct gpu_context *context, const struct kernel_key *kernel)
{
    for (struct module *m = context->modules; m; m = m->next)
        if (kernel_key_equal(&m->kernel, kernel)) return m;
    return NULL;
}

/* What a driver says of machine code that it does not know: its compiler is newer. */
static bool is_foreign(CUresult result)
{
    return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
           result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           result == CUDA_ERROR_INVALID_SOURCE;
}

static enum status keep_code(const char *code, size_t bytes, struct module *m)
{
    free(m->own);
    if (!(m->own = malloc(bytes))) return fail(E_MEMORY, "out of memory for a kernel");
    memcpy(m->own, code, bytes);
    m->own_bytes = bytes;
    return OK;
}

/* E_ABSENT: the driver refuses it. E_INTERRUPTED: the context has gone while it was compiled. */
static enum status load(const char *code, size_t bytes, struct module *m)
{
    if (!gpu_context_is_alive(m->context)) return fail(E_INTERRUPTED, "the context has gone");
    CUresult result = cuda.ModuleLoadData(&m->module, code);
    if (is_foreign(result))
        return fail(E_ABSENT, "the driver does not load the kernel's machine code (%d)", (int)result);
    enum status st = device_check(result, "load the kernel");
    if (!st && m->kernel.config.template->own) st = keep_code(code, bytes, m);
    return st && kernel_refused(result) ? fail(E_ABSENT, "%s", status_text()) : st;
}

/* From the cache, which holds what this user's compiler made. */
static enum status load_kept(struct module *m, const char *id)
{
    char *code = NULL;
    size_t bytes;
    enum status st = compile_recall(id, m->handle->cache, &code, &bytes);
    if (!st) st = load(code, bytes, m);
    free(code);
    return st;
}

/* What ships. A file that cannot be used is said, and done without. */
static enum status load_shipped(struct module *m, const char *id)
{
    struct gt_handle *handle = m->handle;
    char path[4096], *code = NULL;
    size_t bytes;
    enum status st = pretuned_code(handle->pretuned, m->kernel.arch, path, sizeof path);
    if (!st) st = db_code_find(path, id, &code, &bytes);
    const bool usable = !st || st == E_ABSENT;
    if (!st) st = load(code, bytes, m);
    free(code);
    if (!usable || (code && st == E_ABSENT))
        notice(&handle->notices, NOTICE_CODE, "machine code that ships is not used: %s", status_text());
    return usable ? st : E_ABSENT;
}

/* A cache that cannot be used is said, and done without. */
static enum status compile(struct module *m)
{
    struct gt_handle *handle = m->handle;
    struct compiled out;
    char *code = NULL, why[COMPILE_WHY_MAX] = "";
    if (handle->flags & GT_NO_COMPILER || atomic_load(&handle->no_compiler))
        return fail(E_COMPILER, "nothing can be compiled");
    if (may_not_compile) return leave_out();
    enum status st = compile_code(&m->kernel, handle->cache, &code, &out, why);
    if (why[0]) notice(&handle->notices, NOTICE_CACHE, "compiled kernels are not kept: %s", why);
    if (!st && !out.built) {
        m->passing = out.out_of_memory;
        return fail(E_ABSENT, "the compiler refuses the kernel: %s", out.log);
    }
    if (!st) st = load(code, (size_t)out.facts.cubin_bytes, m);
    free(code);
    return st;
}

/* From the cache, else as it ships: neither opens the compiler. Else compiled. */
static enum status build(struct module *m)
{
    char id[COMPILE_ID_TEXT];
    bool short_of_memory;
    m->passing = false;
    device_was_short_of_memory(); /* whatever it was about */
    enum status st = compile_id(&m->kernel, id);
    if (!st) st = load_kept(m, id);
    short_of_memory = device_was_short_of_memory();
    if (st == E_ABSENT && !short_of_memory) st = load_shipped(m, id);
    short_of_memory |= device_was_short_of_memory();
    if (st == E_ABSENT && !short_of_memory) st = compile(m);
    m->passing |= st == E_MEMORY || (st && (short_of_memory || device_was_short_of_memory()));
    return st;
}

static struct module *add(struct gpu_context *context, const struct kernel_key *kernel)
{
    struct module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    *m = (struct module){.next = context->modules,
                         .context = context,
                         .handle = context->handle,
                         .kernel = *kernel,
                         .kept = context->module_count < MODULES_KEPT,
                         .state = BUILDING};
    context->modules = m;
    context->module_count++;
    return m;
}

static void finish(struct module *m, enum status st)
{
    pthread_mutex_lock(&m->handle->lock);
    m->state = st == E_BUSY ? UNBUILT : st ? FAILED : READY;
    m->why = st;
    if (st) snprintf(m->why_text, sizeof m->why_text, "%.299s", status_text());
    pthread_cond_broadcast(&m->handle->built);
    pthread_mutex_unlock(&m->handle->lock);
}

/* A kernel that failed for lack of memory is loaded again: at the first, second, fourth, eighth request... */
static bool is_worth_a_try(struct module *m)
{
    if (m->state != FAILED || !m->passing) return false;
    m->requests++;
    return (m->requests & (m->requests - 1)) == 0;
}

CUmodule module_code(const struct module *m)
{
    return m->module;
}

enum status module_entries(const struct module *m, struct launch_plan *plan, struct entries *entries)
{
    return entries_find(m->own, m->own_bytes, plan, entries);
}

bool module_is_kept(const struct module *m)
{
    return m->kept;
}

/* ---- unloading ---- */

static bool is_idle(const struct module *m)
{
    return !m->kept && m->state == READY && m->references == 0;
}

static void free_module(struct module *m, bool unload)
{
    if (m->module && unload) cuda.ModuleUnload(m->module);
    free(m->own);
    free(m);
}

/* If there are more idle ones than that, take them out of the list but for the newest few: to unload many at
 * once waits for the device once. */
static struct module *take_idle(struct gpu_context *context, int most)
{
    struct module *taken = NULL;
    int idle = 0, spared = most / 2;
    for (struct module *m = context->modules; m; m = m->next) idle += is_idle(m);
    for (struct module **link = &context->modules; *link && idle > most;) {
        struct module *m = *link;
        if (!is_idle(m) || spared-- > 0) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        m->next = taken;
        taken = m;
        context->module_count--;
    }
    return taken;
}

static void unload_idle(struct gpu_context *context, int most)
{
    graphs_collect(&context->graphs);
    pthread_mutex_lock(&context->handle->lock);
    struct module *taken = take_idle(context, most);
    pthread_mutex_unlock(&context->handle->lock);
    for (struct module *m = taken, *next; m; m = next) {
        next = m->next;
        free_module(m, true);
    }
}

void modules_trim(struct gpu_context *context)
{
    unload_idle(context, 0);
}

void modules_close(struct gpu_context *context, bool context_gone)
{
    for (struct module *m = context->modules, *next; m; m = next) {
        next = m->next;
        free_module(m, !context_gone);
    }
    context->modules = NULL;
}

/* ---- getting one ---- */

static enum status answer(struct module *m, bool *passing)
{
    char why[sizeof m->why_text];
    pthread_mutex_lock(&m->handle->lock);
    const enum status st = m->state == READY ? OK : m->why;
    *passing |= m->passing;
    memcpy(why, m->why_text, sizeof why);
    if (st) m->references--;
    pthread_mutex_unlock(&m->handle->lock);
    return st ? fail(st, "%s", why) : OK;
}

enum status modules_get(struct gpu_context *context, const struct kernel_key *kernel, struct module **out,
                        bool *passing)
{
    struct gt_handle *handle = context->handle;
    pthread_mutex_lock(&handle->lock);
    struct module *m = find(context, kernel);
    if (m && m->state == BUILDING && may_not_compile) {
        pthread_mutex_unlock(&handle->lock);
        return leave_out();
    }
    if (m) m->references++; /* so that it is there after waiting */
    while (m && m->state == BUILDING) pthread_cond_wait(&handle->built, &handle->lock);
    const bool ours = !m || m->state == UNBUILT || is_worth_a_try(m);
    if (m && ours) m->state = BUILDING;
    if (!m && (m = add(context, kernel))) m->references++;
    pthread_mutex_unlock(&handle->lock);
    if (!m) return fail(E_MEMORY, "out of memory while loading a kernel");
    if (ours) finish(m, build(m));
    enum status st = answer(m, passing);
    if (!st && ours && !m->kept) unload_idle(context, MODULES_IDLE);
    if (!st) *out = m;
    return st;
}

void modules_share(struct module *m)
{
    pthread_mutex_lock(&m->handle->lock);
    m->references++;
    pthread_mutex_unlock(&m->handle->lock);
}

void modules_release(struct module *m)
{
    pthread_mutex_lock(&m->handle->lock);
    m->references--;
    pthread_mutex_unlock(&m->handle->lock);
}
