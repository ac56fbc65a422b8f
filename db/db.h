/* db.h — the interface of the database: everything the tuner remembers, in one SQLite file. Only this module
 * includes sqlite3.h; it knows no GPU.
 *
 * Trials are append-only. An attempt is recorded before the candidate is sent, and its outcome in a separate
 * transaction. A file has one writer, whatever name it is opened under. A file with several names (hard
 * links) is refused, because SQLite names its log after the file. Readers never write. Everything read from a
 * file is checked before it is used: a configuration that its template refuses is reported, never run.
 */
#ifndef GT_DB_H
#define GT_DB_H

#include "config.h"
#include "gpu.h"
#include "outcome.h"
#include "status.h"
#include "winner.h"
#include <stdbool.h>
#include <stdint.h>

#define DB_TEXT_MAX 64

struct db;

/* DB_GLANCE is DB_READ for a program that wants winners now: a large file is not checked as a whole, and
 * nobody is waited for longer than a fraction of a second. */
enum db_mode { DB_READ, DB_WRITE, DB_GLANCE };

/* Default file: GEMMTUNE_DB, else $XDG_DATA_HOME/gemmtune/gemmtune.db, else ~/.local/share/...; the folder is
 * created only by db_open with DB_WRITE. */
enum status db_default_path(char *path, size_t room);

/* DB_WRITE creates; an older file it backs up beside it (PATH.v1-backup) and brings up to date. The others
 * read an older file from a copy of their own: as it was when it was opened. Errors: E_BUSY (another tuner
 * holds it, with its process id), E_DB (foreign, newer, corrupt, with several names, each with what to do),
 * E_IO (read-only, disk full, no locks), E_INPUT (the path is too long), E_ABSENT (DB_READ and no file). */
enum status db_open(const char *path, enum db_mode mode, struct db **db);
/* A file that db_open made, and its folders, go again if nothing was stored in it. Takes NULL. */
void db_close(struct db *db);

/* What a trial was made with, beside problem and configuration. */
struct db_context {
    struct gpu gpu;
    char gpu_uuid[48]; /* "" when predicted without the GPU */
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
    bool cold;            /* cache policy */
    double power_limit_w; /* 0: unknown */
};

/* Version of the way of measuring and deciding (docs/measuring.md). Times of different versions do not
 * compare: what was made with another one is stale. */
#define DB_PROTOCOL 1

/* Remember the run and the GPU it is on; *run_id names it in what follows. command is the command line. */
enum status db_run_start(struct db *db, const struct db_context *context, const char *command, uint64_t seed,
                         int64_t *run_id);
enum status db_run_end(struct db *db, int64_t run_id,
                       const char *how); /* "finished", "budget", "interrupted" */

/* Attempts of earlier runs that never ended: mark each as crashed (their process died with them), once.
 * Called by the writer before it starts. *count: how many. A supervisor killed during an attempt leaves one;
 * two for the same configuration quarantine it, and one recovery counts once, however many GPUs were trying
 * it. Since it may have been the supervisor alone that died, db_find and db_best do not see such a trial: the
 * candidate is tried again unless it is quarantined. Earlier runs that never ended are marked "killed". */
enum status db_recover(struct db *db, int64_t *count);

/* Write-ahead: committed before the candidate is sent. */
enum status db_attempt(struct db *db, int64_t run_id, const struct problem *problem,
                       const struct config *config, int64_t *attempt_id);
/* The outcome, committed. */
enum status db_record(struct db *db, int64_t attempt_id, const struct outcome *outcome);
/* The worker died of something else (another candidate, the operator): the attempt does not count. */
enum status db_forget_attempt(struct db *db, int64_t attempt_id);

/* The newest outcome of a configuration for a problem on this GPU with the same template code (kernel_hash)
 * and cache policy. E_ABSENT: never tried. *stale: made with another driver, compiler, power limit or
 * protocol (what either side does not know does not count). */
enum status db_find(struct db *db, const struct db_context *context, const struct problem *problem,
                    const struct config *config, struct outcome *outcome, bool *stale);

