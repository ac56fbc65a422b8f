/* contenders.h — the kernels loaded for timing the setup's problem: the rival, and the candidates of a race,
 * loaded once and timed block by block.
 */
#ifndef GT_CONTENDERS_H
#define GT_CONTENDERS_H

#include "rivals.h"
#include "trial.h"

#define CONTENDERS_MAX 24 /* a race has at most 16 runners */

struct contender {
    char text[CONFIG_TEXT_MAX]; /* of the configuration; "" for an empty place */
    char checksum[40];
    struct kernel kernel;
    struct timed timed;
    uint64_t used; /* when, in requests; the longest unused makes room */
};

/* A rival beyond the anchor; opened when it is asked for, which may take as long as a few trials. */
struct contending_rival {
    bool asked;
    enum status st; /* of opening it */
    char detail[RIVAL_DETAIL_MAX];
    char why[200]; /* it could not be opened */
    struct kernel kernel;
    struct timed timed;
};

struct contenders {
    struct trial_setup *setup;
    bool has_anchor;
    const struct rival_row *anchor_row;
    struct kernel anchor_kernel;
    struct timed anchor;
    struct contending_rival rival[RIVALS_MAX];
    struct contender place[CONTENDERS_MAX];
    uint64_t requests;
};

/* For the problem just prepared; the struct must stay where it is. Opens the anchor; where there is no
 * cuBLAS, or it does not take the problem, has_anchor stays false. Errors: E_GPU. */
enum status contenders_open(struct trial_setup *setup, struct contenders *contenders);

/* Before the setup's problem is forgotten; takes a zeroed struct too. */
void contenders_close(struct contenders *contenders);

/* The candidate, loaded and ready. Errors: E_ABSENT (the driver refuses it), E_GPU, E_IO, E_INPUT. */
enum status contenders_find(struct contenders *contenders, const struct candidate *candidate,
                            struct timed **timed);

/* The rival of this role, ready; *detail: what it is. Errors: E_ABSENT (there is none for this problem; asked
 * again, the same answer at once), E_GPU. */
enum status contenders_rival(struct contenders *contenders, const char *role, struct timed **timed,
                             const char **detail);

#endif
