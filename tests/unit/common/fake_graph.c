/* fake_graph.c — the fake driver's graphs: launches that were captured, and user objects, whose destructors
 * run in a thread of the driver's when the last graph, or executable of it, has gone. What is captured is
 * computed at once, and again whenever the graph is launched.
 */
#include "fake_lock.h"
#include "fake_stream.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES_MAX 64
#define OBJECTS_MAX  64

struct user_object {
    _Atomic int references;
    void *of;
    CUhostFn destroy;
};

/* A graph, or an executable one. */
struct fake_graph {
    struct fake_graph *next; /* of all: a test may forget one */
    int launch_count, object_count;
    struct {
        const struct fake_function *function;
        struct fake_launch launch;
    } launches[LAUNCHES_MAX];
    struct user_object *objects[OBJECTS_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the list */
static struct fake_graph *graphs;

static void *run_destructor(void *opaque)
{
    const struct user_object *object = opaque;
    fake_in_destructor = true;
    object->destroy(object->of);
    return NULL;
}

static void release(struct user_object *object)
{
    pthread_t thread;
    if (--object->references > 0) return;
    if (pthread_create(&thread, NULL, run_destructor, object) == 0) pthread_join(thread, NULL);
    free(object);
}

struct fake_graph *fake_graph_new(void)
{
    struct fake_graph *graph = calloc(1, sizeof *graph);
    if (!graph) abort();
    fake_lock(&lock);
    graph->next = graphs;
    graphs = graph;
    fake_unlock(&lock);
    return graph;
}

void fake_graph_free(struct fake_graph *graph)
{
    fake_lock(&lock);
    struct fake_graph **link = &graphs;
    while (*link != graph) link = &(*link)->next;
    *link = graph->next;
    fake_unlock(&lock);
    for (int i = 0; i < graph->object_count; i++) release(graph->objects[i]);
    free(graph);
}

void fake_graph_append(struct fake_graph *graph, const struct fake_function *function,
                       const struct fake_launch *launch)
{
    if (graph->launch_count == LAUNCHES_MAX) return;
    graph->launches[graph->launch_count].function = function;
    graph->launches[graph->launch_count++].launch = *launch;
}

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
    const struct fake_graph *from = (const struct fake_graph *)graph;
    if (!graph || flags) return CUDA_ERROR_INVALID_VALUE;
    struct fake_graph *made = fake_graph_new(), *next = made->next;
    *made = *from;
    made->next = next;
    for (int i = 0; i < made->object_count; i++) made->objects[i]->references++;
    *executable = (CUgraphExec)(void *)made;
    return RESULT;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
    const struct fake_graph *graph = (const struct fake_graph *)executable;
    CUresult result = fake_enqueue(stream, __func__);
    for (int i = 0; i < graph->launch_count && result == CUDA_SUCCESS; i++)
        result = fake_run(graph->launches[i].function, &graph->launches[i].launch);
    return result;
}

/* As CUDA's runtime finds them. */
#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    (void)version, (void)flags, (void)found;
    *address = dlsym(RTLD_DEFAULT, name);
    if (!*address && strcmp(name, "cuGraphInstantiate") == 0)
        *address = dlsym(RTLD_DEFAULT, "cuGraphInstantiateWithFlags");
    return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGraphExecDestroy(CUgraphExec executable)
{
    if (!executable) return CUDA_ERROR_INVALID_VALUE;
    fake_graph_free((struct fake_graph *)executable);
    return RESULT;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    fake_graph_free((struct fake_graph *)graph);
    return RESULT;
}

CUresult cuUserObjectCreate(CUuserObject *made, void *of, CUhostFn destroy, unsigned int references,
                            unsigned int flags)
{
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC || references == 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    struct user_object *object = calloc(1, sizeof *object);
    if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
    object->references = (int)references;
    object->of = of;
    object->destroy = destroy;
    *made = (CUuserObject)(void *)object;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    if (!object || count != 1) return CUDA_ERROR_INVALID_VALUE;
    release((struct user_object *)object);
    return RESULT;
}

/* Only as we call it: the caller's reference becomes the graph's. */
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    struct fake_graph *g = (struct fake_graph *)graph;
    if (!graph || !object || count != 1 || flags != CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = RESULT;
    if (result != CUDA_SUCCESS) return result;
    if (g->object_count == OBJECTS_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    g->objects[g->object_count++] = (struct user_object *)object;
    return CUDA_SUCCESS;
}
