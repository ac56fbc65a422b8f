/* cluster_show.h — tune cluster status: a table of the shards, and what stands out. */
#ifndef GT_CLUSTER_SHOW_H
#define GT_CLUSTER_SHOW_H

#include "cluster_shards.h"
#include "table.h"

/* On standard output; for people with the sums below. Errors: E_MEMORY. */
enum status show_shards(const struct cluster_plan *plan, const struct cluster_view *view,
                        enum table_format format);

/* A sentence on standard error for each GPU that is much slower than others of its kind. */
void show_slow_gpus(const struct cluster_view *view);

#endif
