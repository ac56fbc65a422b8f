/* route.h — each distinct problem of the program, and whether its calls go to a tuned kernel or to cuBLAS.
 * Decided at its first call from the winners known for the GPU; a kernel is compiled (or read from the cache)
 * when a call first needs it.
 *
 * A problem without a winner has no route, and its calls take no lock: one lookup in a set says that there is
 * no winner. If all problems are logged or captured they have routes, too, until the table is full.
 */
#ifndef GT_ROUTE_H
#define GT_ROUTE_H

#include "memo.h"
#include "tuned.h"

#define ROUTE_SAMPLES 5
#define ROUTE_WHY_MAX TUNED_WHY_MAX

enum route_state {
    ROUTE_PASS,
    ROUTE_TUNED,
    ROUTE_LATER /* it passes for a number of calls: something failed that may do another time */
};

struct route_key {
    uint64_t context;                                                    /* contexts.h */
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c; /* column-major, as asked */
    int32_t flags;     /* 1: op_a, 2: op_b, 4: it adds to C */
    int32_t alignment; /* bytes: 4, 8 or 16 */
};

struct route {
    struct memo_entry entry;
    struct route_key key;
    struct problem
        problem; /* row-major; valid if nameable. beta 1 stands for any but 0, alpha for any at all */
    char text[PROBLEM_TEXT_MAX];
    bool nameable;                     /* the text form can say it, and there is something to compute */
    char why[ROUTE_WHY_MAX];           /* it goes this way; changes under a lock: route_why */
    atomic_int state;                  /* enum route_state */
    atomic_int calls_to_pass;          /* ROUTE_LATER: until it is tried again */
    _Atomic(struct gt_plan *) plan[2]; /* scalars on the host, on the device; NULL: not prepared */
    atomic_uint said;                  /* reasons that were told, a bit each */
    _Atomic uint64_t calls, tuned;     /* counted where somebody wants to know */

    /* under a lock of route.c's */
    bool preparing; /* a thread does */
    int failures;   /* of those that may do another time */

    /* the recorder's */
    uint64_t saved, seen; /* calls that the file has; that the save under way has seen */
    float sample_us[ROUTE_SAMPLES];
    atomic_int samples;
};

/* How decisions are made; set before the first call. */
struct route_rules {
    bool nearest;      /* winners of similar problems count, too */
    bool all;          /* problems without a winner have routes, too */
    size_t routes_max; /* 0: MEMO_ENTRIES_MAX */
};
extern struct route_rules route_rules;

/* The route of a call in the current context; decided if it is new. adds: beta is on the host, and not 0.
 * NULL: there is none, and the call is cuBLAS's (no winner is known, no context, operands that no kernel
 * takes, no room). */
struct route *route_of(const struct asked *asked, bool adds);

/* Where a call comes from, as far as which problems have winners depends on it; 0: nothing can be known. */
uint64_t route_place(const struct asked *asked);

/* The call goes to a tuned kernel, or may. */
static inline bool route_is_tuned(const struct route *route)
{
    return atomic_load_explicit(&route->state, memory_order_relaxed) != ROUTE_PASS;
}

/* Of such a one: false while it passes because something failed. Counts this call. */
bool route_is_due(struct route *route);

/* The tuned kernel, prepared. NULL: not now, because the stream is being captured; or the route is
 * ROUTE_TUNED no more. Threads that want the same kernel meanwhile wait for it; a captured stream's never do.
 */
struct gt_plan *route_plan(struct route *route, bool scalars_on_device, CUstream stream);

/* From now on its calls go to cuBLAS, for good or (TUNED_LATER) for a number of calls. */
void route_give_up(struct route *route, enum tuned_result result, const char *why);

/* Why it goes the way it goes now. */
void route_why(struct route *route, char why[ROUTE_WHY_MAX]);

/* True while a call on the stream would be recorded into a graph, or would break somebody's recording. */
bool route_is_captured(CUstream stream);

/* The newest; then ->entry.older. */
struct route *route_newest(void);

#endif
