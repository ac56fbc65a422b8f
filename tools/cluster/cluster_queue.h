/* cluster_queue.h — Slurm's sbatch, squeue and scontrol. None is waited for without end (cluster_child.h). */
#ifndef GT_CLUSTER_QUEUE_H
#define GT_CLUSTER_QUEUE_H

#include "cluster_plan.h"

/* Submits a script. tasks: "0-3,7" in place of the script's own, or NULL; after: a job array that the job
 * waits for, however it ends, on the same cluster, or NULL. cores_chosen: a refusal names the cores that the
 * script asks for. *job: its number; cluster: if sbatch names one, else "". Errors: E_ABSENT (there is no
 * sbatch), E_CHILD (it refuses, says no number or does not end), with what it says. */
enum status queue_submit(const char *script, const char *tasks, const struct cluster_job *after,
                         bool cores_chosen, int64_t *job, char cluster[CLUSTER_NAME_MAX]);

enum queue_state { QUEUE_UNKNOWN, QUEUE_GONE, QUEUE_WAITING, QUEUE_RUNNING };

/* How the plan's tasks stand in the queue, whoever submitted them; each cluster is asked for its own. states:
 * out, one a shard; QUEUE_UNKNOWN of all where the plan notes no job, or where squeue is missing or fails,
 * and then *why says it, else NULL (valid until the next fail). Errors: E_MEMORY. */
enum status queue_ask(const struct cluster_plan *plan, enum queue_state *states, const char **why);

/* The most tasks of a job array (MaxArraySize); -1: this machine has no Slurm that says it. Errors: E_CHILD
 * (scontrol does not end), E_IO, E_MEMORY. */
enum status queue_array_max(int64_t *most);

#endif
