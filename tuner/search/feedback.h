/* feedback.h — the order in which results are reported to a strategy, and how many proposals it makes before:
 * both follow from the proposals alone, not from which result is there first, so that a seed gives the same
 * search on any machine.
 *
 * A proposal whose kernel is new has to be compiled; other launches of a known kernel have not. Results of
 * new kernels are reported in the order proposed, and so are those of launches of kernels that have a result;
 * these launches do not wait for kernels proposed before them. Each is reported as late as the limits allow,
 * so that the strategy knows the same at its n-th proposal.
 *
 * A result that takes too long can be put off: it is reported as soon as it is there, and the launches of its
 * kernel, if it has one of its own, after it. From then on the order depends on when that is.
 */
#ifndef GT_FEEDBACK_H
#define GT_FEEDBACK_H

#include "config.h"
#include <stdbool.h>
#include <stddef.h>

/* The most proposals whose results are not yet reported; each at least 1. */
struct feedback_limits {
    size_t kernels_first; /* new kernels, before the first result */
    size_t kernels;       /* new kernels; as many launches of these */
    size_t launches;      /* launches of kernels that have a result */
    size_t late;          /* put off; neither kernels nor launches count these */
};

/* The limits for so many compilers: enough that neither they nor the GPU wait. More would hold the search
 * back, which learns only from reported results (docs/results/search-replay.md). */
struct feedback_limits feedback_limits_of(int compilers);

/* Proposals that there can be at once. */
size_t feedback_most(const struct feedback_limits *limits);

struct feedback;

/* room: of the list of candidates, which must outlive the result. NULL: out of memory. */
struct feedback *feedback_build(const struct config *candidates, size_t room,
                                const struct feedback_limits *limits);
void feedback_free(struct feedback *feedback); /* takes NULL */

/* The candidate's kernel is known without a proposal: its other launches need no compilation. */
void feedback_know(struct feedback *feedback, size_t index);

void feedback_propose(struct feedback *feedback, size_t index);

/* Proposals whose results are not yet reported. */
size_t feedback_waiting(const struct feedback *feedback);

/* The result of a proposal, in any order. False: the strategy does not wait for one. */
bool feedback_result(struct feedback *feedback, size_t index, double time_us);

enum feedback_answer {
    FEEDBACK_NONE, /* it may propose */
    FEEDBACK_TELL, /* *index and *time_us are to be told before it proposes */
    FEEDBACK_WAIT  /* what is to be told next, *index, has no result yet */
};

/* stuck: the strategy can propose nothing until it knows more results. */
enum feedback_answer feedback_next(struct feedback *feedback, bool stuck, size_t *index, double *time_us);

/* Waits no longer for the result of this proposal, which feedback_next asks for. False: it has been put off
 * already, or as many as may be. */
bool feedback_put_off(struct feedback *feedback, size_t index);

/* The next result that is there, in the order proposed, whatever the limits: the search ends or rests. False:
 * there is none. */
bool feedback_rest(struct feedback *feedback, size_t *index, double *time_us);

#endif
