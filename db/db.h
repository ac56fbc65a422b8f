/* db.h — the interface of the database: everything the tuner remembers, in one SQLite file. Only this module
 * includes sqlite3.h; it knows no GPU.
 *
 * Trials are append-only, but for db_forget. An attempt is recorded before the candidate is sent, and its
 * outcome in a separate transaction. A file has one writer, whatever name it is opened under. A file with
 * several names (hard links) is refused, because SQLite names its log after the file. Readers never write.
 * Everything read from a file is checked before it is used: a configuration that its template refuses is
 * reported, never run.
 */
#ifndef GT_DB_H
#define GT_DB_H

#include "accuracy.h"
#include "config.h"
#include "gpu.h"
#include "outcome.h"
#include "status.h"
#include "timing.h"
#include "winner.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define DB_TEXT_MAX 64

struct db;

/* How a person names another file, in sentences that advise it: " with GEMMTUNE_DB", which main changes to
 * " with --db", and merge to "". */
extern const char *db_choose;

/* DB_GLANCE is DB_READ for a program that needs winners at once: a large file is not checked completely, and
 * the wait for other processes is limited to a fraction of a second. DB_EXAMINE is DB_READ for a caller that
 * goes on with db_check: what db_check looks at is not looked at twice. */
enum db_mode { DB_READ, DB_WRITE, DB_GLANCE, DB_EXAMINE };

/* Default file: GEMMTUNE_DB, else $XDG_DATA_HOME/gemmtune/gemmtune.db, else ~/.local/share/...; the folder is
 * created only by db_open with DB_WRITE. */
enum status db_default_path(char *path, size_t room);

/* The system's, which no user writes: GEMMTUNE_SYSTEM_DB, else /etc/gemmtune/gemmtune.db. E_ABSENT: it is not
 * there, which is usual, or the variable says "off". E_IO: its folder may not be searched. */
enum status db_system_path(char *path, size_t room);

/* DB_WRITE creates the file; it backs up one of an older version beside it (PATH.vN-backup) and migrates it.
 * The other modes read an older file from a migrated copy of its content at opening time. Errors: E_BUSY
 * (another tuner holds it, with its process id), E_DB (foreign, newer, never published, corrupt, with several
 * names, each with what to do), E_IO (read-only, disk full, no locks), E_INPUT (the path is too long),
 * E_ABSENT (DB_READ and no file). */
enum status db_open(const char *path, enum db_mode mode, struct db **db);
/* Removes a file that db_open created, and its folders, if nothing was stored in it. Takes NULL. */
void db_close(struct db *db);
/* The end of a command that has written: db_close, and what must be said if the file was renamed, replaced or
 * removed meanwhile. Takes NULL. Returns st, or E_IO with where the results are. */
enum status db_finish(struct db *db, enum status st);

/* True if a file that is open for reading is as a tuner leaves it that is writing, while no tuner writes it
 * and its log is not there: it was copied without the log, as a rule, and lacks the last results, or all. */
#define DB_LACKING_MAX 1024
bool db_lacks_log(const struct db *db, char why[DB_LACKING_MAX]);

/* True if db_open refuses a file of ours with E_DB because a later program has written it, which is no
 * damage.
 */
bool db_is_newer(const char *path);

/* The name of the network file system that the file's folder is on, NULL if it is on none: there SQLite's log
 * (WAL) does not work, and db_open makes every transaction with a rollback journal instead, which is slower.
 * "GEMMTUNE_DB_SAFE": that variable demands the journal. */
const char *db_on_network(const char *path);

/* ---- own kernels ---- */

/* Where the program understands texts of own kernels (kernel_templates/own/own.h), it takes those of each
 * file that is opened here, if nobody but this user and root could have written the file; NULL: nowhere. A
 * text that is refused leaves the file's configurations of this kernel unusable. */
extern enum status (*db_take_kernel)(const char *text);

/* May texts of other files be stored in this one (merge, import)? */
extern bool db_accepts_kernels;

/* All texts of a file, by name; visit's error ends it. */
enum status db_own_kernels(struct db *db,
                           enum status (*visit)(void *self, const char *name, const char *text), void *self);

/* False: others than this user and root could have written the file, so that its own kernels are not used. */
bool db_is_trusted(const char *path, char why[DB_LACKING_MAX]);

/* ---- shards ---- */

#define DB_SUITE_HASH_MAX 17

