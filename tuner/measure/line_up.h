/* line_up.h — the kernels loaded for timing the site's problem: the rival, and the candidates of a race,
 * loaded once and timed block by block.
 */
#ifndef GT_LINE_UP_H
#define GT_LINE_UP_H

#include "rivals.h"
#include "trial.h"

#define LINE_UP_MAX 24 /* a race has at most 16 runners */

struct line_up_place {
    char text[CONFIG_TEXT_MAX]; /* of the configuration; "" for an empty place */
    char checksum[40];
    struct kernel kernel;
    struct timed timed;
    uint64_t used; /* when, in requests; the longest unused makes room */
};

/* A rival beyond the anchor; opened when it is asked for, which may take as long as a few trials. */
struct line_up_rival {
    bool asked;
    enum status st; /* of opening it */
    char detail[RIVAL_DETAIL_MAX];
    char why[200]; /* it could not be opened */
    struct kernel kernel;
    struct timed timed;
};

struct line_up {
    struct site *site;
    bool has_anchor;
    const struct rival_row *anchor_row;
    struct kernel anchor_kernel;
    struct timed anchor;
    struct line_up_rival rival[RIVALS_MAX];
    struct line_up_place place[LINE_UP_MAX];
    uint64_t requests;
};

/* For the problem just prepared; the line-up must stay where it is. Opens the anchor; where there is no
 * cuBLAS, or it does not take the problem, has_anchor stays false. Errors: E_GPU. */
enum status line_up_open(struct site *site, struct line_up *line_up);

/* Before the site's problem is forgotten; takes a zeroed struct too. */
void line_up_close(struct line_up *line_up);

/* The candidate, loaded and ready. Errors: E_ABSENT (the driver refuses it), E_GPU, E_IO, E_INPUT. */
enum status line_up_find(struct line_up *line_up, const struct candidate *candidate, struct timed **timed);

/* The rival of this role, ready; *detail: what it is. Errors: E_ABSENT (there is none for this problem; asked
 * again, the same answer at once), E_GPU. */
enum status line_up_rival(struct line_up *line_up, const char *role, struct timed **timed,
                          const char **detail);

#endif
