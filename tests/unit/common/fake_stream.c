/* fake_stream.c — the fake driver's streams and captures.
 *
 * Streams have ids that are never used again. What the driver refuses during a capture is refused here, and
 * breaks the capture likewise: unsafe calls according to the modes of capture and thread, and whatever the
 * mode a question or a wait for a stream that is captured (cuStreamGetId is such a question).
 */
#include "fake_stream.h"
#include "fake_lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPTURES_MAX 1024 /* under way at once */

struct fake_stream {
    unsigned long long id;
    cuuint64_t capture; /* the last it took part in; 0: none yet */
    struct fake_clock clock;
    bool summing;
};

struct capture {
    cuuint64_t id;
    bool open, broken;
    struct fake_graph *graph;
    CUstreamCaptureMode mode;
    pthread_t by;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the captures */
static struct capture captures[CAPTURES_MAX];            /* by id, modulo their number */
static cuuint64_t captures_made;
static _Atomic int captures_open; /* 0: nobody asks for the lock (fake_count) */
static unsigned long long streams_made;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static _Thread_local struct fake_stream per_thread;

_Atomic int fake_forbidden;
static _Atomic int is_child; /* of the process that called cuInit */
_Thread_local bool fake_in_destructor;

/* FAKE_GPU_FORKS: a driver that does not notice. */
static void in_child(void)
{
    is_child = !getenv("FAKE_GPU_FORKS");
}

void fake_start(void)
{
    static atomic_flag started = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&started)) pthread_atfork(NULL, NULL, in_child);
}

