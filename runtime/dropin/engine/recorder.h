/* recorder.h — records which problems the program computes, how often, and the GPU time of a call
 * (capture.h): every half minute, and when the program ends. Only if GEMMTUNE_CAPTURE is set.
 */
#ifndef GT_RECORDER_H
#define GT_RECORDER_H

#include "route.h"

/* From now on. path: copied; a relative one is meant from the folder that is current now. seconds: between
 * two savings; 0: at the end only. */
void recorder_start(const char *path, double seconds);
bool recorder_on(void);

/* A call is about to be enqueued: count it, and time a few of each problem. NULL: this one is not timed. */
struct sample;
struct sample *recorder_begin(struct route *route, CUstream stream);
void recorder_end(struct sample *sample, CUstream stream); /* it has been enqueued; takes NULL */

/* Save now. Calls are not held up by that. */
void recorder_save(void);

/* In a forked child: it has neither the thread nor a GPU, and what it inherited is its parent's to save. */
void recorder_forget(void);

#endif
