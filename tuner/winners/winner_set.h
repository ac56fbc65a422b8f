/* winner_set.h — winners in memory, with each configuration stored once: many winners share few
 * configurations. */
#ifndef GT_WINNER_SET_H
#define GT_WINNER_SET_H

#include "accuracy.h"
#include "config.h"
#include "shape.h"
#include "winner.h"
#include <stddef.h>

#define CUBLAS_WON (-1)

struct stored_winner {
    struct winner base;      /* not exact: it serves its own problem only */
    struct shape shape;      /* of the problem */
    int config;              /* index into configs, or CUBLAS_WON */
    bool pretuned, stale;    /* pretuned: not the user's own */
    bool system;             /* then of the system's database */
    bool other_gpu, changed; /* then only its configuration is used. changed: or unproven */
    struct accuracy_claim claim;
};

struct winner_set {
    struct stored_winner *winners;
    size_t count, room;
    struct config *configs;
    int config_count, config_room;
    int *places; /* hash table of configs: index + 1, 0 is empty; place_count is a power of two */
    size_t place_count;
};

/* The index of a configuration; a new one is added. Errors: E_MEMORY. */
enum status winner_set_config(struct winner_set *set, const struct config *config, int *index);

/* Adds a winner, whose config is an index into this set. Earlier winners may move in memory. Errors:
 * E_MEMORY. */
enum status winner_set_add(struct winner_set *set, const struct stored_winner *winner);

void winner_set_free(struct winner_set *set); /* takes a zeroed struct */

#endif
