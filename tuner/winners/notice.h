/* notice.h — messages of the library on standard error: each kind once per handle, or none at all. */
#ifndef GT_NOTICE_H
#define GT_NOTICE_H

#include <stdatomic.h>
#include <stdbool.h>

enum notice {
    NOTICE_DATABASE,
    NOTICE_PRETUNED,
    NOTICE_SYSTEM,
    NOTICE_CACHE,
    NOTICE_CODE,
    NOTICE_COMPILER,
    NOTICE_CUBLAS,
    NOTICE_KERNEL,
    NOTICE_WORKSPACE,
    NOTICES
};

struct notices {
    bool quiet;
    atomic_flag said[NOTICES];
};

/* quiet: requested by the caller; GEMMTUNE_QUIET=1 requests it, too. Else reports variables of the
 * environment that are not understood. */
void notices_start(struct notices *notices, bool quiet);

/* Prints one line, "gemmtune: ...", unless this kind of notice was printed before. Thread-safe. */
void notice(struct notices *notices, enum notice kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
