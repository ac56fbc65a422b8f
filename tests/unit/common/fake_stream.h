/* fake_stream.h — what the files of the fake driver share: streams, captures and failures that tests ask for.
 */
#ifndef GT_FAKE_STREAM_H
#define GT_FAKE_STREAM_H

#include "fake_gpu.h"
#include <cuda.h>
#include <stdatomic.h>

/* What FAKE_GPU_FAIL says of this entry point. */
CUresult fake_result(const char *name);

/* The same of a call that is "potentially unsafe" during a capture: it fails, and breaks the captures that
 * forbid it to this thread. */
CUresult fake_safe_result(const char *name);

/* The same of a call that no capture survives. */
CUresult fake_no_capture(const char *name);

/* The same of work for a stream. */
CUresult fake_enqueue(CUstream stream, const char *name);

bool fake_is_captured(CUstream stream);

/* Counters and captures order nothing between the threads of a program that captures nothing: an order that
 * the driver does not promise would hide the program's races from the thread sanitizer. */
static inline void fake_count(_Atomic int *counter, int change)
{
    atomic_fetch_add_explicit(counter, change, memory_order_relaxed);
}

/* Partial sums are begun, or else added up: is that out of turn on this stream? */
bool fake_tears(CUstream stream, bool begins);

/* cuInit was called in this process: a child of it is told that it has not been. */
void fake_start(void);

/* ---- contexts ---- */

CUcontext fake_current(void); /* of the thread; NULL: none */

/* ---- kernels ---- */

struct fake_function {
    struct fake_module *module;
    bool is_gemm;        /* else gemm_reduce */
    unsigned epilogue;   /* that it was compiled for, as the fake compiler writes it */
    bool pointers;       /* the same: a, b and c are arrays of addresses */
    int operand, result; /* the same: what A and B, and C, bias and source consist of, as in fake_half.h */
};

bool fake_is_loaded(const struct fake_function *function);
void fake_modules_reset(void *context);
CUresult fake_run(const struct fake_function *function, const struct fake_launch *launch);

/* ---- graphs ---- */

struct fake_graph *fake_graph_new(void);
void fake_graph_free(struct fake_graph *graph);

/* To the graph that the stream is captured into. */
void fake_graph_add(CUstream stream, const struct fake_function *function, const struct fake_launch *launch);
void fake_graph_append(struct fake_graph *graph, const struct fake_function *function,
                       const struct fake_launch *launch);
extern _Thread_local bool fake_in_destructor;

/* ---- memory ---- */

bool fake_is_freed(const void *at);
const void *fake_block_of(const void *at); /* the start of the allocation; NULL: none of ours */
void fake_memory_reset(void *context);
void fake_events_reset(void *context);

/* ---- order ---- */

/* An allocation is used by what is now enqueued on the stream. */
void fake_access(CUstream stream, const void *at);
/* Addresses up to there may be used again by anybody. */
void fake_forget(const void *from, size_t bytes);
/* The host has waited for all that was enqueued. */
void fake_host_knows_all(void);
void fake_host_knows(CUstream stream);
/* A stream's place in the order, for fake_order.c alone: a number below FAKE_ORDER_STREAMS. */
#define FAKE_ORDER_STREAMS 1024
int fake_stream_number(CUstream stream);
struct fake_clock {
    unsigned tick[FAKE_ORDER_STREAMS];
};
struct fake_clock *fake_stream_clock(CUstream stream);

#define RESULT      fake_result(__func__)
#define SAFE_RESULT fake_safe_result(__func__)

#endif
