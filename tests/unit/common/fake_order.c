/* fake_order.c — what happens before what on the fake device: events, and a clock for each stream that counts
 * what it has seen of the others (vector clocks), so that memory which two streams use without order is
 * noticed. The host counts as an observer: what it has waited for is before all that it enqueues later.
 *
 * Events with times need FAKE_GPU_EVENTS: 10 us pass from each recording of one to the next.
 */
#include "fake_lock.h"
#include "fake_stream.h"

#include <stdlib.h>

#define USES_MAX 512

_Atomic int fake_overlaps, fake_records, fake_waits;
int fake_busy;

struct fake_event {
    struct fake_event *next; /* of all */
    CUcontext context;
    int recorded; /* which recording of all; 0: none yet */
    struct fake_clock clock;
};

struct use {
    const char *at;
    int stream;
    unsigned tick;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all below, and the streams' clocks */
static struct use uses[USES_MAX];
static int use_count;
static struct fake_clock host, ticks; /* ticks: the last of each stream */
static int recordings;
static struct fake_event *events;

static void join(struct fake_clock *to, const struct fake_clock *from)
{
    for (int i = 0; i < FAKE_ORDER_STREAMS; i++)
        if (from->tick[i] > to->tick[i]) to->tick[i] = from->tick[i];
}

void fake_access(CUstream stream, const void *address)
{
    const void *at = fake_block_of(address);
    if (!at) return;
    fake_lock(&lock);
    struct fake_clock *clock = fake_stream_clock(stream);
    const int own = fake_stream_number(stream);
    join(clock, &host);
    int kept = 0;
    for (int i = 0; i < use_count; i++) {
        const struct use *u = &uses[i];
        const bool same = u->at == at;
        if (same && clock->tick[u->stream] < u->tick) fake_overlaps++;
        if (!same) uses[kept++] = *u;
    }
    use_count = kept < USES_MAX ? kept : USES_MAX - 1;
    clock->tick[own] = ++ticks.tick[own];
    uses[use_count++] = (struct use){at, own, ticks.tick[own]};
    fake_unlock(&lock);
}

void fake_forget(const void *from, size_t bytes)
{
    fake_lock(&lock);
    int kept = 0;
    for (int i = 0; i < use_count; i++)
        if (uses[i].at < (const char *)from || uses[i].at >= (const char *)from + bytes)
            uses[kept++] = uses[i];
    use_count = kept;
    fake_unlock(&lock);
}

void fake_host_knows_all(void)
{
    fake_lock(&lock);
    host = ticks;
    fake_unlock(&lock);
}

void fake_host_knows(CUstream stream)
{
    fake_lock(&lock);
    join(&host, fake_stream_clock(stream));
    fake_unlock(&lock);
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    if (!(flags & CU_EVENT_DISABLE_TIMING) && !getenv("FAKE_GPU_EVENTS")) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    struct fake_event *e = calloc(1, sizeof *e);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    cuCtxGetCurrent(&e->context);
    fake_lock(&lock);
    e->next = events;
    events = e;
    fake_unlock(&lock);
    *event = (CUevent)(void *)e;
    fake_count(&fake_open, 1);
    return CUDA_SUCCESS;
}

/* The lock is held. */
static void free_event(struct fake_event **link)
{
    struct fake_event *e = *link;
    *link = e->next;
    free(e);
    fake_count(&fake_open, -1);
}

CUresult cuEventDestroy(CUevent event)
{
    bool found = false;
    fake_lock(&lock);
    for (struct fake_event **link = &events; *link; link = &(*link)->next)
        if (*link == (struct fake_event *)event) {
            free_event(link);
            found = true;
            break;
        }
    fake_unlock(&lock);
    return found ? RESULT : CUDA_ERROR_INVALID_HANDLE;
}

void fake_events_reset(void *context)
{
    fake_lock(&lock);
    for (struct fake_event **link = &events; *link;)
        if ((*link)->context == (CUcontext)context) free_event(link);
        else link = &(*link)->next;
    fake_unlock(&lock);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    struct fake_event *e = (struct fake_event *)event;
    if (!event || !stream) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    fake_lock(&lock);
    e->recorded = ++recordings;
    e->clock = *fake_stream_clock(stream);
    fake_unlock(&lock);
    fake_count(&fake_records, 1);
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    const struct fake_event *e = (const struct fake_event *)event;
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = SAFE_RESULT;
    if (result != CUDA_SUCCESS) return result;
    fake_lock(&lock);
    const bool done = !e->recorded || !fake_busy;
    if (done) join(&host, &e->clock);
    fake_unlock(&lock);
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    const struct fake_event *e = (const struct fake_event *)event;
    if (!event || !stream || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    fake_lock(&lock);
    join(fake_stream_clock(stream), &e->clock);
    fake_unlock(&lock);
    fake_count(&fake_waits, 1);
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    fake_lock(&lock);
    join(&host, &((const struct fake_event *)event)->clock);
    fake_unlock(&lock);
    return RESULT;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    const struct fake_event *a = (const struct fake_event *)start, *b = (const struct fake_event *)end;
    if (!a || !b || !a->recorded || !b->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *ms = 0.01f * (float)(b->recorded - a->recorded);
    return RESULT;
}