/* What a file says of itself that belongs to one shard of a suite (docs/cluster.md). */
struct db_shard {
    char suite[DB_SUITE_HASH_MAX]; /* hash of the suite's problems: 16 hexadecimal digits */
    int number, count;             /* 0 <= number < count <= SHARDS_MAX */
    char version[128];             /* of the program that tunes it */
    int64_t problems;              /* of this shard */
    double spent_s;                /* of its budget, until it is finished */
    bool finished;                 /* its run ended by itself */
};
/* E_ABSENT: the file belongs to no shard. */
enum status db_shard_get(struct db *db, struct db_shard *shard);
/* Stores it; of a file that belongs to that shard already problems, spent_s and finished change. */
enum status db_shard_set(struct db *db, const struct db_shard *shard);

/* Writes a complete copy to path, also on a network file system: under another name beside it, which then
 * takes the place of what was there. No transaction may be open. was: what file_see has found there; with
 * another there now, it stays, E_BUSY. Afterwards the copy. NULL: whatever is there is replaced. Errors:
 * E_INPUT (it is db itself, or another user's symbolic link), E_BUSY (also: a tuner writes what is there),
 * E_IO; what was there stays. */
enum status db_save(struct db *db, const char *path, struct stat *was);

/* Opens what db_save has written, to read whose it is: without locks, which its file system may not have, for
 * it is never changed, only replaced. Its structure is not checked. Errors: as db_open with DB_READ. */
enum status db_open_copy(const char *path, struct db **copy);

/* Whether two paths name one file, which need not exist; its folder must. */
bool db_same_file(const char *a, const char *b);
/* Whether a tuner, this process included, has the file open for writing, as far as the file system's locks
 * show. */
bool db_is_written(const char *path);

/* Holds a name (PATH.lock beside it) against others that would hold it, and against tuners that would begin
 * to write there, for as long as what it names is compared and replaced: then nobody does so between. name:
 * for db_name_release, which leaves PATH.lock if it says whose log is there; -1, with OK, on a file system
 * without locks. Errors: E_BUSY (another has held it for patience_s), E_IO. */
enum status db_name_hold(const char *path, double patience_s, int *name);
void db_name_release(const char *path, int name);

/* Errors: E_DB: a log is beside path, which SQLite would read with whatever takes that place. */
enum status db_refuse_log(const char *path);

/* The median clock of the GPU's multiprocessors over the trials of this process, by board; boards whose clock
 * is unknown are left out. visit returns false to stop. */
struct db_clock {
    char gpu[GPU_NAME_MAX], uuid[48];
    int64_t trials;
    int median_mhz;
};
enum status db_clocks(struct db *db, bool (*visit)(void *self, const struct db_clock *clock), void *self);

/* Everything that a trial depends on besides problem and configuration. */
struct db_context {
    struct gpu gpu;
    char gpu_uuid[48]; /* "" when predicted without the GPU */
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
    bool cold;            /* cache policy */
    double power_limit_w; /* 0: unknown */
};

/* Version of the method of measuring and deciding (docs/measuring.md). Times of different versions are not
 * comparable: a result of another version is stale. */
#define DB_PROTOCOL 1

/* Stores the run and its GPU; *run_id identifies it in later calls. command is the command line. */
enum status db_run_start(struct db *db, const struct db_context *context, const char *command, uint64_t seed,
                         int64_t *run_id);
enum status db_run_end(struct db *db, int64_t run_id,
                       const char *how); /* "finished", "budget", "interrupted" */

/* Handles attempts of earlier runs that never ended: marks each as crashed, once, since its process died with
 * it. The writer calls it before it starts. *count: their number. A supervisor killed during an attempt
 * leaves one. Two for the same configuration quarantine it; one recovery counts once, on however many GPUs
 * the configuration was being tried. Since possibly only the supervisor died, db_find and db_best ignore such
 * a trial: the candidate is tried again unless it is quarantined. Earlier runs that never ended are marked
 * "killed". */
enum status db_recover(struct db *db, int64_t *count);

/* Committed before the candidate is sent (write-ahead). */
enum status db_attempt(struct db *db, int64_t run_id, const struct problem *problem,
                       const struct config *config, int64_t *attempt_id);
/* Commits the outcome. */
enum status db_record(struct db *db, int64_t attempt_id, const struct outcome *outcome);
/* The worker died for another reason (another candidate, the operator): the attempt does not count. */
enum status db_forget_attempt(struct db *db, int64_t attempt_id);

