/* capture.h — which problems a program computes, how often, and how long each takes: written by the drop-in
 * cuBLAS (GEMMTUNE_CAPTURE), read by tune --from-capture.
 *
 * Text, a line a problem, the one that takes most of the program's time first:
 *
 *     sgemm:nn:8x6144x4096  # count=120 time_us=31.4
 *
 * time_us is the GPU's time of one call, left out where it is not known. Up to '#' it is a suite (problem.h),
 * so that tune --suite and tune bench read it, too; a line without a count counts once. Knows no GPU.
 */
#ifndef GT_CAPTURE_H
#define GT_CAPTURE_H

#include "problem.h"

struct captured {
    struct problem problem;
    char text[PROBLEM_TEXT_MAX];
    uint64_t count;
    double time_us; /* 0: unknown */
};

struct capture {
    struct captured *at;
    size_t count, room;
};

/* Add to what the capture has of a problem. Errors: E_MEMORY. */
enum status capture_add(struct capture *capture, const struct problem *problem, uint64_t count,
                        double time_us);

/* One entry a problem, by falling weight. Called by the functions below. */
void capture_settle(struct capture *capture);

/* Add what a file holds. E_ABSENT: there is no such file. Errors: E_IO, E_INPUT (with file:line), E_MEMORY.
 */
enum status capture_read(const char *path, struct capture *capture);

/* Add the capture to what the file holds, if it is there: several processes may do so at once, and each waits
 * half a minute for the others at most. Written beside it under a name that cannot be foreseen, then renamed;
 * its owner and mode stay, and a new one is its owner's alone. What is no capture, or no regular file but a
 * link, a device or a pipe, is left as it is. Errors: as of capture_read but E_ABSENT. */
enum status capture_save(const char *path, const struct capture *capture);

/* Microseconds that all calls take together; where the time is not known, roughly what a GPU would need. */
double capture_weight(const struct captured *captured);

void capture_free(struct capture *capture); /* takes a zeroed struct */

#endif
