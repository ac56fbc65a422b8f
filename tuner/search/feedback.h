/* feedback.h — in which order a strategy hears of its proposals, and how many of them it makes before it
 * does: an order that follows from the proposals alone, not from which result is there first.
 *
 * A proposal whose kernel is new has to be compiled; other launches of a kernel that is known have not. A
 * strategy hears of new kernels in the order proposed, and of the launches of those it has heard of likewise;
 * the launches do not wait for kernels that were proposed before them. It hears as late as the limits allow,
 * so that what it knows at its n-th proposal is always the same.
 *
 * Who waits too long for a result can put it off: it is told as soon as it is there, and the launches of its
 * kernel, if it has one of its own, after it. From then on the order depends on when that is.
 */
#ifndef GT_FEEDBACK_H
#define GT_FEEDBACK_H

#include "config.h"
#include <stdbool.h>
#include <stddef.h>

/* Proposals that it has not heard of, at most; each at least 1. */
struct feedback_limits {
    size_t kernels_first; /* new kernels, before it has heard of the first */
    size_t kernels;       /* new kernels; as many launches of these */
    size_t launches;      /* launches of kernels that it has heard of */
    size_t late;          /* put off; neither kernels nor launches count these */
};

/* For so many compilers: enough that neither they nor the GPU wait. More would hold the search back, which
 * learns only from what it has heard of (docs/results/search-replay.md). */
struct feedback_limits feedback_limits_of(int compilers);

/* Proposals that there can be at once. */
size_t feedback_most(const struct feedback_limits *limits);

struct feedback;

/* room: of the list of candidates, which must outlive the result. NULL: out of memory. */
struct feedback *feedback_build(const struct config *candidates, size_t room,
                                const struct feedback_limits *limits);
void feedback_free(struct feedback *feedback); /* takes NULL */

/* What is known of this candidate's kernel without a proposal: its other launches need no compilation. */
void feedback_know(struct feedback *feedback, size_t index);

void feedback_propose(struct feedback *feedback, size_t index);

/* Proposals that it has not heard of. */
size_t feedback_waiting(const struct feedback *feedback);

/* The result of a proposal, in any order. False: the strategy does not wait for one. */
bool feedback_result(struct feedback *feedback, size_t index, double time_us);

enum feedback_answer {
    FEEDBACK_NONE, /* it may propose */
    FEEDBACK_TELL, /* *index and *time_us are to be told before it proposes */
    FEEDBACK_WAIT  /* what is to be told next, *index, has no result yet */
};

/* stuck: it can propose nothing until it has heard more. */
enum feedback_answer feedback_next(struct feedback *feedback, bool stuck, size_t *index, double *time_us);

/* Waits no longer for the result of this proposal, which feedback_next asks for. False: it has been put off
 * already, or as many as may be. */
bool feedback_put_off(struct feedback *feedback, size_t index);

/* One more result that there is, in the order proposed, whatever the limits: the search ends or rests. False:
 * there is none. */
bool feedback_rest(struct feedback *feedback, size_t *index, double *time_us);

#endif