/* The newest outcome of a configuration for a problem on this GPU with the same kernel (kernel_hash) and
 * cache policy. E_ABSENT: never tried. *stale: obtained with another driver, compiler, power limit or
 * protocol (values that either side does not know are ignored). */
enum status db_find(struct db *db, const struct db_context *context, const struct problem *problem,
                    const struct config *config, struct outcome *outcome, bool *stale);

/* True if it crashed or hung twice on this GPU, for any problems and with kernels that have not changed. */
enum status db_quarantined(struct db *db, const struct db_context *context, const struct config *config,
                           bool *yes);

/* Errors of a product relative to the reference (no unit): the largest |c - ref| / (|A||B|); the root mean
 * square and the largest of c - ref, over the largest |ref|. */
struct db_errors {
    bool measured;
    double componentwise, rms, max;
};

/* As the values of a class (accuracy.h); unknown if they were not measured. */
struct accuracy db_errors_accuracy(const struct db_errors *errors);

/* What has to be done before a winner is as good as one decided now (tune refresh). */
enum db_due {
    DUE_NOTHING,
    DUE_RACE,  /* driver, cuBLAS, power limit or protocol changed: race it, the runners-up and the rival again
                */
    DUE_BUILD, /* NVRTC changed: the same, of kernels that are compiled anew */
    DUE_TUNE   /* the kernel's text changed, or it failed: tune again */
};

struct db_winner {
    struct winner base;
    struct config config;              /* template NULL: the rival won the race */
    char config_text[CONFIG_TEXT_MAX]; /* as stored; "cublas" when the rival won */
    struct gpu gpu;
    char gpu_uuid[48];
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX], cublas[DB_TEXT_MAX];
    bool stale; /* driver, cuBLAS or template code differ from the current ones (only with a context), or it
                   stands in for a winner that has failed */
    enum db_due due; /* out: by the changes since, as far as the context knows; NVRTC's makes nothing stale */
    bool unusable;   /* config refused by its rules, its template unknown or changed, its errors too large */
    bool imported;   /* out: raced elsewhere (tune import) */
    bool tied;
    bool pinned;                 /* measured or predicted at a user's request, not chosen among others */
    bool pin_holds;              /* out: its configuration is pinned now, however it was chosen */
    enum call_timing timing;     /* of the race that decided: time, ratio and interval are of this */
    bool by_energy;              /* the one of least energy, not the fastest */
    double joules, rival_joules; /* the energy of a call; 0: not measured */
    char rival[32];              /* the rival of the race: "cublasSgemm"; "": none */
    struct db_errors errors, rival_errors; /* on the same data */
    struct accuracy_checked checked;       /* by the last check of a winner of an accuracy class */
    int rounds, trials;                    /* blocks per runner; trials that the choice is based on */
    int64_t legal_count;                   /* size of the legal space */
    int model_rank;                        /* rank in the model's order, 1 is first; 0: unknown */
    double model_first16_share;            /* time_us over the best time of the model's first 16 */
    int registers, smem_bytes;
    char why[200];       /* out: why it is unusable, else why something is due; "" if neither */
    int64_t decision_id; /* out: for db_evidence */
};

#define DB_JOULES_MAX 1e12 /* more than any call takes */

/* Replace the winner of (problem, GPU, cache policy) in one transaction with its race samples. A measured
 * winner replaces a predicted one, never the reverse (then nothing is stored, and OK is returned). A pinned
 * configuration stays the winner, and an excluded one does not become it; winner->pinned pins this one.
 * Earlier decisions stay in the file. GPU and versions are those of the run. samples: blocks of all runners
 * in the order of the race; they are stored as evidence. */
struct db_race_sample {
    int runner; /* index into configs of the race; -1: the anchor */
    int round;
    double time_us; /* INFINITY: it failed */
    enum call_timing timing;
    double joules;    /* a call; 0: not measured */
    int sm_clock_mhz; /* at the end of the block; 0: unknown, */
    double power_w;   /* as are these */
    uint64_t throttle_reasons;
};
enum status db_set_winner(struct db *db, int64_t run_id, const struct db_winner *winner,
                          const struct config *runners, int runner_count,
                          const struct db_race_sample *samples, int sample_count);

/* *same: whether the run that made this decision had the same command and did not end, and no later run of
 * that command on such a GPU did. */
enum status db_decision_continues(struct db *db, int64_t decision_id, const char *command, bool *same);

/* ---- decisions by the user ---- */

/* For one problem on one GPU. A pin: this configuration is its winner, whatever was measured, until the pin
 * is removed; there is at most one. An exclusion: this configuration is never its winner. */
