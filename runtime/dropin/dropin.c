#include "dropin.h"

#include "device.h"
#include "env.h"
#include "environment.h"
#include "number.h"
#include "real_blas.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SAVE_EVERY_S 30.0

/* Reasons that are told of a route, a bit each. */
enum { SAID_PASS = 1, SAID_TUNED = 2, SAID_MODE = 4, SAID_CAPTURED = 8, SAID_FAILED = 16 };

static struct {
    bool on, log;
} settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* The library is there from the program's start, so its threads' memory has a fixed place for this. */
static __thread bool inside __attribute__((tls_model("initial-exec")));

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "gemmtune: %s\n", line); /* in one piece, whoever writes beside us */
}

/* ---- settings ---- */

/* The program has asked cuBLAS for something else than strict FP32, for all of its calls. */
static const char *loosened(void)
{
    if (is_set("NVIDIA_TF32_OVERRIDE")) return "NVIDIA_TF32_OVERRIDE allows TF32";
    if (is_set("CUBLAS_EMULATE_SINGLE_PRECISION")) return "CUBLAS_EMULATE_SINGLE_PRECISION is set";
    return NULL;
}

static void start_recorder(void)
{
    const char *file = env_text("GEMMTUNE_CAPTURE"), *seconds = env_text("GEMMTUNE_CAPTURE_S");
    double every_s = SAVE_EVERY_S;
    if (!file || !file[0]) return;
    if (seconds) {
        char *end;
        every_s = number_double(seconds, &end);
        if (end == seconds || *end || !(every_s >= 0 && every_s <= 86400)) {
            say("GEMMTUNE_CAPTURE_S '%.40s' is not a number of seconds; it is saved every %g s", seconds,
                SAVE_EVERY_S);
            every_s = SAVE_EVERY_S;
        }
    }
    recorder_start(file, every_s);
}

static void start(void)
{
    const char *way = env_text("GEMMTUNE_DROPIN"), *loose = loosened();
    settings.log = is_set("GEMMTUNE_LOG");
    if (way && strcmp(way, "nearest") == 0) route_rules.nearest = true;
    else if (way && way[0] && strcmp(way, "exact") != 0 && strcmp(way, "off") != 0)
        say("GEMMTUNE_DROPIN '%.40s' is none of exact, nearest and off: exact is used", way);
    if (way && strcmp(way, "off") == 0) {
        if (settings.log) say("everything goes to cuBLAS: GEMMTUNE_DROPIN is off");
    } else if (loose) {
        if (settings.log) say("everything goes to cuBLAS: %s", loose);
    } else if (device_load()) {
        if (settings.log) say("everything goes to cuBLAS: %s", status_text());
    } else {
        start_recorder();
        settings.on = true;
    }
}

bool dropin_on(void)
{
    pthread_once(&once, start);
    return settings.on;
}

bool dropin_is_watched(void)
{
    return settings.log || recorder_on();
}

bool dropin_is_inside(void)
{
    return inside;
}

/* ---- one call ---- */

static void enter(struct turn *turn)
{
    turn->outer = inside;
    inside = true;
}

void dropin_end(struct turn *turn)
{
    inside = turn->outer;
    recorder_end(turn->sample, turn->stream);
}

void dropin_pass(struct refusal *refusal, struct turn *turn)
{
    *turn = (struct turn){.outer = false};
    if (!inside && dropin_on() && settings.log && !atomic_flag_test_and_set(&refusal->said))
        say("%s -> cuBLAS: %s", refusal->function, refusal->why);
    enter(turn);
}

/* Once for each route and reason. why NULL: the route's own. */
static void tell(const struct asked *asked, struct route *route, unsigned reason, const char *why)
{
    char own[ROUTE_WHY_MAX];
    if (!settings.log || (atomic_load_explicit(&route->said, memory_order_relaxed) & reason) ||
        (atomic_fetch_or(&route->said, reason) & reason))
        return;
    if (!why) route_why(route, own);
    say("%s %s -> %s: %s", asked->function, route->text[0] ? route->text : "(nothing to compute)",
        reason == SAID_TUNED ? "tuned kernel" : "cuBLAS", why ? why : own);
}

struct modes {
    CUstream stream;
    bool scalars_on_device;
    bool strict; /* neither TF32 nor anything emulated is allowed to compute it */
};

