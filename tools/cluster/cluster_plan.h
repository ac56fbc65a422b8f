/* cluster_plan.h — the folder that the shards of a suite share: what is to be done, and what was submitted.
 *
 *   suite.txt          the problems, in full, a line each
 *   plan.json          the plan; plan.json.lock: beside it while somebody submits
 *   array.sh merge.sh  for sbatch
 *   shards/I.db        the copy of shard I's database, and I.db.json, how far it is (keep.h)
 *   state/I            how its last task ended: exit code, node, job
 *   log/               what tasks printed
 */
#ifndef GT_CLUSTER_PLAN_H
#define GT_CLUSTER_PLAN_H

#include "db.h"
#include "status.h"
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

/* A job array that was submitted, and the job that merges after it. */
#define CLUSTER_NAME_MAX 64
struct cluster_job {
    int64_t array, merge;           /* Slurm's numbers; merge 0: it was refused */
    char cluster[CLUSTER_NAME_MAX]; /* of several that Slurm knows, where both are; "": its own */
};

/* Whether a name can be one of Slurm's clusters. */
bool cluster_name_fits(const char *name);

struct cluster_plan {
    char dir[PATH_MAX]; /* absolute */
    char db[PATH_MAX];  /* absolute: takes in the shards */
    char suite[DB_SUITE_HASH_MAX];
    char version[128]; /* of the program that wrote it */
    int shards, nodes; /* nodes: tasks at a time */
    int64_t problems;
    struct cluster_job *jobs; /* owned; in the order of their submission */
    int job_count;
};

/* A file of the folder: "shards/3.db". Errors: E_INPUT (too long). */
enum status cluster_plan_path(const struct cluster_plan *plan, char path[PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* dir: as the user named it. Errors: E_ABSENT (it has no plan), E_INPUT (the plan is damaged), E_IO. */
enum status cluster_plan_read(const char *dir, struct cluster_plan *plan);
/* Whether it can be written. Errors: E_INPUT (a path that is not UTF-8). */
enum status cluster_plan_check(const struct cluster_plan *plan);
enum status cluster_plan_write(const struct cluster_plan *plan);
enum status cluster_plan_add_job(struct cluster_plan *plan, const struct cluster_job *job);

/* Nobody else begins a plan or submits tasks in the folder dir from here to the release: what is in the queue
 * is looked at and noted without another between. Waits for who does. lock: for the release. Errors: E_BUSY,
 * E_IO. */
enum status cluster_plan_hold(const char *dir, int *lock);
void cluster_plan_release(const char *dir, int lock);
void cluster_plan_free(struct cluster_plan *plan); /* takes a zeroed struct */

#endif
