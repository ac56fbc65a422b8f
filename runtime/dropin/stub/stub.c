#include "stub.h"
#include "env.h"
#include "loading.h"
#include "print.h"
#include "trusted.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#define ENGINE_FILE "libgemmtune_cublas_engine.so"

__thread bool stub_inside __attribute__((tls_model("initial-exec")));
__thread void *stub_thread __attribute__((tls_model("initial-exec")));
__thread struct stack_room stub_room __attribute__((tls_model("initial-exec")));
_Atomic(const struct engine *) stub_engine_found;

/* ---- without an engine ---- */

static bool take_nothing(const struct blas_request *request, struct intercept *intercept, int *result)
{
    (void)request, (void)intercept, (void)result;
    return false;
}

static bool take_no_matmul(const struct matmul *matmul, struct intercept *intercept, int *result)
{
    (void)matmul, (void)intercept, (void)result;
    return false;
}

static void end_nothing(struct intercept *intercept)
{
    (void)intercept;
}

static void refuse_nothing(struct refusal *refusal, const struct blas_request *request,
                           struct intercept *intercept)
{
    (void)refusal, (void)request, (void)intercept;
}

static void graph_nothing(CUgraph graph)
{
    (void)graph;
}

static void made_nothing(CUgraphExec executable, CUgraph graph)
{
    (void)executable, (void)graph;
}

static void launched_nothing(CUgraphExec executable)
{
    (void)executable;
}

static void count_nothing(struct answers *answers)
{
    *answers = (struct answers){0};
}

static void do_nothing(void) {}

static const struct engine nothing = {.take = take_nothing,
                                      .take_matmul = take_no_matmul,
                                      .end = end_nothing,
                                      .refuse = refuse_nothing,
                                      .graph_gone = graph_nothing,
                                      .graph_made = made_nothing,
                                      .graph_launched = launched_nothing,
                                      .count = count_nothing,
                                      .in_child = do_nothing};

/* ---- opening the engine ---- */

static char engine_path[PATH_MAX]; /* "": unknown */
static bool engine_foreign;        /* who put it there may be another user */

/* Early, because the path of a preloaded library may be relative to the current folder. */
__attribute__((constructor)) static void find_own_folder(void)
{
    Dl_info info;
    char own[PATH_MAX], resolved[PATH_MAX];
    if (!dladdr(engine_path, &info) || !info.dli_fname) return;
    if (info.dli_fname[0] == '/') snprintf(own, sizeof own, "%s", info.dli_fname);
    else if (!realpath(info.dli_fname, own)) return;
    const int folder = (int)(strrchr(own, '/') + 1 - own);
    const int length = snprintf(engine_path, sizeof engine_path, "%.*s" ENGINE_FILE, folder, own);
    if (length < 0 || length >= (int)sizeof engine_path) engine_path[0] = '\0';
    if (trusted(engine_path, own, resolved)) memcpy(engine_path, resolved, sizeof resolved);
    else engine_foreign = access(engine_path, F_OK) == 0;
}

/* The address sanitizer asks for its options by this name, before it is set up. It ends a program in which it
 * is not the first library; but the drop-in replaces nothing of it. */
const char *__asan_default_options(void);
__attribute__((no_sanitize("address", "undefined", "thread"))) const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}

static void in_child(void)
{
    const struct engine *engine = atomic_load(&stub_engine_found);
    if (engine) engine->in_child();
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void say(const char *what, const char *why)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        print_line(stderr, "gemmtune: everything goes to cuBLAS: %s%s", what, why);
}

static const struct engine *without(const char *what, const char *why)
{
    if (!env_is_on("GEMMTUNE_QUIET")) say(what, why);
    return &nothing;
}

