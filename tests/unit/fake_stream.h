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

#define RESULT      fake_result(__func__)
#define SAFE_RESULT fake_safe_result(__func__)

#endif