/* False: the handle is not one that cuBLAS knows. */
static bool read_modes(const struct asked *asked, struct modes *modes)
{
    const struct real_blas *real = real_blas();
    int pointer = -1, math = -1;
    *modes = (struct modes){asked->stream, asked->scalars_on_device, true};
    if (!asked->handle) return true;
    if (!real->GetStream || !real->GetPointerMode || !real->GetMathMode ||
        real->GetStream(asked->handle, &modes->stream) || real->GetPointerMode(asked->handle, &pointer) ||
        real->GetMathMode(asked->handle, &math))
        return false;
    modes->scalars_on_device = pointer == BLAS_DEVICE_SCALARS;
    math &= BLAS_MATH_MODE_MASK;
    modes->strict = math == BLAS_DEFAULT_MATH || math == BLAS_PEDANTIC_MATH;
    return pointer == BLAS_DEVICE_SCALARS || pointer == BLAS_HOST_SCALARS;
}

/* A launch that failed may have written part of C. cuBLAS may still compute it where C is not read. */
static bool failed(const struct asked *asked, struct route *route, const struct modes *modes, int *result)
{
    char why[ROUTE_WHY_MAX];
    snprintf(why, sizeof why, "the tuned kernel failed: %.200s", gt_error_text());
    route_give_up(route, why);
    tell(asked, route, SAID_FAILED, why);
    *result = BLAS_EXECUTION_FAILED;
    return modes->scalars_on_device || *(const float *)asked->beta != 0;
}

/* True: done. */
static bool run_tuned(const struct asked *asked, struct route *route, const struct modes *modes, int *result)
{
    struct gt_plan *plan = route_plan(route, modes->scalars_on_device, modes->stream);
    if (!plan) {
        bool later = atomic_load(&route->state) == ROUTE_TUNED;
        tell(asked, route, later ? SAID_CAPTURED : SAID_FAILED,
             later ? "its tuned kernel was not prepared before the capture of a graph" : NULL);
        return false;
    }
    tell(asked, route, SAID_TUNED, NULL);
    if (settings.log) atomic_fetch_add_explicit(&route->tuned, 1, memory_order_relaxed);
    /* The operands change places: see route.c. */
    if (gt_launch(plan, asked->alpha, asked->b, asked->a, asked->beta, asked->c, modes->stream) != GT_OK)
        return failed(asked, route, modes, result);
    *result = BLAS_SUCCESS;
    return true;
}

/* A route that is to be counted, or has a tuned kernel. */
static bool attend(const struct asked *asked, struct route *route, struct turn *turn, int *result)
{
    struct modes modes;
    if (!asked->alpha || !asked->beta || !read_modes(asked, &modes)) return false;
    /* That takes long: not for the log's count alone. */
    const bool matters =
        recorder_on() || !(atomic_load_explicit(&route->said, memory_order_relaxed) & SAID_PASS);
    if (matters && asked->is_plain && !asked->is_plain(asked->is_plain_of)) return false;
    if (!modes.strict) {
        tell(asked, route, SAID_MODE, "its math mode allows less than strict FP32");
        return false;
    }
    turn->stream = modes.stream;
    if (recorder_on()) turn->sample = recorder_begin(route, modes.stream);
    else if (settings.log) atomic_fetch_add_explicit(&route->calls, 1, memory_order_relaxed);
    if (atomic_load_explicit(&route->state, memory_order_relaxed) == ROUTE_TUNED)
        return run_tuned(asked, route, &modes, result);
    tell(asked, route, SAID_PASS, NULL);
    return false;
}

bool dropin_take(const struct asked *asked, struct turn *turn, int *result)
{
    *turn = (struct turn){.outer = false};
    bool nested = inside;
    enter(turn);
    if (nested || !dropin_on()) return false;
    struct route *route = route_of(asked);
    if (!route) return false;
    bool tuned = atomic_load_explicit(&route->state, memory_order_relaxed) == ROUTE_TUNED;
    if (!tuned && !dropin_is_watched()) return false;
    if (!attend(asked, route, turn, result)) return false;
    dropin_end(turn);
    return true;
}

/* ---- the end ---- */

static void summarize(void)
{
    uint64_t calls = 0, tuned = 0, problems = 0;
    for (struct route *r = route_newest(); r; r = (struct route *)(void *)r->entry.older) {
        calls += atomic_load(&r->calls);
        tuned += atomic_load(&r->tuned);
        problems++;
    }
    if (problems)
        say("%llu of %llu calls of strict FP32 products, of %llu problems, went to tuned kernels",
            (unsigned long long)tuned, (unsigned long long)calls, (unsigned long long)problems);
}

__attribute__((destructor)) static void finish(void)
{
    recorder_save();
    if (settings.log) summarize();
}