static const struct engine *open_engine(void)
{
    __typeof__(gemmtune_cublas_engine) *entry;
    static const struct engine_terms terms = ENGINE_TERMS;
    if (engine_foreign)
        return without(engine_path, " is not used: it belongs to another user, or others may write it");
    void *library = dlopen(engine_path[0] ? engine_path : ENGINE_FILE, RTLD_NOW | RTLD_LOCAL);
    if (!library) return without("its engine cannot be opened: ", dlerror());
    void *address = dlsym(library, "gemmtune_cublas_engine");
    if (!address) return without(engine_path, " is not its engine");
    memcpy(&entry, &address, sizeof entry);
    const struct engine *engine = entry(&terms);
    if (!engine || !engine_terms_equal(&engine->terms, &terms))
        return without(engine_path, " is of another version than the preloaded library: install both again");
    engine->use(&loading_own);
    return engine;
}

/* A value that is not understood switches off, too, and is reported without a log. */
static bool is_switched_off(void)
{
    struct env_finding finding;
    if (env_choice("GEMMTUNE_DROPIN") != ENV_DROPIN_OFF) return false;
    const bool mistaken = env_find("GEMMTUNE_DROPIN", &finding) && !finding.understood;
    if (mistaken ? !env_is_on("GEMMTUNE_QUIET") : env_is_on("GEMMTUNE_LOG"))
        say("GEMMTUNE_DROPIN ", mistaken ? finding.said : "is off");
    return true;
}

/* No thread waits for another one: a constructor that calls cuBLAS holds the loader's lock, which opening
 * needs, too. Threads that arrive at the same time open the same library and find the same engine. */
const struct engine *stub_engine_find(void)
{
    const bool off = is_switched_off(), loading = !off && loading_begin();
    const struct engine *engine = loading ? open_engine() : &nothing;
    atomic_store_explicit(&stub_engine_found, engine, memory_order_release);
    if (loading) loading_end(); /* a fork that waited for it finds the engine */
    return engine;
}

int gemmtune_cublas_report(uint64_t *products, uint64_t *answered, double *gain)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    struct answers answers = {0};
    if (engine) engine->count(&answers);
    *products = answers.products;
    *answered = answers.answered;
    *gain = answers.gain;
    return engine && engine != &nothing;
}

/* Calls are logged, or captured. */
static bool is_watched(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int known; /* searching the environment is slow */
    int watched = atomic_load_explicit(&known, memory_order_relaxed);
    if (watched == UNKNOWN) {
        watched = env_is_on("GEMMTUNE_LOG") || env_text("GEMMTUNE_CAPTURE") ? YES : NO;
        atomic_store_explicit(&known, watched, memory_order_relaxed);
    }
    return watched == YES;
}

/* ---- calls ---- */

struct call {
    const struct blas_request *request;
    const struct matmul *matmul;
    struct refusal *refusal;
    struct intercept *intercept;
    int *result;
    bool taken;
};

static void take(void *self)
{
    struct call *call = self;
    call->taken = stub_engine()->take(call->request, call->intercept, call->result);
}

bool stub_take_apart(const struct blas_request *request, struct intercept *intercept, int *result)
{
    struct call call = {.request = request, .intercept = intercept, .result = result};
    stack_room_run(&stub_room, take, &call);
    return call.taken;
}

static void take_matmul(void *self)
{
    struct call *call = self;
    call->taken = stub_engine()->take_matmul(call->matmul, call->intercept, call->result);
}

bool stub_take_matmul_apart(const struct matmul *matmul, struct intercept *intercept, int *result)
{
    struct call call = {.matmul = matmul, .intercept = intercept, .result = result};
    stack_room_run(&stub_room, take_matmul, &call);
    return call.taken;
}

static void refuse(void *self)
{
    struct call *call = self;
    stub_engine()->refuse(call->refusal, call->request, call->intercept);
}

void stub_refuse(struct refusal *refusal, const struct blas_request *request, struct intercept *intercept)
{
    struct call call = {.request = request, .refusal = refusal, .intercept = intercept};
    if (is_watched()) stack_room_run(&stub_room, refuse, &call);
}
