/* cluster_shards.h — how each shard stands, from the files in the plan's folder and the queue if it is there;
 * and which GPUs run far below others of their kind.
 */
#ifndef GT_CLUSTER_SHARDS_H
#define GT_CLUSTER_SHARDS_H

#include "cluster_plan.h"

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

#endif
