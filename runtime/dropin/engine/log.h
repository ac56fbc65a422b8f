/* log.h — what the drop-in says on standard error: which call went where and why, and at the end of the
 * program what answered its products.
 */
#ifndef GT_LOG_H
#define GT_LOG_H

#include "engine.h"
#include "record.h"

/* GEMMTUNE_LOG. Set before the first call. */
extern bool log_calls;

/* A line that begins with the program's name. */
void log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_text(const char *text);

/* Reasons, one bit each. */
enum {
    SAID_PASS = 1,
    SAID_TUNED = 2,
    SAID_MODE = 4,
    SAID_CAPTURED = 8,
    SAID_FAILED = 16,
    SAID_SHORT = 32,
    SAID_SHARED = 64,
    SAID_PEDANTIC = 128,
    SAID_BIAS = 256,
    SAID_UNUSUAL = 512,
    SAID_COMPILING = 1024
};

/* Logs each problem and reason once, if calls are logged. why NULL: that of its present state. */
void log_call_once(const struct blas_request *request, struct record *record, unsigned reason,
                   const char *why);
static inline void log_call(const struct blas_request *request, struct record *record, unsigned reason,
                            const char *why)
{
    if (log_calls) log_call_once(request, record, reason, why);
}

/* How many calls went to tuned kernels, and what the capture leaves out. */
void log_summary(void);

/* What answered the GEMM time of the program, as a table: its problems and what was passed on, with calls and
 * GPU time. Nothing if there was no call. Needs a recorder that is on. */
void log_table(void);

/* One line: how many of the program's products tuned kernels have answered, and how much faster these were,
 * by the times of their races. Nothing where no product has come. */
void log_share(void);

/* What tuned kernels have answered so far. */
void log_answers(struct answers *answers);

#endif
