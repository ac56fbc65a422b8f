/* route.h — each distinct problem that the program computes, and which way its calls go: to a tuned kernel or
 * on to cuBLAS. Decided at its first call from the winners known for the GPU; a kernel is compiled (or taken
 * from the cache) when a call first needs it.
 */
#ifndef GT_ROUTE_H
#define GT_ROUTE_H

#include "asked.h"
#include "gemmtune.h"
#include "memo.h"

#define ROUTE_SAMPLES 5

enum route_state { ROUTE_PASS, ROUTE_TUNED };

struct route_key {
    const void *context;
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c; /* column-major, as asked */
    int32_t ops;                                                         /* 1: op_a, 2: op_b */
    int32_t alignment;                                                   /* bytes: 4, 8 or 16 */
};

struct route {
    struct memo_entry entry;
    struct route_key key;
    struct problem problem; /* row-major; valid if nameable */
    char text[PROBLEM_TEXT_MAX];
    bool nameable;                     /* the text form can say it, and there is something to compute */
    char why[256];                     /* it goes this way; changes under a lock: route_why */
    atomic_int state;                  /* enum route_state */
    _Atomic(struct gt_plan *) plan[2]; /* scalars on the host, on the device; NULL: not prepared */
    atomic_uint said;                  /* reasons that were told, a bit each */
    _Atomic uint64_t calls, tuned;     /* counted where somebody wants to know */

    /* the recorder's */
    uint64_t saved; /* calls that the file has */
    float sample_us[ROUTE_SAMPLES];
    atomic_int samples;
};

/* How decisions are made; set before the first call. */
struct route_rules {
    bool nearest; /* winners of similar problems count, too */
};
extern struct route_rules route_rules;

/* The route of a call in the current context; decided if it is new. NULL: there is none (no context, operands
 * that no kernel takes, no memory). */
struct route *route_of(const struct asked *asked);

/* The call is in the route's context, with operands aligned as the route's; its sizes are not looked at. */
bool route_is_for(const struct route *route, const struct asked *asked);

/* The tuned kernel, prepared. NULL: not now, because the stream is being captured; or the route has become
 * ROUTE_PASS. */
struct gt_plan *route_plan(struct route *route, bool scalars_on_device, CUstream stream);

/* From now on its calls go to cuBLAS. */
void route_give_up(struct route *route, const char *why);

/* Why it goes the way it goes now. */
#define ROUTE_WHY_MAX 256
void route_why(struct route *route, char why[ROUTE_WHY_MAX]);

/* True while a call on the stream would be recorded into a graph, or would break somebody's recording. */
bool route_is_captured(CUstream stream);

/* The newest; then ->entry.older. */
struct route *route_newest(void);

#endif
