/* where.h — the GPUs that a run works on: of this machine, or none and a description to predict for. */
#ifndef GT_WHERE_H
#define GT_WHERE_H

#include "children.h"
#include "tune_options.h"

struct where {
    struct children *children; /* owned: children_close */
    int workers[CHILDREN_WORKERS_MAX];
    int count;
    struct gpu described;
    bool predict;
};

/* Starts the children for the GPUs that the options mean, and of compilers (o->compilers) at most what this
 * machine can use. A GPU that is described but not here is predicted for, but not with o->refresh. Errors:
 * E_GPU (none is here), E_INPUT (a name that is neither here nor described), those of children_open. */
enum status where_open(struct tune_options *o, struct where *where);

/* The GPU of the i-th worker; *again: one before it is of the same model. */
const struct gpu *where_gpu(const struct where *where, int i, bool *again);

#endif
