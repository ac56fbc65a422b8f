/* db_merging.h — shared by db_merge.c and db_merge_trials.c: one source that is being copied into the target.
 */
#ifndef GT_DB_MERGING_H
#define GT_DB_MERGING_H

#include "db_exchange.h"
#include "db_internal.h"

/* Ids of rows in the source and in the target, ascending by the first. */
struct merge_map {
    int64_t (*pairs)[2];
    size_t count, room;
};
/* The row's id in the target; 0: the source has no such row. */
int64_t merge_map_find(const struct merge_map *map, int64_t from);

enum { MERGE_GPUS, MERGE_FIGURES, MERGE_PROBLEMS, MERGE_CONFIGS, MERGE_RUNS, MERGE_DECISIONS, MERGE_TABLES };

struct merge {
    struct db *from, *to;
    struct merge_map maps[MERGE_TABLES];
    struct db_merged *merged;
};

/* Copies the trials, after all that they refer to; adds to merged->trials and merged->known. */
enum status merge_trials(struct merge *m);

#endif
