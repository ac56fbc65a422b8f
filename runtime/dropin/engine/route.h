/* route.h — each distinct problem of the program, and whether its calls go to a tuned kernel or to cuBLAS.
 * Decided at its first call from the winners known for the GPU; a kernel is loaded when a call first needs
 * it. One that must be compiled is, in the background, while calls go to cuBLAS (or wait: route_rules.wait).
 *
 * A problem without a winner has no route, and its calls take no lock: one lookup in a set says that there is
 * no winner. If all problems are logged or captured they have routes, too, until the table is full.
 */
#ifndef GT_ROUTE_H
#define GT_ROUTE_H

#include "memo.h"
#include "overlap.h"
#include "tuned.h"

#define TIMING_SAMPLES 5
#define ROUTE_WHY_MAX  TUNED_WHY_MAX

enum route_state {
    ROUTE_PASS,
    ROUTE_TUNED,
    ROUTE_LATER /* passes for a number of calls after a failure that may be temporary */
};

struct route_key {
    uint64_t context;                                                    /* contexts.h */
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c; /* column-major, as in the call */
    int64_t stride_bias;
    int32_t
        flags; /* 1: op_a, 2: op_b, 4: it adds to C, 8: pointers; 16 times the type, 256 times the epilogue */
    int32_t alignment; /* bytes: 2, 4, 8 or 16 */
};

/* The GPU's time of a few early calls. */
struct timing {
    float us[TIMING_SAMPLES];
    atomic_int count;
};

struct route {
    struct memo_entry entry;
    struct route_key key;
    struct problem
        problem; /* row-major; valid unless unnamed. beta 1 stands for any value but 0, alpha for any value */
    struct extents extents; /* the same */
    char text[PROBLEM_TEXT_MAX];
    const char *unnamed;               /* why it is no problem of ours; NULL: it is one */
    char why[ROUTE_WHY_MAX];           /* of its present state; changes under a lock: route_why */
    char config[CONFIG_TEXT_MAX];      /* of its plans; "": not prepared yet; used by who prepares */
    const char *family;                /* of its winner; NULL: it has none */
    double ratio, time_us;             /* change under a lock: route_speeds */
    bool rival_won;                    /* cuBLAS was measured to be as fast as any kernel */
    atomic_bool by_library;            /* its winner is an algorithm of cublasLt */
    atomic_int state;                  /* enum route_state */
    atomic_int calls_to_pass;          /* ROUTE_LATER: calls until the next attempt */
    _Atomic(struct gt_plan *) plan[2]; /* scalars on the host, on the device; NULL: not prepared */
    atomic_uint said;                  /* reasons that were logged, one bit each */
    _Atomic uint64_t calls;            /* counted only for the log or a capture */
    _Atomic uint64_t tuned;            /* calls that its kernel has computed; those by shortcuts come later */

    atomic_bool compiling; /* in the background; then it is preparing, too */

    /* protected by a lock of route.c */
    bool preparing;  /* a thread prepares its kernel */
    bool again;      /* new winners came meanwhile: it must be decided again */
    bool for_device; /* compiling: for scalars on the device */
    int failures;    /* number of temporary failures */

    /* used by the recorder */
    uint64_t saved, seen; /* number of calls in the file; at the save in progress */
    struct timing timing;
};

/* Changes with every change of what computes a route's calls. */
unsigned route_generation(void);

/* How decisions are made; set before the first call. */
struct route_rules {
    bool nearest;      /* also use winners of similar problems */
    bool wait;         /* calls wait for a kernel that must be compiled */
    bool all;          /* problems without a winner have routes, too */
    size_t routes_max; /* 0: MEMO_ENTRIES_MAX */
};
extern struct route_rules route_rules;

/* The route of a call in the current context; decided if it is new. adds: beta is on the host, and not 0.
 * NULL: there is no route, and cuBLAS computes the call (no winner, no context, operands that no kernel
 * takes, no room). */
struct route *route_of(const struct blas_request *request, bool adds);

/* Identifies what determines which problems have winners: context and alignment; 0: no answer is possible. */
uint64_t route_place(const struct blas_request *request);

/* Bit i: winners may exist there, of some problems, with the epilogue of code i, or of type i. */
uint64_t route_epilogues(uint64_t place);
unsigned route_types(uint64_t place);

/* The call goes to a tuned kernel, or may do so. */
static inline bool route_is_tuned(const struct route *route)
{
    return atomic_load_explicit(&route->state, memory_order_relaxed) != ROUTE_PASS;
}

/* For such a route: false while it passes because of a failure. Counts this call. */
bool route_is_due(struct route *route);

/* The tuned kernel, prepared. NULL: not now, because it was not asked for before the stream was captured,
 * because it is being compiled in the background, or because the route is no longer ROUTE_TUNED. Threads that
 * need the same kernel meanwhile wait for it if it is not compiled or route_rules.wait is set. A captured
 * stream waits for what is being compiled. */
struct gt_plan *route_plan(struct route *route, bool scalars_on_device, CUstream stream);

/* Its kernel is being compiled in the background. */
static inline bool route_is_compiling(const struct route *route)
{
    return atomic_load_explicit(&route->compiling, memory_order_relaxed);
}

/* The route's calls go to cuBLAS from now on, for good or (TUNED_LATER) for a number of calls. */
void route_give_up(struct route *route, enum tuned_result result, const char *why);

/* cuBLAS's time over that of its winner, and the winner's in microseconds; 0: unknown. */
void route_speeds(struct route *route, double *ratio, double *time_us);

/* The reason for its present state. */
void route_why(struct route *route, char why[ROUTE_WHY_MAX]);

/* True while a call on the stream would be recorded into a graph, or would break a capture. */
bool route_is_captured(CUstream stream);

/* Decides again, from winners that were read again; what is faster now is prepared here, and then used by the
 * calls that follow. For one thread. */
void routes_renew(void);

/* The newest; older ones by ->entry.older. */
struct route *route_newest(void);

#endif
