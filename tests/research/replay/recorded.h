/* recorded.h — results files of auto-tuners: T4, and Kernel Tuner's cache files, complete or truncated. For
 * any kernel: the meaning of a configuration is not known here.
 */
#ifndef GT_RECORDED_H
#define GT_RECORDED_H

#include "status.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* T4's invalidity. */
enum recorded_verdict {
    RECORDED_CORRECT,
    RECORDED_CORRECTNESS,
    RECORDED_CONSTRAINTS,
    RECORDED_COMPILE,
    RECORDED_RUNTIME,
    RECORDED_TIMEOUT,
    RECORDED_VERDICTS
};
const char *recorded_verdict_name(enum recorded_verdict verdict);

enum recorded_format { RECORDED_UNKNOWN, RECORDED_T4, RECORDED_CACHE };

/* One configuration. References belong to the file's reader. */
struct recorded_row {
    json_t *configuration; /* object: parameter -> value */
    enum recorded_verdict verdict;
    double time_ms;         /* 0 unless correct */
    json_t *runtimes;       /* array, in the file's unit; may be NULL */
    double compile_ms;      /* 0: not told */
    const char *timestamp;  /* "" if not told */
    const json_t *gemmtune; /* what our own export adds; NULL in the files of others */
};

struct recorded {
    const char *path;
    enum recorded_format format;
    char device[128], kernel[128], problem[128]; /* "" if not told */
    double unit_ms;                              /* of the file's times */
    json_t *parameters;                          /* array of names, in the file's order; may be empty */
    json_t *gpus;                                /* what our own export tells of GPUs; NULL otherwise */
    bool cut;                                    /* the file ends in the middle */

    /* after recorded_rows */
    int64_t rows, counts[RECORDED_VERDICTS];
    int64_t broken; /* entries that are no results; passed over */
    int64_t ours;   /* of the rows, those with `gemmtune` */
    double best_ms; /* 0: none */
    json_t *best;   /* its configuration */
};

/* What the file says of itself; path is for messages and must stay. Format RECORDED_UNKNOWN if it is neither.
 * Errors: E_INPUT (a known format, but broken), E_MEMORY. */
enum status recorded_open(const char *path, const char *bytes, size_t length, struct recorded *recorded);
void recorded_close(struct recorded *recorded); /* takes a zeroed struct */

/* Every row, and the sums. visit may be NULL; it returns false to stop. Errors: E_INPUT, E_MEMORY. */
enum status recorded_rows(const char *bytes, size_t length, struct recorded *recorded,
                          bool (*visit)(void *self, const struct recorded_row *row), void *self);

#endif