/* True if it crashed or hung twice on this GPU, for any problem. */
enum status db_quarantined(struct db *db, const struct db_context *context, const struct config *config,
                           bool *yes);

/* How far a product was from the reference (no unit): the largest |c - ref| / (|A||B|), and the root of the
 * mean square and the largest of c - ref, over the largest |ref|. */
struct db_errors {
    bool measured;
    double componentwise, rms, max;
};

struct db_winner {
    struct winner base;
    struct config config;              /* template NULL: the rival won the race */
    char config_text[CONFIG_TEXT_MAX]; /* as stored; "cublas" when the rival won */
    struct gpu gpu;
    char gpu_uuid[48];
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
    bool stale;    /* driver, cuBLAS or template code differ from now (only with a context) */
    bool unusable; /* config refused by its rules, its template unknown or changed, its errors too large */
    bool tied;
    bool pinned;    /* measured or predicted because a person wants it, not chosen among others */
    char rival[32]; /* who was raced against: "cublasSgemm"; "": nobody */
    struct db_errors errors, rival_errors; /* on the same data */
    int rounds, trials;                    /* blocks a runner; trials the choice rests on */
    int64_t legal_count;                   /* size of the legal space */
    int model_rank;                        /* where the model had put it, 1 is first; 0 unknown */
    double model_first16_share; /* best of the model's first 16 against the winner: time_us / theirs */
    int registers, smem_bytes;
    char why[200];       /* out: why it is unusable, else why it is stale; "" if neither */
    int64_t decision_id; /* out: for db_evidence */
};

/* Replace the winner of (problem, GPU, cache policy) in one transaction with its race samples. A measured
 * winner replaces a predicted one, never the other way (then nothing is stored and the answer is OK). What is
 * pinned stays the winner, and what is excluded does not become it; winner->pinned pins it. Earlier
 * decisions stay in the file. GPU and versions are those of the run. samples: blocks of all runners, for the
 * evidence, in the order run. */
struct db_race_sample {
    int runner; /* index into configs of the race, -1 the anchor */
    int round;
    double time_us;
};
enum status db_set_winner(struct db *db, int64_t run_id, const struct db_winner *winner,
                          const struct config *runners, int runner_count,
                          const struct db_race_sample *samples, int sample_count);

/* ---- what a person has decided ---- */

/* For one problem on one GPU. A pin: this configuration is its winner, whatever was measured, until that is
 * taken back; there is one at most. Else: this configuration never is. */
struct db_preference {
    struct gpu gpu; /* name, arch and sm_count */
    struct problem problem;
    bool pin;
    char config_text[CONFIG_TEXT_MAX]; /* as stored: its template may be unknown by now */
    char when[32];
};

/* Remember it, or (holds false) take it back; a pin takes the place of another. In the same transaction the
 * winner follows: to the pinned configuration if a decision for it is stored, else to the newest decision for
 * one that may win, measured ones first; what may not win wins no more. A pin is set by db_set_winner with
 * winner->pinned, too. *changed: it was not so before. */
enum status db_prefer(struct db *db, const struct gpu *gpu, const struct problem *problem, bool pin,
                      const char *config_text, bool holds, bool *changed);

/* What holds, of the GPUs and the problem that filter lets through (NULL: of all); the newest first. visit
 * returns false to stop; it must not use db. */
struct db_filter;
enum status db_preferences(struct db *db, const struct db_filter *filter,
                           bool (*visit)(void *self, const struct db_preference *preference), void *self);

/* ---- what a person should know of a search ---- */

/* A sentence about the search for a problem in a run; the same one is stored once. */
enum status db_note(struct db *db, int64_t run_id, const struct problem *problem, const char *text);
/* Of the runs on the GPUs and for the problem that filter lets through, newest run first. */
struct db_search_note {
    int64_t run_id;
    char when[32]; /* the run started */
    char text[256];
};
enum status db_notes(struct db *db, const struct db_filter *filter,
                     bool (*visit)(void *self, const struct db_search_note *note), void *self);