struct db_preference {
    struct gpu gpu; /* name, arch and sm_count */
    struct problem problem;
    bool pin;
    char config_text[CONFIG_TEXT_MAX]; /* as stored: its template may not exist any more */
    char when[32];
};

/* Stores a preference or (holds false) removes it; a pin replaces another one. In the same transaction the
 * winner changes accordingly: to the pinned configuration if a decision for it is stored, else to the newest
 * decision for a configuration that may win, preferably a measured one. If no configuration may win, there is
 * no winner. db_set_winner with winner->pinned also sets a pin. *changed: the preference was not stored
 * before. */
enum status db_prefer(struct db *db, const struct gpu *gpu, const struct problem *problem, bool pin,
                      const char *config_text, bool holds, bool *changed);

/* The preferences for the GPUs and the problem that match filter (NULL: all), newest first; without those
 * whose problem cannot be read (a later version stored it). visit returns false to stop; it must not use db.
 */
struct db_filter;
enum status db_preferences(struct db *db, const struct db_filter *filter,
                           bool (*visit)(void *self, const struct db_preference *preference), void *self);

/* ---- forgetting ---- */

/* What is stored for one problem on the GPUs that match, or what was removed of it. */
struct db_known {
    int64_t winners, trials, decisions, preferences, notes, attempts;
};
enum status db_known(struct db *db, const struct db_filter *filter, struct db_known *known);

/* Removes the winners for filter's problem on the GPUs that match, so that it counts as not tuned; with
 * everything also all that was measured and decided for it. One transaction. A merge with a file that still
 * has it brings it back. */
enum status db_forget(struct db *db, const struct db_filter *filter, bool everything,
                      struct db_known *removed);

/* ---- notes about searches ---- */

/* Stores a sentence about the search for a problem in a run; an equal one is stored only once. */
enum status db_note(struct db *db, int64_t run_id, const struct problem *problem, const char *text);
/* The notes of runs on the GPUs and for the problem that match filter, newest run first. */
struct db_search_note {
    int64_t run_id;
    char when[32]; /* start of the run */
    char text[256];
};
enum status db_notes(struct db *db, const struct db_filter *filter,
                     bool (*visit)(void *self, const struct db_search_note *note), void *self);

/* Lists leave out rows whose problem cannot be read because a later version stored it. */
struct db_later {
    int64_t problems, trials, winners;
};
/* Counts the later rows of the whole file; zeros if no list has left out any since it was opened. */
enum status db_count_later(struct db *db, struct db_later *later);

/* Which winners to list; NULL fields match all. */
struct db_filter {
    const char *gpu; /* id, name or architecture ("sm_90"), case and "NVIDIA" ignored */
    const struct problem *problem;
    bool alike; /* for a problem without a measured winner, also those that are as good (problem_alike) */
};
/* visit returns false to stop; it must not call db_winners. now may be NULL (then nothing is marked stale);
 * it applies only to winners of the GPU that it names. Order: by GPU, then by problem as stored, then by
 * cache policy: that of now before the other (cold first if now is NULL). A decision is a winner until the
 * newest outcome of its configuration (same GPU, problem and kernel, either cache policy) is a failure: then
 * the newest other decision that may win stands in for it and is marked stale, until a good outcome
 * follows. */
enum status db_winners(struct db *db, const struct db_filter *filter, const struct db_context *now,
                       bool (*visit)(void *self, const struct db_winner *winner), void *self);

/* The winners that are none any more: the newest outcome of their configuration for their problem on their
 * GPU is a failure, and no other decision stands in for them. As db_winners lists the others. */
enum status db_failed_winners(struct db *db, const struct db_filter *filter,
                              bool (*visit)(void *self, const struct db_winner *winner), void *self);

/* Every decision that is stored, winners or not, as db_winners lists those that hold; of a problem in the
 * order stored. */
enum status db_decisions(struct db *db, const struct db_filter *filter,
                         bool (*visit)(void *self, const struct db_winner *decision), void *self);

/* The command line of the run that made this decision, cut to the room. E_ABSENT: there is none. */
enum status db_decision_command(struct db *db, int64_t decision_id, char *command, size_t room);

/* The columns of a winner that the library needs. */
struct db_brief {
    struct winner base;
    struct config config;        /* template NULL: cuBLAS won */
    bool other_gpu;              /* from another GPU of the same architecture */
    bool changed;                /* the kernel has changed since it was measured */
    bool unproven;               /* its type has limits, and no measured errors show that it is within them */
    struct accuracy_claim claim; /* of a type with limits */
    int protocol;
    char driver[DB_TEXT_MAX];
};

