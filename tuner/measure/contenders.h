/* contenders.h — the kernels loaded for timing the setup's problem: the rival, and the candidates of a race,
 * loaded once and timed block by block.
 */
#ifndef GT_CONTENDERS_H
#define GT_CONTENDERS_H

#include "behind.h"
#include "load.h"
#include "rivals.h"
#include "timing.h"
#include "trial.h"

#define CONTENDERS_MAX 24 /* a race has at most 16 runners */

/* A kernel of which blocks are timed. */
struct runner {
    struct kernel kernel;
    struct timed timed;
    struct behind behind; /* started with the first block of that timing */
};

struct contender {
    char text[CONFIG_TEXT_MAX]; /* of the configuration; "": unused */
    char checksum[40];
    struct runner runner;
    uint64_t used; /* request of its last use; the least recently used is replaced */
};

/* A rival besides the anchor. It is opened at its first use, which may take as long as a few trials. */
struct contending_rival {
    bool tried;
    enum status st; /* of its opening */
    char detail[RIVAL_DETAIL_MAX];
    char why[200]; /* why it could not be opened */
    struct runner runner;
};

struct contenders {
    struct trial_setup *setup;
    bool has_anchor;
    const struct rival_row *anchor_row;
    struct runner anchor;
    struct before before; /* of the timing `behind`; started with its first block */
    struct contending_rival rival[RIVALS_MAX];
    struct contender place[CONTENDERS_MAX];
    uint64_t requests;
};

/* Prepares the contenders of the problem just prepared; the struct must not move. Opens the anchor;
 * has_anchor stays false if there is no cuBLAS, or cuBLAS refuses the problem. Errors: E_GPU. */
enum status contenders_open(struct trial_setup *setup, struct contenders *contenders);

/* Call it before the setup's problem is cleared; takes a zeroed struct, too. */
void contenders_close(struct contenders *contenders);

/* Returns the candidate, loaded and ready. Errors: E_ABSENT (the driver refuses it), E_GPU, E_IO, E_INPUT. */
enum status contenders_find(struct contenders *contenders, const struct candidate *candidate,
                            struct runner **runner);

/* Returns the rival of this role, ready; *detail describes it. Errors: E_ABSENT (no such rival for this
 * problem; a repeated call returns this at once), E_GPU. */
enum status contenders_rival(struct contenders *contenders, const char *role, struct runner **runner,
                             const char **detail);

/* A block of a runner, of about block_ms; under load after lead_ms of the same calls, which do not count.
 * Errors: those of timed_blocks; E_ABSENT: no memory for it. */
struct block {
    double time_us; /* mean time of a call, or what a call adds to the kernel before it */
    double joules;  /* under load: of a call; 0: not known */
    double watts;   /* the same: mean power of the board */
    int64_t calls;
    struct gpu_state state;
};
enum status contenders_block(struct contenders *contenders, struct runner *runner, enum call_timing timing,
                             double lead_ms, double block_ms, struct block *block);

#endif
