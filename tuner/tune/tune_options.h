/* tune_options.h — what the command line of the main job asks for, parsed and checked. */
#ifndef GT_TUNE_OPTIONS_H
#define GT_TUNE_OPTIONS_H

#include "children.h"
#include "command_line.h"
#include "config.h"
#include "problem.h"
#include "shard.h"
#include "table.h"
#include "timing.h"
#include <stdbool.h>
#include <stdint.h>

#define TUNE_PATH_MAX   4096
#define RACE_BY_CALL    (-1) /* short calls behind another kernel, long ones at the power limit under load */
#define TUNE_PREFER_MAX 64   /* configurations that one command excludes or includes */
#define TUNE_OWN_MAX    64   /* own kernels of one command */

struct tune_options {
    struct problem *problems; /* owned; in the order given, without repetitions */
    size_t problem_count;
    double *weights;    /* owned; of each problem, by which the budget is divided; NULL: all alike */
    struct shard shard; /* --shard; count 0: none. Then the problems are its own, */
    bool goes_on;       /* the shard's earlier runs have not come to their end (keep_open) */
    char suite_hash[SHARD_HASH_MAX]; /* and this is of all */
    const char *gpu;                 /* named GPU, or NULL: those of this machine */
    int devices[CHILDREN_WORKERS_MAX];
    int device_count;   /* or CHILDREN_ALL_DEVICES */
    bool gpus_given;    /* by --gpus; else the first */
    double budget_s;    /* whole run; 0: BUDGET_DEFAULT_S a problem */
    int64_t max_trials; /* a problem, earlier runs included; 0: no limit */
    uint64_t seed;
    const char *strategy;
    int compilers;           /* 0: one a core */
    int64_t workspace_bytes; /* the most that a kernel may take, or WORKSPACE_DEFAULT */
    bool cold, again;
    bool pretuned;  /* begin from the winners that ship, too */
    bool transfer;  /* and from what trials of other problems teach */
    bool refresh;   /* no search: what ran in the stored race is tried, and races, again */
    int timing;     /* of the race: RACE_BY_CALL, or one of enum call_timing for all problems */
    bool by_energy; /* of the fastest the one of least energy wins */
    bool library;   /* algorithms of NVIDIA's library are candidates, too */
    const struct template *own[TUNE_OWN_MAX]; /* --kernel: they are searched, alone */
    int own_count;
    bool own_relative; /* one of their paths depends on the folder */
    bool with_ours;    /* or with all others */

    /* Pins and exclusions for the one problem of this command (db.h: preferences). */
    bool preferring;   /* any of it */
    struct config pin; /* template NULL: none */
    bool unpin;
    struct config exclude[TUNE_PREFER_MAX], include[TUNE_PREFER_MAX];
    int exclude_count, include_count;

    enum table_format format;
    const char *report;        /* page that shows the run; NULL: none */
    char space[TUNE_PATH_MAX]; /* as field_space; "": those that ship */
    char db[TUNE_PATH_MAX], cache[TUNE_PATH_MAX];
    const char *known;        /* database that is only read: its winners are not tuned again; NULL: none */
    char save[TUNE_PATH_MAX]; /* where a copy of db is written; "": nowhere */
    char command[1024];       /* as typed, for the record */
};

/* The options of the main job, for its help. */
extern const struct command_line cmd_tune_line;

/* Errors: E_HELPED, E_USAGE, E_INPUT, E_IO, E_MEMORY. */
enum status tune_options_parse(int argc, char **argv, struct tune_options *options);

/* For other commands that tune: what holds where nothing is said, and the command line for the record; then
 * the rest, once members are set: database and cache. Errors: as above. */
struct tune_options tune_options_default(int argc, char **argv);
enum status tune_options_fill(struct tune_options *options);
void tune_options_free(struct tune_options *options);

#endif
