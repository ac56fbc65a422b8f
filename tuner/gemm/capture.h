/* capture.h — which problems a program computes, how often, and how long each takes: written by the drop-in
 * cuBLAS (GEMMTUNE_CAPTURE), read by tune --from-capture.
 *
 * Text with one line per problem; the problem that takes most of the program's time comes first:
 *
 *     sgemm:nn:8x6144x4096  # count=120 time_us=31.4
 *
 * time_us is the GPU's time of one call, left out where it is not known. Calls that are no problem of it are
 * counted by the reason:
 *
 *     # left out: count=12 its math mode allows less than strict FP32
 *
 * Up to '#' it is a suite (problem.h), so that tune --suite and tune bench read it, too; a line without a
 * count counts once. Knows no GPU.
 */
#ifndef GT_CAPTURE_H
#define GT_CAPTURE_H

#include "problem.h"
#include <limits.h>

struct captured {
    struct problem problem;
    char text[PROBLEM_TEXT_MAX];
    uint64_t count;
    double time_us; /* 0: unknown */
};

#define CAPTURE_REASONS_MAX 32

struct capture {
    struct captured *at;
    size_t count, room;
    struct {
        char why[120];
        uint64_t count;
    } left_out[CAPTURE_REASONS_MAX];
    int reasons;
};

/* Adds calls of a problem. Errors: E_MEMORY. */
enum status capture_add(struct capture *capture, const struct problem *problem, uint64_t count,
                        double time_us);

/* Adds calls that are no problem of the capture. A reason is cut to its room; those after
 * CAPTURE_REASONS_MAX - 1 others are counted as one. */
void capture_leave_out(struct capture *capture, const char *why, uint64_t count);

/* Merges entries to one per problem, and sorts them by falling weight. Called by the functions below. */
void capture_settle(struct capture *capture);

/* Adds the content of a file, and of what capture_save_beside has put beside it. E_ABSENT: there is neither.
 * Errors: E_IO, E_INPUT (with file:line), E_MEMORY. */
enum status capture_read(const char *path, struct capture *capture);

/* Adds the capture to the content of the file, if it exists. Several processes may do so at once; each waits
 * at most 0.3 seconds for the others. The result is written beside the file under an unpredictable name, then
 * renamed; what a writer that was killed has left there is removed after an hour. Owner and mode of the file
 * are kept; a new file is accessible to its owner only. A file that is not a capture, and anything but a
 * regular file (a link, a device, a pipe), is left as it is. Errors: E_BUSY (another process holds the file's
 * lock: nothing is written), and those of capture_read except E_ABSENT. */
enum status capture_save(const char *path, const struct capture *capture);

/* For a program that ends and cannot wait: writes the capture to a new file, PATH.part-NUMBER, whose name it
 * returns. The next save and every read of PATH take it in. Errors: E_IO, E_MEMORY. */
enum status capture_save_beside(const char *path, const struct capture *capture, char file[PATH_MAX]);

/* How many such files lie beside it. */
int capture_parts(const char *path);

/* Time of all calls in microseconds; where the time of a call is unknown, a rough estimate for a GPU. */
double capture_weight(const struct captured *captured);

void capture_free(struct capture *capture); /* takes a zeroed struct */

#endif
