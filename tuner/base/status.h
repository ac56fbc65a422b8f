/* status.h — the result of a function that failed, and the one sentence that says why.
 *
 * The deepest function that knows the facts calls fail(); callers pass the code up; main prints the sentence
 * once and exits with the code's documented exit status. A candidate that is slow, wrong or crashes is not an
 * error but an outcome (outcome.h).
 */
#ifndef GT_STATUS_H
#define GT_STATUS_H

enum status {
    OK = 0,
    E_ABSENT,      /* what was asked for was not found; often not an error for the caller (exit 1) */
    E_USAGE,       /* the command line is wrong (exit 2) */
    E_INPUT,       /* a value or a file that the user gave is wrong (exit 3) */
    E_DB,          /* the database is foreign, newer, corrupt or refused a write (exit 4) */
    E_GPU,         /* no driver, no GPU, or the GPU failed beyond a restart of its worker (exit 5) */
    E_COMPILER,    /* NVRTC is missing or unusable (exit 6) */
    E_IO,          /* a file or folder cannot be read or written; disk full (exit 7) */
    E_BUSY,        /* another process holds the database (exit 8) */
    E_CHILD,       /* a child process died or broke the protocol too often (exit 9) */
    E_MEMORY,      /* out of host memory (exit 10) */
    E_INTERRUPTED, /* Ctrl-C or SIGTERM; everything finished is kept (exit 130) */
    E_HELPED,      /* help was asked for and printed: there is nothing else to do (exit 0) */
    E_PROGRAM,     /* tune run: the program has ended, or cannot be run (its exit code) */
    STATUS_COUNT
};

/* Remember one sentence (printf-like, no trailing newline) for status_text and return st. Of more than 1023
 * bytes its start and its end are kept.
 * The sentence names the value, the limit and what to do. A later fail() replaces it. Per thread. */
enum status fail(enum status st, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The sentence of the last fail() in this thread; "" before the first. Never NULL; owned by this module. */
const char *status_text(void);

/* The process exit status that documents st. */
int status_exit_code(enum status st);

#endif
