/* neighbours.h — which candidates are neighbours: those that differ in one parameter, or in a few coupled
 * ones.
 *
 * Where the candidates are a sample (space.h), neighbours that are not among them are asked for, and become
 * candidates if they exist: all that differ in one parameter, coupled ones that no single step leads to, and
 * a part of the others.
 *
 * Rules couple parameters (a larger block tile needs a larger warp tile), so that single changes alone would
 * leave many candidates without neighbours. Distance is counted in values that occur among the candidates.
 */
#ifndef GT_NEIGHBOURS_H
#define GT_NEIGHBOURS_H

#include "config.h"
#include <stddef.h>
#include <stdint.h>

#define NEIGHBOURS_NONE SIZE_MAX
#define NEIGHBOURS_MAX  2048 /* of one kind */

/* In the order in which a search should try them. */
enum neighbour_kind {
    NEIGHBOUR_LAUNCH, /* another launch-time value: nothing to compile */
    NEIGHBOUR_SINGLE, /* one compile-time parameter at any other value */
    NEIGHBOUR_SCALED, /* three sizes scaled alike, as a tile with those of its warps and threads; only where
                         the list grows */
    NEIGHBOUR_PAIR    /* two parameters, each a few values up or down */
};

/* How a list of candidates grows: at its end, in place. */
struct growth {
    size_t room; /* of the lists of candidates and of predicted times */
    /* The candidate with these values, or nearly (space_reach): its index, that of the end if it is new.
     * NEIGHBOURS_NONE: there is none, or no more room. from: the candidate whose neighbour it is. */
    size_t (*reach)(void *self, const struct config *config, size_t from);
    /* The same of those that are listed: nothing grows. */
    size_t (*find)(void *self, const struct config *config);
    void *self;
    const double *predicted_us; /* in the order of the candidates */
};

struct neighbours;

/* candidates, and growth if there is any, must outlive the result. NULL: out of memory. */
struct neighbours *neighbours_build(const struct config *candidates, size_t count,
                                    const struct growth *growth);
void neighbours_free(struct neighbours *n); /* takes NULL */

/* Index of a configuration, NEIGHBOURS_NONE if it is none of the candidates there were at first. */
size_t neighbours_find(const struct neighbours *n, const struct config *config);

/* The same, and where the list grows the index of a configuration that is asked for: by `from`, whose
 * correction of the model it gets. `from` itself is none. */
size_t neighbours_reach(const struct neighbours *n, const struct config *config, size_t from);

/* The neighbours of one kind, best by the model first: ascending by index, or by predicted time where the
 * list grows. If there are more than NEIGHBOURS_MAX the walk stops there. Returns how many. */
size_t neighbours_of(const struct neighbours *n, size_t index, enum neighbour_kind kind,
                     size_t out[NEIGHBOURS_MAX]);

/* The candidate's NEIGHBOUR_LAUNCH neighbours that are listed, in no order: the list does not grow. Returns
 * how many. */
size_t neighbours_listed_launches(const struct neighbours *n, size_t index, size_t out[NEIGHBOURS_MAX]);

/* The number of compile-time parameters in which two differ; CONFIG_PARAMS_MAX if their templates do. */
size_t neighbours_apart(const struct config *x, const struct config *y);

/* How many templates the candidates have. */
int neighbours_templates(const struct neighbours *n);

/* The place of a candidate: for each parameter of its template the number of its value, counted from 0 among
 * those that occur; 0 beyond them. Returns the template's number, below neighbours_templates. */
int neighbours_place(const struct neighbours *n, size_t index, uint8_t level[CONFIG_PARAMS_MAX]);

/* The same of any configuration: a value that no candidate has counts as the next larger one that occurs. -1:
 * no candidate has its template. */
int neighbours_place_config(const struct neighbours *n, const struct config *config,
                            uint8_t level[CONFIG_PARAMS_MAX]);

#endif
