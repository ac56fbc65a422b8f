/* cluster_merge.h — tune cluster merge: the shards of a plan's folder into its database. */
#ifndef GT_CLUSTER_MERGE_H
#define GT_CLUSTER_MERGE_H

#include "cluster_plan.h"

/* Takes in every shard that can be, by itself: a damaged one keeps out no other. Names those that are
 * missing, unfinished or refused, and slow GPUs. Errors: E_ABSENT (not all are there and finished), those of
 * the database that takes in. */
enum status cluster_merge(const struct cluster_plan *plan);

#endif
