/* report.h — progress messages while the tuner works: one line that is rewritten on a terminal, or an
 * occasional plain line elsewhere. Standard error only; knows no job, only the numbers it is given.
 */
#ifndef GT_REPORT_H
#define GT_REPORT_H

#include "config.h"
#include "outcome.h"
#include "problem.h"
#include <stddef.h>

struct report;

/* A problem that is being worked on. */
struct progress {
    char problem[PROBLEM_TEXT_MAX];
    int gpu;           /* ordinal; shown when there are several */
    const char *phase; /* "warming up", "searching", "racing", "checking" */
    size_t done;       /* candidates tried, those of earlier runs included */
    size_t planned;    /* those that there is time for, as far as can be told, done ones included */
    size_t trials;     /* of this run */
    size_t failures[VERDICT_COUNT];
    double best_us, anchor_us;  /* 0: none yet */
    double tflops;              /* of best_us */
    char best[CONFIG_TEXT_MAX]; /* config_brief */
    double gain; /* what the search expects to gain by its next trial, of best_us; NAN: it does not know */
    double elapsed_s, left_s;
};

enum status report_open(int problems, int gpus, struct report **report);
void report_close(struct report *report); /* wipes the line; takes NULL */

/* A sentence above the progress line (printf-like). */
void report_say(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says so if the problem is better tuned in another form. */
void report_advice(struct report *report, const struct problem *problem);

/* A new best, as a line of its own on a terminal, where the rewritten line has no room for the configuration
 * (config_brief). */
void report_best(struct report *report, const char *problem, double us, double tflops, double anchor_us,
                 const char *config);

/* Draw if it is time to (or force): a bar, done of what there is time for, the best and its ratio to cuBLAS,
 * the time left, in one line that is never wider than the terminal. ended: problems done. */
void report_progress(struct report *report, const struct progress *progress, int count, int ended,
                     double left_s, bool force);

/* A GPU was at work from..to (seconds of clock.h). */
void report_busy(struct report *report, double from_s, double to_s);

/* Share of the time, after the first 20 s (or all of a shorter run), that the GPUs were at work; 0..1. */
double report_busy_share(const struct report *report);

/* "12.3 us", "1.234 ms"; "2h05m", "3m20s", "12s". Buffers of 32 bytes. */
void format_time_us(double us, char *text);
void format_duration(double seconds, char *text);

#endif
