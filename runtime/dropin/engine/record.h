/* record.h — what the drop-in keeps of each distinct problem of the program: its plan (instead.h), which says
 * what computes its calls, and counts for the log and the capture. It is found in the library's table of
 * plans.
 *
 * A problem without a winner has no record, and its calls take no lock: one lookup in a set says that there
 * is no winner. If all problems are logged or captured they have records, too, until the table is full.
 */
#ifndef GT_RECORD_H
#define GT_RECORD_H

#include "blas_request.h"
#include "gpu_context.h"
#include "instead.h"
#include "verdicts.h"

#define TIMING_SAMPLES 5

/* The GPU's time of a few early calls. */
struct timing {
    float us[TIMING_SAMPLES];
    atomic_int count;
};

struct record {
    struct instead instead;
    struct record *older;        /* the one that was made before it */
    char text[PROBLEM_TEXT_MAX]; /* of the problem; "" where it is unnamed */
    atomic_uint said;            /* reasons that were logged, one bit each */
    _Atomic uint64_t calls;      /* counted only for the log or a capture */
    _Atomic uint64_t tuned;      /* calls that its kernel has computed; those by shortcuts come later */

    /* used by the recorder */
    uint64_t saved, seen; /* number of calls in the file; at the save in progress */
    struct timing timing;
};

/* Problems without a winner have records, too. Set before the first call. */
extern bool record_all;

/* Keys that nothing of ours computes, as far as the winners are known (dropin_handle_hash). */
extern struct verdicts records_none;

/* The record of a call in the current context; made if it is new. adds: beta is on the host, and not 0. NULL:
 * there is none, and cuBLAS computes the call (no winner, operands that no kernel takes, no room). */
struct record *record_find(const struct blas_request *request, struct gpu_context *context, bool adds);

/* The same, after a quick check that spares programs of another type than the winners' the rest. context: may
 * be NULL. */
static inline struct record *record_of(const struct blas_request *request, struct gpu_context *context,
                                       bool adds)
{
    const bool may_be = context && (record_all || listed_of(context)->types & GEMM_TYPE_BIT(request->type));
    return may_be ? record_find(request, context, adds) : NULL;
}

/* Alignment of the operands in bytes; 0: no kernel takes them. Of arrays of pointers only they themselves can
 * be looked at: their matrices are aligned to an element. */
static inline int record_alignment(const struct blas_request *request)
{
    const uintptr_t bits =
        (uintptr_t)request->a | (uintptr_t)request->b | (uintptr_t)request->c | (uintptr_t)request->source;
    if (request->pointers) return bits & 7 ? 0 : element_bytes(gemm_type_row(request->type)->a);
    return bits & 1 ? 0 : bits & 3 ? 2 : bits & 7 ? 4 : bits & 15 ? 8 : 16;
}

/* The newest; the others by `older`. */
struct record *record_newest(void);

#endif
