#include "graph_hold.h"

#include <stdatomic.h>
#include <stdlib.h>

struct graph_hold {
    atomic_int owners; /* the graph's side and ours */
    atomic_bool over;
};

void graph_hold_free(struct graph_hold *hold)
{
    if (hold && atomic_fetch_sub(&hold->owners, 1) == 1) free(hold);
}

static void CUDA_CB graph_is_gone(void *opaque)
{
    struct graph_hold *hold = opaque;
    atomic_store(&hold->over, true);
    graph_hold_free(hold);
}

enum status graph_hold_make(CUgraph graph, struct graph_hold **out)
{
    struct graph_hold *hold = calloc(1, sizeof *hold);
    CUuserObject object;
    if (!hold) return fail(E_MEMORY, "out of memory in a capture");
    atomic_init(&hold->owners, 2);
    atomic_init(&hold->over, false);
    enum status st = device_check(
        cuda.UserObjectCreate(&object, hold, graph_is_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "make a user object for a graph");
    if (st) {
        free(hold);
        return st;
    }
    CUresult result = cuda.GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result == CUDA_SUCCESS) {
        *out = hold;
        return OK;
    }
    cuda.UserObjectRelease(object, 1); /* calls the destructor */
    graph_hold_free(hold);
    return device_check(result, "give a graph a user object");
}

bool graph_hold_is_over(const struct graph_hold *hold)
{
    return atomic_load(&hold->over);
}
