/* fake_stream.h — what the files of the fake driver share: streams, captures and failures that tests ask for.
 */
#ifndef GT_FAKE_STREAM_H
#define GT_FAKE_STREAM_H

#include "fake_gpu.h"
#include <cuda.h>

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

#define RESULT      fake_result(__func__)
#define SAFE_RESULT fake_safe_result(__func__)

#endif