/* The winner for exactly this problem on this GPU; a measured one is preferred, then the cold cache policy.
 * E_ABSENT: there is no valid one. The configuration has been parsed; the caller must still check its rules.
 */
enum status db_brief_find(struct db *db, const struct gpu *gpu, const struct problem *problem,
                          struct db_brief *brief);

/* *failed: the newest outcome of this configuration for this problem on this GPU, of a kernel that has not
 * changed, is a failure; it counts if it is later than `since` (as struct winner has it; "": always). */
enum status db_has_failed(struct db *db, const struct gpu *gpu, const struct problem *problem,
                          const struct config *config, const char *since, bool *failed);

/* The stored problems that are as good (problem_alike), without this one: that whose winner was decided last
 * comes first, those without a winner come last. Costs the same however many problems are stored. */
#define DB_ALIKE_MAX 16
enum status db_problems_alike(struct db *db, const struct problem *problem,
                              struct problem alike[DB_ALIKE_MAX], int *count);

/* The winners of GPUs of this architecture for the problems with these ids, in that order. Rows with
 * impossible values are skipped and counted. visit returns false to stop; it must not use db. */
enum status db_brief_of(struct db *db, const struct gpu *gpu, const int64_t *problems, int count,
                        bool (*visit)(void *self, const struct db_brief *brief), void *self, int64_t *broken);

/* Every stored problem, with its id, whether it has a winner or not; rows with impossible values are skipped.
 * visit returns false to stop; it must not use db. */
enum status db_problems_each(struct db *db,
                             bool (*visit)(void *self, int64_t number, const struct problem *problem),
                             void *self);

/* The race behind a winner. Arrays are malloc'ed, owned by the caller: db_evidence_free. */
struct db_evidence {
    char (*runner_text)[CONFIG_TEXT_MAX]; /* configuration of runner 0, 1, ... */
    int runner_count;
    struct db_race_sample *samples; /* in the order of the race */
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

/* All trials of a problem on the matching GPUs, newest run first, each run from its beginning; for explain.
 * config_text is as stored. */
struct db_trial {
    char config_text[CONFIG_TEXT_MAX];
    char gpu_name[GPU_NAME_MAX];
    struct problem problem;
    int64_t run_id, ended_us;
    char when[32]; /* it ended */
    struct outcome outcome;
    bool recovered; /* no outcome was reported: the tuner had been killed */
    bool current;   /* its kernel is known and has not changed since */
};
enum status db_trials(struct db *db, const struct db_filter *filter,
                      bool (*visit)(void *self, const struct db_trial *trial), void *self);
/* The same trials; of each GPU the one that ended last comes first, whatever its run. */
enum status db_newest_trials(struct db *db, const struct db_filter *filter,
                             bool (*visit)(void *self, const struct db_trial *trial), void *self);
/* All trials of one run, of every problem, in the order in which they ended. Reads through the whole table:
 * about 1 s per million trials. */
enum status db_run_trials(struct db *db, int64_t run_id,
                          bool (*visit)(void *self, const struct db_trial *trial), void *self);

/* Best usable times so far on this GPU for this problem, in ascending order: for resuming a search and for
 * choosing finalists. */
struct db_best {
    struct config config;
    struct outcome outcome;
};
enum status db_best(struct db *db, const struct db_context *context, const struct problem *problem,
                    struct db_best *best, int room, int *count);

/* Complete check: PRAGMA integrity_check, foreign keys, the content hash of every row, the values of every
 * trial. For a file that is read from a copy, the first two check the file itself. visit is called after each
 * check with its name, and "" or the first finding. *clean: no findings. Open attempts are not findings.
 * Takes about 10 s per million trials. */
enum status db_check_each(struct db *db, void (*visit)(void *self, const char *what, const char *finding),
                          void *self, bool *clean);
/* The same with the findings as text, one line each. */
enum status db_check(struct db *db, char *text, size_t room, bool *clean);
/* The same for callers that are about to read or extend the whole file. Errors: E_DB with the first
 * finding. */
enum status db_check_whole(struct db *db);

/* Numbers of rows. */
struct db_counts {
    int64_t gpus, problems, configs, runs, trials, attempts, decisions, winners;
};
enum status db_count(struct db *db, struct db_counts *counts);

#endif
