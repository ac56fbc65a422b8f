#include "recorder.h"

#include "capture.h"
#include "device.h"
#include "print.h"
#include "relaxed.h"
#include "stats.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES_AT_ONCE = 16 };

/* One call that is being timed. */
struct sample {
    struct timing *of; /* NULL: free */
    bool enqueued;
    CUevent begin, end;
};

static atomic_bool on;
static char path[PATH_MAX];
static double every_s;
static bool told;                                            /* a failed save was reported */
static pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;   /* path, told, saved counts of problems */
static pthread_mutex_t sampling = PTHREAD_MUTEX_INITIALIZER; /* protects the samples; held briefly */
static struct sample samples[SAMPLES_AT_ONCE];

bool recorder_on(void)
{
    return atomic_load_explicit(&on, memory_order_relaxed);
}

/* ---- calls that are no problem ---- */

static struct {
    _Atomic(const char *) why; /* NULL: no more reasons */
    _Atomic uint64_t calls;
    uint64_t saved, seen; /* as in struct record */
    struct timing timing;
} left_out[CAPTURE_REASONS_MAX];

/* ---- timing ---- */

static void let_go(struct sample *s)
{
    if (s->begin) cuda.EventDestroy(s->begin);
    if (s->end) cuda.EventDestroy(s->end);
    *s = (struct sample){.of = NULL};
}

/* Reads the samples that have finished on the GPU, without waiting. */
static void harvest(void)
{
    for (int i = 0; i < SAMPLES_AT_ONCE; i++) {
        struct sample *s = &samples[i];
        float ms = 0;
        if (!s->of || !s->enqueued) continue;
        CUresult result = cuda.EventElapsedTime(&ms, s->begin, s->end);
        if (result == CUDA_ERROR_NOT_READY) continue;
        int count = atomic_load(&s->of->count);
        if (result == CUDA_SUCCESS && ms > 0 && count < TIMING_SAMPLES) {
            s->of->us[count] = 1e3f * ms;
            atomic_store(&s->of->count, count + 1);
        }
        let_go(s);
    }
}