/* Which winners to list; NULL fields match all. */
struct db_filter {
    const char *gpu; /* id, name or architecture ("sm_90"), case and "NVIDIA" ignored */
    const struct problem *problem;
};
/* visit returns false to stop; it must not call db_winners. now may be NULL (nothing is marked stale); it
 * speaks only of winners of the GPU that it names. Order: GPU, then problem as stored, then the cache policy
 * of now before the other (cold first without now). */
enum status db_winners(struct db *db, const struct db_filter *filter, const struct db_context *now,
                       bool (*visit)(void *self, const struct db_winner *winner), void *self);

/* What it takes to run a winner. */
struct db_brief {
    struct winner base;
    struct config config; /* template NULL: cuBLAS won */
    bool other_gpu;       /* of another GPU of the same architecture */
    bool changed;         /* the template's text is not the one that was measured */
    bool unproven;        /* of a type with limits, and no measured errors show that it keeps them */
    int protocol;
    char driver[DB_TEXT_MAX];
};

/* The winner for exactly this problem on this GPU, the cold cache policy before the other. E_ABSENT: none, or
 * none that can be believed. The configuration has been parsed; whether its rules allow it is for the caller
 * to ask. */
enum status db_brief_find(struct db *db, const struct gpu *gpu, const struct problem *problem,
                          struct db_brief *brief);

/* The winners of GPUs of this architecture for the problems with these numbers, in that order. Rows that hold
 * impossible values are passed over and counted. visit returns false to stop; it must not use db. */
enum status db_brief_of(struct db *db, const struct gpu *gpu, const int64_t *problems, int count,
                        bool (*visit)(void *self, const struct db_brief *brief), void *self, int64_t *broken);

/* Every problem that is stored, with its number, whether it has a winner or not; those that hold impossible
 * values are passed over. visit returns false to stop; it must not use db. */
enum status db_problems_each(struct db *db,
                             bool (*visit)(void *self, int64_t number, const struct problem *problem),
                             void *self);

/* The race behind a winner. Arrays are malloc'ed, owned by the caller: db_evidence_free. */
struct db_evidence {
    char (*runner_text)[CONFIG_TEXT_MAX]; /* configuration of runner 0, 1, ... */
    int runner_count;
    struct db_race_sample *samples; /* in the order run */
    int sample_count;
};
enum status db_evidence(struct db *db, int64_t decision_id, struct db_evidence *evidence);
void db_evidence_free(struct db_evidence *evidence); /* takes a zeroed struct */

/* The GPU of every run, newest run first. uuid is "" for a run that predicted without the GPU. */
struct db_gpu {
    struct gpu gpu;
    char uuid[48];
    char driver[DB_TEXT_MAX];
    char when[32];
};
enum status db_gpus(struct db *db, bool (*visit)(void *self, const struct db_gpu *gpu), void *self);

/* All trials of a problem on the GPUs that match, newest run first; for explain. config_text is as stored. */
struct db_trial {
    char config_text[CONFIG_TEXT_MAX];
    char gpu_name[GPU_NAME_MAX];
    int64_t run_id;
    char when[32];
    struct outcome outcome;
    bool recovered; /* not told by a tuner: found cut off after it was killed */
    bool current;   /* its template is known and has not changed since */
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

/* Full check: PRAGMA integrity_check, foreign keys, the content hash of every row, the values of every trial.
 * Of a file that is read from a copy, the first two are of the file itself.
 * visit is told of each check as it ends: what was checked, and "" or the first finding. *clean: no finding.
 * Attempts that are under way are no finding. Takes about 10 s a million trials. */
enum status db_check_each(struct db *db, void (*visit)(void *self, const char *what, const char *finding),
                          void *self, bool *clean);
/* The same with the findings as text, one line each. */
enum status db_check(struct db *db, char *text, size_t room, bool *clean);
/* The same for who is about to believe all of the file or to add to it. Errors: E_DB with the first finding.
 */
enum status db_check_whole(struct db *db);

/* How much there is. */
struct db_counts {
    int64_t gpus, problems, configs, runs, trials, attempts, decisions, winners;
};
enum status db_count(struct db *db, struct db_counts *counts);

#endif
