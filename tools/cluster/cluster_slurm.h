/* cluster_slurm.h — the two scripts for sbatch, from the templates in configs/cluster, and their submission.
 */
#ifndef GT_CLUSTER_SLURM_H
#define GT_CLUSTER_SLURM_H

#include "cluster_plan.h"

/* What the scripts are told beside the plan; NULL: left to the cluster. */
struct slurm_wishes {
    const char *partition, *account, *qos, *constraint, *time, *gres, *container, *merge_partition;
    const char *scratch, *program; /* never NULL */
    const char **modules;
    int module_count;
    int gpus;           /* a node; 0: none is asked for */
    int cpus;           /* a task; 0: left to the cluster */
    char options[4096]; /* for tune, quoted for the shell */
};

/* The time limit in Slurm's forms: MINUTES, M:S, H:M:S, D-H, D-H:M, D-H:M:S. Errors: E_USAGE. */
enum status slurm_time_parse(const char *text, double *seconds);

/* Appends ' WORD', in quotes where the shell needs them. Errors: E_INPUT (a newline in it, or too many). */
enum status slurm_quote(const char *word, char *text, size_t room);

/* Whether slurm_write can; writes nothing. Errors: E_INPUT (a wish that a script cannot hold). */
enum status slurm_check(const struct cluster_plan *plan, const struct slurm_wishes *wishes);

/* Writes array.sh and merge.sh. Errors: E_INPUT (as above), E_IO. */
enum status slurm_write(const struct cluster_plan *plan, const struct slurm_wishes *wishes);

/* Submits the array, or the tasks of `array`, and the merging job after it, and notes them in the plan.
 * cores_chosen: the user did not say how many cores a task has; a refusal names them. Errors: those of
 * queue_submit; if only the merging job was refused, or they cannot be noted (E_IO), the sentence says so,
 * with their numbers. */
enum status slurm_submit(struct cluster_plan *plan, const char *array, bool cores_chosen);

#endif
