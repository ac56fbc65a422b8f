/* recorder.h — records which problems the program computes, how often, and the GPU time of a call
 * (capture.h): every half minute, and when the program ends. Only if GEMMTUNE_CAPTURE is set.
 */
#ifndef GT_RECORDER_H
#define GT_RECORDER_H

#include "record.h"

/* Starts recording. path: copied; a relative path is resolved now. seconds: interval between saves; 0: only
 * at the end. */
void recorder_start(const char *path, double seconds);
bool recorder_on(void);

/* Call it before a call is enqueued: counts it, and times a few calls of each problem. NULL: this one is not
 * timed. */
struct sample;
struct sample *recorder_begin(struct record *record, CUstream stream);
void recorder_end(struct sample *sample, CUstream stream); /* call it after enqueueing; takes NULL */

/* The same for a call that is no problem of the capture. why: a text that stays. stream NULL: it is counted
 * only. */
struct sample *recorder_leave_out(const char *why, const CUstream *stream);

/* The n-th reason; false: there are fewer. */
struct left_out {
    const char *why;
    uint64_t calls;
    double time_us; /* of a call; 0: not known */
};
bool recorder_left_out(int n, struct left_out *left_out);

double recorder_time_us(const struct record *record); /* of a call; 0: not known */

/* Saves now, without blocking calls. ends: it is the last time. */
void recorder_save(bool ends);

/* For a forked child: it has neither the thread nor a GPU, and its parent saves the inherited data. */
void recorder_forget(void);

#endif