static bool ready(struct sample *s, CUstream stream)
{
    return !instead_is_captured(stream) && cuda.EventCreate(&s->begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
           cuda.EventCreate(&s->end, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
           cuda.EventRecord(s->begin, stream) == CUDA_SUCCESS;
}

/* calls: counts this one, too. */
static struct sample *begin(_Atomic uint64_t *calls, struct timing *timing, CUstream stream)
{
    const bool first = atomic_fetch_add_explicit(calls, 1, memory_order_relaxed) == 0;
    /* The first call includes loading the code. */
    if (first || atomic_load_explicit(&timing->count, memory_order_relaxed) == TIMING_SAMPLES) return NULL;
    struct sample *s = NULL;
    CUstreamCaptureMode before = relaxed_begin();
    pthread_mutex_lock(&sampling);
    harvest();
    for (int i = 0; i < SAMPLES_AT_ONCE && !s; i++)
        if (!samples[i].of) s = &samples[i];
    if (s && !ready(s, stream)) {
        let_go(s);
        s = NULL;
    }
    if (s) s->of = timing;
    pthread_mutex_unlock(&sampling);
    relaxed_end(before);
    return s;
}

struct sample *recorder_begin(struct record *record, CUstream stream)
{
    return begin(&record->calls, &record->timing, stream);
}

struct sample *recorder_leave_out(const char *why, const CUstream *stream)
{
    if (!recorder_on()) return NULL;
    for (int i = 0; i < CAPTURE_REASONS_MAX; i++) {
        const char *known = NULL;
        if (atomic_compare_exchange_strong(&left_out[i].why, &known, why)) known = why;
        if (strcmp(known, why) != 0) continue;
        if (stream) return begin(&left_out[i].calls, &left_out[i].timing, *stream);
        atomic_fetch_add_explicit(&left_out[i].calls, 1, memory_order_relaxed);
        break;
    }
    return NULL;
}

void recorder_end(struct sample *sample, CUstream stream)
{
    if (!sample || !recorder_on()) return;
    pthread_mutex_lock(&sampling);
    if (cuda.EventRecord(sample->end, stream) == CUDA_SUCCESS) sample->enqueued = true;
    else let_go(sample);
    pthread_mutex_unlock(&sampling);
}

/* ---- saving ---- */

static double time_us(const struct timing *timing)
{
    double us[TIMING_SAMPLES];
    int count = atomic_load(&timing->count);
    for (int i = 0; i < count; i++) us[i] = (double)timing->us[i];
    return count ? stats_median(us, (size_t)count) : 0;
}

double recorder_time_us(const struct record *record)
{
    return time_us(&record->timing);
}

bool recorder_left_out(int n, struct left_out *one)
{
    const char *why = n < CAPTURE_REASONS_MAX ? atomic_load(&left_out[n].why) : NULL;
    if (!why) return false;
    *one = (struct left_out){why, atomic_load(&left_out[n].calls), time_us(&left_out[n].timing)};
    return true;
}

/* Collects what the file does not contain yet. Calls may go on meanwhile: they need no lock of ours. */
static enum status collect(struct record *newest, struct capture *capture)
{
    enum status st = OK;
    for (struct record *r = newest; r && !st; r = r->older) {
        r->seen = atomic_load(&r->calls);
        if (!r->instead.unnamed && r->seen != r->saved)
            st = capture_add(capture, &r->instead.plan->problem, r->seen - r->saved, recorder_time_us(r));
    }
    for (int i = 0; i < CAPTURE_REASONS_MAX; i++) {
        const char *why = atomic_load(&left_out[i].why);
        left_out[i].seen = atomic_load(&left_out[i].calls);
        if (why && left_out[i].seen != left_out[i].saved)
            capture_leave_out(capture, why, left_out[i].seen - left_out[i].saved);
    }
    return st;
}

/* A program that ends leaves its capture beside a file that another process has locked. */
static enum status save(const struct capture *capture, bool ends)
{
    char part[PATH_MAX];
    enum status st = capture_save(path, capture);
    if (st != E_BUSY || !ends) return st;
    st = capture_save_beside(path, capture, part);
    if (!st)
        print_line(stderr,
                   "gemmtune: another process holds the lock of the capture %s: this program's problems are "
                   "in %s, and the next save adds them",
                   path, part);
    return st;
}

void recorder_save(bool ends)
{
    struct capture capture = {0};
    if (!recorder_on()) return;
    pthread_mutex_lock(&saving);
    struct record *newest = record_newest();
    enum status st = collect(newest, &capture);
    if (!st && (capture.count > 0 || capture.reasons > 0)) st = save(&capture, ends);
    for (struct record *r = newest; r && !st; r = r->older) r->saved = r->seen;
    for (int i = 0; i < CAPTURE_REASONS_MAX && !st; i++) left_out[i].saved = left_out[i].seen;
    /* On failure everything is saved again next time. */
    if (st && st != E_BUSY && !told) print_line(stderr, "gemmtune: %s", status_text());
    told = st != OK;
    pthread_mutex_unlock(&saving);
    capture_free(&capture);
}

static void *keep_saving(void *nothing)
{
    struct timespec pause = {.tv_sec = (time_t)every_s};
    pause.tv_nsec = (long)((every_s - (double)pause.tv_sec) * 1e9);
    for (;;) {
        nanosleep(&pause, NULL);
        recorder_save(false);
    }
    return nothing;
}

void recorder_forget(void)
{
    atomic_store(&on, false);
}

void recorder_start(const char *file, double seconds)
{
    char folder[PATH_MAX] = "";
    bool relative = file[0] != '/';
    if (relative && !getcwd(folder, sizeof folder)) folder[0] = '\0';
    if (snprintf(path, sizeof path, "%s%s%s", folder, relative && folder[0] ? "/" : "", file) >=
        (int)sizeof path) {
        print_line(stderr, "gemmtune: GEMMTUNE_CAPTURE is too long");
        return;
    }
    every_s = seconds;
    atomic_store(&on, true);
    if (!(seconds > 0)) return;
    /* The program's signals must not be delivered to this thread. */
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, keep_saving, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
