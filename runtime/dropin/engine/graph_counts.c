#include "graph_counts.h"

#include "device.h"
#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>

/* Beyond these, products of graphs count once. */
enum { DRAWINGS_MAX = 1024, EXECUTABLES_BITS = 12, EXECUTABLES_MAX = 1 << EXECUTABLES_BITS };

struct product {
    struct record *record;
    bool tuned;
    uint64_t count;
};

/* What was captured into one graph. */
struct drawing {
    cuuint64_t capture; /* its number, which no other capture has */
    struct product *products;
    size_t count, room;
    bool launched;
    int references; /* of graphs and executables */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    CUgraph graph;
    struct drawing *of;
} drawings[DRAWINGS_MAX];
static int drawing_count;
static struct {
    CUgraphExec executable; /* a later one may have the same address; NULL: free */
    struct drawing *of;     /* NULL: it has no products */
} executables[EXECUTABLES_MAX];

static void let_go(struct drawing *d)
{
    if (!d || --d->references > 0) return;
    free(d->products);
    free(d);
}

/* The place of a graph; -1: it has none. */
static int place_of(CUgraph graph)
{
    for (int i = 0; i < drawing_count; i++)
        if (drawings[i].graph == graph) return i;
    return -1;
}

/* NULL: no room, or no memory. */
static struct drawing *drawing_of(CUgraph graph, cuuint64_t capture)
{
    int place = place_of(graph);
    if (place < 0) {
        if (drawing_count == DRAWINGS_MAX) return NULL;
        place = drawing_count++;
        drawings[place].graph = graph;
        drawings[place].of = NULL;
    }
    struct drawing *d = drawings[place].of;
    if (d && d->capture == capture) return d;
    let_go(d);
    d = calloc(1, sizeof *d);
    if (d) *d = (struct drawing){.capture = capture, .references = 1};
    drawings[place].of = d;
    return d;
}

static void add_product(struct drawing *d, struct record *record, bool tuned)
{
    for (size_t i = d->count; i-- > 0;)
        if (d->products[i].record == record && d->products[i].tuned == tuned) {
            d->products[i].count++;
            return;
        }
    if (d->count == d->room) {
        const size_t room = d->room ? 2 * d->room : 16;
        struct product *grown = realloc(d->products, room * sizeof *grown);
        if (!grown) return;
        d->products = grown;
        d->room = room;
    }
    d->products[d->count++] = (struct product){record, tuned, 1};
}

void graph_counts_add(struct record *record, bool tuned, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t capture = 0;
    CUgraph graph = NULL;
    if (cuda.StreamGetCaptureInfo(stream, &status, &capture, &graph, NULL, NULL) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE || !graph)
        return;
    pthread_mutex_lock(&lock);
    struct drawing *d = drawing_of(graph, capture);
    if (d) add_product(d, record, tuned);
    pthread_mutex_unlock(&lock);
}

/* The place of an executable, or a free one; -1: there is none. */
static int slot_of(CUgraphExec executable)
{
    const uint64_t hash = (uint64_t)(uintptr_t)executable * 0x9e3779b97f4a7c15U >> (64 - EXECUTABLES_BITS);
    for (int i = 0; i < EXECUTABLES_MAX; i++) {
        const int slot = ((int)hash + i) % EXECUTABLES_MAX;
        if (!executables[slot].executable || executables[slot].executable == executable) return slot;
    }
    return -1;
}

void graph_counts_gone(CUgraph graph)
{
    if (!recorder_on()) return;
    pthread_mutex_lock(&lock);
    const int place = place_of(graph);
    if (place >= 0) {
        let_go(drawings[place].of);
        drawings[place] = drawings[--drawing_count];
    }
    pthread_mutex_unlock(&lock);
}

void graph_counts_made(CUgraphExec executable, CUgraph graph)
{
    if (!recorder_on()) return;
    pthread_mutex_lock(&lock);
    const int place = place_of(graph), slot = slot_of(executable);
    if (slot >= 0 && (executables[slot].executable || place >= 0)) {
        let_go(executables[slot].of);
        executables[slot].executable = executable;
        executables[slot].of = place < 0 ? NULL : drawings[place].of;
        if (executables[slot].of) executables[slot].of->references++;
    }
    pthread_mutex_unlock(&lock);
}

void graph_counts_launched(CUgraphExec executable)
{
    if (!recorder_on()) return;
    pthread_mutex_lock(&lock);
    const int slot = slot_of(executable);
    struct drawing *d = slot >= 0 && executables[slot].executable ? executables[slot].of : NULL;
    for (size_t i = 0; d && d->launched && i < d->count; i++) {
        const struct product *p = &d->products[i];
        atomic_fetch_add_explicit(&p->record->calls, p->count, memory_order_relaxed);
        if (p->tuned) atomic_fetch_add_explicit(&p->record->tuned, p->count, memory_order_relaxed);
    }
    if (d) d->launched = true;
    pthread_mutex_unlock(&lock);
}