CUresult fake_result(const char *name)
{
    const size_t length = strlen(name);
    if (fake_in_destructor) {
        fake_forbidden++;
        return CUDA_ERROR_NOT_PERMITTED;
    }
    if (atomic_load_explicit(&is_child, memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
    for (const char *fail = getenv("FAKE_GPU_FAIL"); fail && *fail; fail += *fail == ',') {
        if (strncmp(fail, name, length) == 0 && fail[length] == '=') {
            int result = atoi(fail + length + 1);
            if (result < 0) raise(-result);
            return (CUresult)result;
        }
        fail += strcspn(fail, ",");
    }
    return CUDA_SUCCESS;
}

static struct fake_stream *stream_of(CUstream stream)
{
    if (stream != CU_STREAM_PER_THREAD) return (struct fake_stream *)stream;
    if (!per_thread.id) per_thread.id = __atomic_add_fetch(&streams_made, 1, __ATOMIC_RELAXED);
    return &per_thread;
}

static bool none_is_open(void)
{
    return atomic_load_explicit(&captures_open, memory_order_relaxed) == 0;
}

/* The capture that the stream takes part in, or NULL. The lock is held. */
static struct capture *capture_of(CUstream stream)
{
    const struct fake_stream *s = stream_of(stream);
    struct capture *c = &captures[s->capture % CAPTURES_MAX];
    return s->capture && c->open && c->id == s->capture ? c : NULL;
}

static bool forbids(const struct capture *c)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (pthread_equal(c->by, pthread_self())) return c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* Break the captures that are in the way, or all. Were there any? */
static bool breaks_captures(bool all)
{
    bool any = false;
    if (none_is_open()) return false;
    fake_lock(&lock);
    for (int i = 0; i < CAPTURES_MAX; i++)
        if (captures[i].open && (all || forbids(&captures[i]))) any = captures[i].broken = true;
    fake_unlock(&lock);
    return any;
}

CUresult fake_safe_result(const char *name)
{
    return breaks_captures(false) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : fake_result(name);
}

CUresult fake_no_capture(const char *name)
{
    return breaks_captures(true) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : fake_result(name);
}

/* The default stream would wait for streams that are captured. */
CUresult fake_enqueue(CUstream stream, const char *name)
{
    if (!stream) return breaks_captures(true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : fake_result(name);
    if (none_is_open()) return fake_result(name);
    fake_lock(&lock);
    const struct capture *c = capture_of(stream);
    bool broken = c && c->broken;
    fake_unlock(&lock);
    return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : fake_result(name);
}

bool fake_is_captured(CUstream stream)
{
    if (none_is_open()) return false;
    fake_lock(&lock);
    bool captured = capture_of(stream);
    fake_unlock(&lock);
    return captured;
}

bool fake_tears(CUstream stream, bool begins)
{
    struct fake_stream *s = stream_of(stream);
    fake_lock(&lock);
    const bool tears = s->summing == begins;
    s->summing = begins;
    fake_unlock(&lock);
    return tears;
}

/* A call about a stream that may not be made while it is captured. */
static CUresult unless_captured(CUstream stream, const char *name)
{
    if (none_is_open()) return fake_result(name);
    fake_lock(&lock);
    struct capture *c = capture_of(stream);
    if (c) c->broken = true;
    fake_unlock(&lock);
    return c ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : fake_result(name);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    struct fake_stream *s = calloc(1, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->id = __atomic_add_fetch(&streams_made, 1, __ATOMIC_RELAXED);
    *stream = (CUstream)(void *)s;
    fake_count(&fake_open, 1);
    return flags == CU_STREAM_NON_BLOCKING ? RESULT : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamDestroy(CUstream stream)
{
    fake_count(&fake_open, -1);
    free((void *)stream);
    return stream ? RESULT : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    *id = stream_of(stream)->id;
    return unless_captured(stream, __func__);
}

#undef cuStreamGetCaptureInfo_v2
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    if (!stream || dependencies || count) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (none_is_open()) return CUDA_SUCCESS;
    fake_lock(&lock);
    const struct capture *c = capture_of(stream);
    *status = !c          ? CU_STREAM_CAPTURE_STATUS_NONE
              : c->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (c && id) *id = c->id;
    if (c && graph) *graph = (CUgraph)(void *)c->graph;
    fake_unlock(&lock);
    return CUDA_SUCCESS;
}

void fake_graph_add(CUstream stream, const struct fake_function *function, const struct fake_launch *launch)
{
    fake_lock(&lock);
    const struct capture *c = capture_of(stream);
    if (c) fake_graph_append(c->graph, function, launch);
    fake_unlock(&lock);
}

int fake_stream_number(CUstream stream)
{
    return (int)(stream_of(stream)->id % FAKE_ORDER_STREAMS);
}

struct fake_clock *fake_stream_clock(CUstream stream)
{
    return &stream_of(stream)->clock;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return RESULT;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = unless_captured(stream, __func__);
    if (result == CUDA_SUCCESS) result = SAFE_RESULT;
    if (result == CUDA_SUCCESS) fake_host_knows(stream);
    return result;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    if (!stream || fake_is_captured(stream)) return CUDA_ERROR_INVALID_VALUE;
    fake_lock(&lock);
    cuuint64_t id = ++captures_made;
    stream_of(stream)->capture = id;
    fake_count(&captures_open, 1);
    captures[id % CAPTURES_MAX] = (struct capture){id, true, false, fake_graph_new(), mode, pthread_self()};
    fake_unlock(&lock);
    return RESULT;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    *graph = NULL;
    if (!stream) return CUDA_ERROR_INVALID_VALUE;
    fake_lock(&lock);
    struct capture *c = capture_of(stream);
    bool broken = c && c->broken;
    struct fake_graph *made = c ? c->graph : NULL;
    if (c) {
        c->open = false;
        fake_count(&captures_open, -1);
    }
    fake_unlock(&lock);
    if (broken) fake_graph_free(made);
    else *graph = (CUgraph)(void *)made;
    return !c ? CUDA_ERROR_INVALID_VALUE : broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : RESULT;
}

void fake_join(void *captured, void *other)
{
    fake_lock(&lock);
    stream_of(other)->capture = stream_of(captured)->capture;
    fake_unlock(&lock);
}
