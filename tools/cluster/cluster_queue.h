/* cluster_queue.h — Slurm's sbatch and squeue. */
#ifndef GT_CLUSTER_QUEUE_H
#define GT_CLUSTER_QUEUE_H

#include "cluster_plan.h"

/* Submits a script. array: "0-3,7" in place of the script's own, or NULL; after: a job, however it ends, or
 * 0; then the job waits for it. *job: its number. Errors: E_ABSENT (there is no sbatch), E_CHILD (it refuses,
 * with what it says). */
enum status queue_submit(const char *script, const char *array, int64_t after, int64_t *job);

enum queue_state { QUEUE_UNKNOWN, QUEUE_GONE, QUEUE_WAITING, QUEUE_RUNNING };

/* How the plan's tasks stand in the queue, whoever submitted them. states: out, one a shard; QUEUE_UNKNOWN of
 * all where the plan notes no job, or where squeue is missing or fails, and then *why says it, else NULL
 * (valid until the next fail). Errors: E_MEMORY. */
enum status queue_ask(const struct cluster_plan *plan, enum queue_state *states, const char **why);

#endif
