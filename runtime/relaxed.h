/* relaxed.h — calls that allocate, load or free while this or another thread captures a stream.
 *
 * In the default capture mode the driver refuses such calls and ends the capture; in relaxed mode they happen
 * at once and are no part of it. Querying or waiting for a stream that is itself being captured breaks the
 * capture in this mode, too.
 */
#ifndef GT_RELAXED_H
#define GT_RELAXED_H

#include "device.h"

static inline CUstreamCaptureMode relaxed_begin(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuda.ThreadExchangeStreamCaptureMode(&mode);
    return mode; /* the one before */
}

static inline void relaxed_end(CUstreamCaptureMode before)
{
    cuda.ThreadExchangeStreamCaptureMode(&before);
}

#endif
