/* children_slots.h — the children and their states. Shared by children_start.c (opening and greeting) and
 * children.c (requests and answers). */
#ifndef GT_CHILDREN_SLOTS_H
#define GT_CHILDREN_SLOTS_H

#include "children.h"
#include "pool.h"

#define GREETINGS_MAX 3 /* failed greetings or idle deaths in a row before a GPU is given up */

enum stage { GREETING, READY, AT_WORK, LEAVING /* given up, not yet said */, GONE };

/* A child process and its state in the protocol. */
struct child_slot {
    int child;
    enum stage stage;
    void *tag;
    int failures; /* since its last successful answer */

    struct worker_info info;         /* of a worker */
    char reason[OUTCOME_DETAIL_MAX]; /* why it was given up */

    struct kernel_key kernel; /* of a busy compiler, to repeat the request */
    int retries;
    bool again; /* ask again once greeted */
};

struct children {
    struct pool *pool;
    struct child_slot *compiler, *worker;
    int compilers, workers;
    char nvrtc[CHILDREN_VERSION_MAX];
    bool told_spare; /* that the cache cannot be written */
};

/* The slot of a child of the pool. *compiler: whether it is a compiler or a worker. */
struct child_slot *children_slot(struct children *children, int child, bool *compiler);
/* Sends the greeting; its answer comes like that of any request. Errors: E_MEMORY. */
enum status children_greet(struct children *children, struct child_slot *slot);
/* The same after this end of the child, unless the restarted child has ended as well: each start is greeted
 * once, since the answer to a second greeting would be taken for that to the next request. */
enum status children_greet_again(struct children *children, struct child_slot *slot,
                                 const struct pool_event *end);
/* Reads a worker's description of itself from its answer. Errors: E_GPU (it computes wrongly), those in the
 * answer. */
enum status children_take_hello(struct child_slot *slot, const json_t *answer);

#endif
