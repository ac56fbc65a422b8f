/* cluster.h — what the files of tune cluster share: shards of a suite on many machines. */
#ifndef GT_CLUSTER_H
#define GT_CLUSTER_H

#include "db.h"
#include "status.h"
#include "table.h"
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- cluster_child.c ---- */

/* A program of Slurm: it is started, and waited for only so long.
 *
 * It leads a process group of its own, so that all that it has started ends with it: sbatch and squeue may be
 * a site's scripts. Ctrl-C and its like go to that group, too.
 */

struct printed {
    char *text; /* owned: free it; standard output and error together, NUL-terminated; NULL: nothing */
    size_t length;
    int code; /* exit code; -1: a signal ended it */
};

/* Runs a program that is in PATH without standard input. limit_s: GEMMTUNE_SLURM_S counts more, and 0 means
 * for ever. Errors: E_ABSENT (there is no such program), E_CHILD (it has not ended in time, and its group was
 * killed), E_IO, E_MEMORY. */
enum status child_run(char *const argv[], double limit_s, struct printed *printed);

/* All lines that it printed, for a sentence: "line | line"; of more than fits the start and the end. */
#define CHILD_LINES_MAX 700
void child_lines(const struct printed *printed, char lines[CHILD_LINES_MAX]);

/* ---- cluster_plan.c ---- */

/* The folder that the shards of a suite share: what is to be done, and what was submitted.
 *
 *   suite.txt          the problems, in full, a line each
 *   plan.json          the plan; plan.json.lock: beside it while somebody submits
 *   array.sh merge.sh  for sbatch
 *   shards/I.db        the copy of shard I's database, and I.db.json, how far it is (keep.h)
 *   state/I            how its last task ended: exit code, node, job
 *   log/               what tasks printed
 */

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

/* ---- cluster_queue.c ---- */

/* Slurm's sbatch, squeue and scontrol. None is waited for without end (child_run). */

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

/* ---- cluster_shards.c ---- */

/* How each shard stands, from the files in the plan's folder and the queue if it is there;
 * and which GPUs run far below others of their kind.
 */

enum shard_state {
    SHARD_MISSING, /* nothing is there, and nothing is in the queue */
    SHARD_UNSENT,  /* the same, and nothing was submitted yet */
    SHARD_WAITING, /* in the queue */
    SHARD_RUNNING,
    SHARD_INTERRUPTED, /* stopped before its end: time limit, pre-emption, Ctrl-C */
    SHARD_FAILED,      /* ended with an error, or silently */
    SHARD_DONE         /* its run ended by itself, and its copy is there */
};
const char *shard_state_name(enum shard_state state);

struct cluster_gpu {
    char name[GPU_NAME_MAX], uuid[48];
    int64_t trials;
    int clock_mhz; /* median over its trials */
};
#define CLUSTER_GPUS_MAX 16 /* of a node */

struct cluster_shard {
    enum shard_state state;
    int64_t problems, done, known, without, left_out, trials; /* keep.h; problems -1: not known yet */
    int64_t began, written;                                   /* seconds since 1970; 0: never */
    double budget_s, spent_s, boost_mhz;
    char host[256], why[300];
    struct cluster_gpu gpus[CLUSTER_GPUS_MAX];
    int gpu_count;
};

struct cluster_view {
    struct cluster_shard *shards; /* owned; plan->shards of them */
    int count;
    const char *no_queue; /* why squeue was not asked; NULL: it was */
    char no_queue_text[1024];
};

/* A file that cannot be read makes its shard a failed one. Errors: E_MEMORY, E_INPUT (paths too long). */
enum status view_open(const struct cluster_plan *plan, struct cluster_view *view);
void view_close(struct cluster_view *view); /* takes a zeroed struct */

/* True if a shard has to be sent again: it is missing, failed or stopped, or had no time for all its
 * problems, and is not in the queue. */
bool shard_is_due(const struct cluster_shard *shard);

/* The seconds until all that is in the queue has ended, by their budgets; NAN: it cannot be told. */
double view_left_s(const struct cluster_view *view);

/* Visits each GPU whose clock is below CLUSTER_SLOW of the fastest of its kind here or, of a kind that is
 * alone, below CLUSTER_SLOW_ALONE of what its kind may reach. usual_mhz: what it was compared with. */
#define CLUSTER_SLOW       0.85
#define CLUSTER_SLOW_ALONE 0.6
void view_slow_gpus(const struct cluster_view *view,
                    void (*visit)(void *self, int shard, const struct cluster_shard *is,
                                  const struct cluster_gpu *gpu, double usual_mhz),
                    void *self);

/* "0-3,7,9-12%4": the shards that are due, so many at a time, as sbatch --array takes them; text is
 * malloc'ed, "" if there are none. Errors: E_MEMORY. */
enum status view_due(const struct cluster_view *view, int nodes, char **text, int *count);

/* ---- cluster_slurm.c ---- */

/* The two scripts for sbatch, from the templates in configs/cluster, and their submission.
 */

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

/* ---- cluster_merge.c ---- */

/* Tune cluster merge: the shards of a plan's folder into its database. */

/* Takes in every shard that can be, by itself: a damaged one keeps out no other. Names those that are
 * missing, unfinished or refused, and slow GPUs. Errors: E_ABSENT (not all are there and finished), those of
 * the database that takes in. */
enum status cluster_merge(const struct cluster_plan *plan);

/* ---- cluster_places.c ---- */

/* Where a new plan lives, and the database that takes in its shards: judged before
 * anything is written, since a night is too long to learn that one cannot be used.
 */

/* The whole path of a file that may not be there yet. Errors: E_INPUT, E_IO (its folder is not there). */
enum status places_absolute(const char *path, char whole[PATH_MAX]);

/* Completes plan->dir from --dir. Errors: E_INPUT (it has a plan, or shards of one), E_IO. */
enum status places_judge_folder(const char *dir, struct cluster_plan *plan);

/* plan->dir and the folders in it. Errors: E_IO. */
enum status places_make_folders(const struct cluster_plan *plan);

/* Completes plan->db from --db; NULL: the user's, whose folder is made then (made: as paths_make_folders, of
 * db). Errors: E_INPUT (it is a shard), E_IO, those of db_open. */
enum status places_choose_db(const char *named, struct cluster_plan *plan, char db[PATH_MAX], size_t *made);

/* ---- cluster_show.c ---- */

/* Tune cluster status: a table of the shards, and what stands out. */

/* On standard output; for people with the sums below. Errors: E_MEMORY. */
enum status show_shards(const struct cluster_plan *plan, const struct cluster_view *view,
                        enum table_format format);

/* A sentence on standard error for each GPU that is much slower than others of its kind. */
void show_slow_gpus(const struct cluster_view *view);

#endif
