/* builds.h — the kernels compiled in this run, so that each is compiled once for all problems and for all
 * configurations that differ only at launch. Knows no child process: the session requests kernels and reports
 * results.
 */
#ifndef GT_BUILDS_H
#define GT_BUILDS_H

#include "children.h"
#include <stddef.h>

struct builds;

enum build_state {
    BUILD_WANTED, /* no compiler has been asked yet */
    BUILD_ASKED,  /* a compiler is at it, since asked_s */
    BUILD_DONE    /* built or refused */
};

struct built {
    struct kernel_key kernel;
    enum build_state state;
    double asked_s;
    bool ok, cached;
    enum verdict verdict; /* when not ok */
    struct kernel_facts facts;
    char *cubin, *checksum, *detail; /* owned by builds; NULL until done */
    struct built *next;              /* of the same slot */
};

enum status builds_open(struct builds **builds);
void builds_close(struct builds *builds); /* takes NULL */

/* A kernel, entered as BUILD_WANTED if it is new; lives as long as builds. NULL: out of memory. */
struct built *builds_get(struct builds *builds, const struct kernel_key *kernel);

/* A compiler has been asked for it. */
void builds_ask(struct built *built);

/* Takes in the compiler's answer. Errors: E_MEMORY. */
enum status builds_tell(struct builds *builds, struct built *built, const struct build *build);

/* How long a compilation lasts: the median of the last ones, those from the cache left out. 0: there are too
 * few. */
double builds_usual_s(const struct builds *builds);

/* Forgets a cubin that has left the cache: the kernel is to be compiled again. */
void builds_forget(struct built *built);

/* The build as a worker's request has it. */
void builds_read(const struct built *built, struct build *build);

#endif
