/* not_done.h — what people ask for that gemmtune does not do: one table for messages, which docs/not-done.md
 * explains (tests/unit/gemm/test_not_done.c compares them).
 */
#ifndef GT_NOT_DONE_H
#define GT_NOT_DONE_H

#include <stddef.h>

struct not_done {
    const char *words; /* by which it is asked for, separated by blanks, in lower case; a word that ends in
                          '*' stands for all that begin so */
    const char *what;  /* "FP8 products": a row of the page */
    const char *why;   /* what to do instead */
};

extern const struct not_done not_done_rows[];
extern const size_t not_done_count;

/* A sentence about what a type, an option of a problem, or a GPU of this name would be; NULL: nothing is
 * known of it. Of this thread, until the next call. */
const char *not_done(const char *asked);
/* Of the same, its row: "FP64 products". */
const char *not_done_what(const char *asked);

#endif
