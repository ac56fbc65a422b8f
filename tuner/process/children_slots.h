/* children_slots.h — what the children are to the tuner, each in its slot. What children_start.c (opening and
 * greeting) and children.c (requests and answers) share.
 */
#ifndef GT_CHILDREN_SLOTS_H
#define GT_CHILDREN_SLOTS_H

#include "children.h"
#include "pool.h"

#define GREETINGS_MAX 3 /* failed greetings or idle deaths in a row before a GPU is given up */

enum stage { GREETING, READY, AT_WORK, LEAVING /* given up, not yet said */, GONE };

/* A child, seen as what it does for us. */
struct child_slot {
    int child;
    enum stage stage;
    void *tag;
    int failures; /* since it last did what it was asked */

    struct worker_info info;         /* of a worker */
    char reason[OUTCOME_DETAIL_MAX]; /* why it was given up */

    struct kernel_key kernel; /* of a compiler at work, to ask again */
    int retries;
    bool again; /* ask again once greeted */
};

struct children {
    struct pool *pool;
    struct child_slot *compiler, *worker;
    int compilers, workers;
    char nvrtc[CHILDREN_VERSION_MAX];
};

/* The slot of a child of the pool. *compiler: which of the two it is. */
struct child_slot *children_slot(struct children *children, int child, bool *compiler);
/* Say hello: its answer comes as that of any request. Errors: E_MEMORY. */
enum status children_greet(struct children *children, struct child_slot *slot);
/* What a worker says of itself in its answer. Errors: E_GPU (it computes wrongly), the answer's own. */
enum status children_take_hello(struct child_slot *slot, const json_t *answer);

#endif
