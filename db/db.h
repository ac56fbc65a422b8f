/* db.h — everything the tuner remembers, in one SQLite file. The only module that sees sqlite3.h; knows no GPU.
 *
 * Trials are append-only; an attempt is written before the candidate is sent, its outcome in a transaction of its own.
 * One writer a file, by a lock beside it. Readers never write. What is read from a file is checked before it is
 * believed: a configuration that its template refuses is reported as such, never run.
 */
#ifndef GT_DB_H
#define GT_DB_H

#include "config.h"
#include "gpu.h"
#include "outcome.h"
#include "problem.h"
#include "status.h"
#include <stdbool.h>
#include <stdint.h>

#define DB_TEXT_MAX 64

struct db;

enum db_mode { DB_READ, DB_WRITE };

/* Default file: GEMMTUNE_DB, else $XDG_DATA_HOME/gemmtune/gemmtune.db, else ~/.local/share/...; the folder is created
 * only by db_open with DB_WRITE. */
enum status db_default_path(char *path, size_t room);

/* DB_WRITE creates and migrates. Errors: E_BUSY (another tuner holds it, with its process id), E_DB (foreign, newer,
 * corrupt, each with what to do), E_IO (read-only, disk full), E_ABSENT (DB_READ and no file). */
enum status db_open(const char *path, enum db_mode mode, struct db **db);
void db_close(struct db *db); /* takes NULL */

/* What a trial was made with, beside problem and configuration. */
struct db_context {
    struct gpu gpu;
    char gpu_uuid[48];   /* "" when predicted without the GPU */
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
    bool cold;           /* cache policy */
};

/* Remember the run and the GPU it is on; *run_id names it in what follows. command is the command line. */
enum status db_run_start(struct db *db, const struct db_context *context, const char *command, uint64_t seed,
                         int64_t *run_id);
enum status db_run_end(struct db *db, int64_t run_id, const char *how); /* "finished", "budget", "interrupted" */

/* Attempts of earlier runs that never ended: mark each as crashed (their process died with them), once. Called by
 * the writer before it starts. *count: how many. A supervisor killed during an attempt leaves one; two for the same
 * configuration quarantine it. */
enum status db_recover(struct db *db, int64_t *count);

/* Write-ahead: committed before the candidate is sent. */
enum status db_attempt(struct db *db, int64_t run_id, const struct problem *problem, const struct config *config,
                       int64_t *attempt_id);
/* The outcome, committed. */
enum status db_record(struct db *db, int64_t attempt_id, const struct outcome *outcome);
/* The worker died of something else (another candidate, the operator): the attempt does not count. */
enum status db_forget_attempt(struct db *db, int64_t attempt_id);

/* The newest outcome of a configuration for a problem on this GPU with the same template text (template_hash) and
 * cache policy. E_ABSENT: never tried. *stale: made with another driver. */
enum status db_find(struct db *db, const struct db_context *context, const struct problem *problem,
                    const struct config *config, struct outcome *outcome, bool *stale);

/* True if it crashed or hung twice on this GPU, for any problem. */
enum status db_quarantined(struct db *db, const struct db_context *context, const struct config *config, bool *yes);

struct db_winner {
    struct problem problem;
    struct config config;         /* template NULL: cuBLAS won the race */
    char config_text[CONFIG_TEXT_MAX]; /* as stored; "cublas" when cuBLAS won */
    struct gpu gpu;
    char gpu_uuid[48];
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
    bool predicted;               /* from the model alone */
    bool stale;                   /* driver, cuBLAS or template text differ from now (only with a context) */
    bool unusable;                /* config refused by its rules, or its template is unknown or changed */
    bool cold, tied, exact;
    double time_us, ratio, ratio_low, ratio_high; /* ratio to cuBLAS in the same race; 0 when predicted or no cuBLAS */
    double anchor_us;
    int rounds, trials;           /* blocks a runner; trials the choice rests on */
    int64_t legal_count;          /* size of the legal space */
    int model_rank;               /* where the model had put it, 1 is first; 0 unknown */
    double model_first16_share;   /* best of the model's first 16 against the winner: time_us / theirs */
    int registers, smem_bytes;
    char when[32];                /* ISO 8601, UTC */
};

/* Replace the winner of (problem, GPU) in one transaction with its race samples. A measured winner replaces a
 * predicted one, never the other way. samples: blocks of all runners, for the evidence. */
struct db_race_sample {
    int runner;    /* index into configs of the race, -1 the anchor */
    int round;
    double time_us;
};
enum status db_set_winner(struct db *db, int64_t run_id, const struct db_winner *winner, const struct config *runners,
                          int runner_count, const struct db_race_sample *samples, int sample_count);

/* Which winners to list; NULL fields match all. */
struct db_filter {
    const char *gpu;               /* id, name or architecture ("sm_90"), case and "NVIDIA" ignored */
    const struct problem *problem;
};
/* visit returns false to stop. now may be NULL (nothing is marked stale). Order: GPU, then problem as stored. */
enum status db_winners(struct db *db, const struct db_filter *filter, const struct db_context *now,
                       bool (*visit)(void *self, const struct db_winner *winner), void *self);

/* All trials of a problem on the GPUs that match, newest run first; for explain. config_text is as stored. */
struct db_trial {
    char config_text[CONFIG_TEXT_MAX];
    char gpu_name[GPU_NAME_MAX];
    int64_t run_id;
    char when[32];
    struct outcome outcome;
};
enum status db_trials(struct db *db, const struct db_filter *filter,
                      bool (*visit)(void *self, const struct db_trial *trial), void *self);

/* Best usable times so far on this GPU for this problem, ascending: for resuming and for finalists. */
struct db_best {
    struct config config;
    struct outcome outcome;
};
enum status db_best(struct db *db, const struct db_context *context, const struct problem *problem,
                    struct db_best *best, int room, int *count);

/* Full check (PRAGMA integrity_check, foreign keys, unfinished attempts); text gets one line a finding. */
enum status db_check(struct db *db, char *text, size_t room, bool *clean);

#endif
