/* db_internal.h — shared by the files of db/; only they and their tests include it.
 *
 * db_open.c    opening, closing, settings that make an untrusted file harmless
 * db_place.c   files and folders: default path, network file systems, which files were checked
 * db_lock.c    one writer per file, whatever its name
 * db_schema.c  checks that a file is ours, its version, and that version's tables
 * db_migrate.c older versions: migrated, or read from a migrated copy
 * db_hash.c    hashes of the content of rows
 * db_sql.c     statements, binding, checked reading, transactions, errors
 * db_keys.c    rows of GPUs, problems, configurations
 * db_list.c    rows that match a filter; trials
 * db_later.c   rows whose problem only a later version can read
 * db_runs.c    runs, attempts, recovery
 * db_trials.c  outcomes: record, find, list
 * db_winners.c decisions and winners
 * db_preferences.c pins and exclusions
 * db_notes.c   sentences about searches
 * db_own.c     texts of own kernels
 * db_shard.c   what a file says of itself that is one shard's; a copy of the file
 * db_dump.c    all trials, for export
 * db_import.c  rows from text
 * db_challenge.c which of two winners is better
 * db_ahead.c   opens and checks a file in a thread
 * db_bulk.c    many rows in one transaction, fast
 * db_code.c    machine code that ships, a file of its own
 * db_merge.c   rows from another database
 * db_merge_trials.c its trials
 * db_runtime.c winners for programs that run them
 * db_check.c   the full check
 * db_check_trials.c a part of it: the trials
 * db_values.c  a part of it: whether values are possible
 */
#ifndef GT_DB_INTERNAL_H
#define GT_DB_INTERNAL_H

#include "db.h"
#include "template.h"
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#define DB_APPLICATION_ID 1735224677
#define DB_VERSION        2
#define DB_OLDEST         2 /* the first version that was published */
#define DB_HASH_BYTES     16
#define DB_TEMPLATES_MAX  32
#define DB_STATEMENTS_MAX 96

/* schema_hash of a template's parameters; computed once per template. */
struct db_parameters {
    const struct template *template;
    int64_t schema;
};

struct db {
    sqlite3 *handle;
    sqlite3 *file; /* for DB_READ: the file itself, if handle is a migrated copy of it; else NULL */
    enum db_mode mode;
    bool ready;  /* opened completely: the file is ours and intact */
    bool safe;   /* rollback journal: the file is on a network file system */
    pid_t owner; /* a connection must not be used across a fork */
    struct db_hold *hold;
    bool writing;      /* hold is for writing */
    bool created;      /* the file did not exist before */
    size_t made;       /* length of the first folder in `given` that was created; 0: none */
    bool left_out;     /* a list has left out rows of a later version */
    int64_t first_run; /* runs from this id on are of this process, or merged meanwhile; 0: none yet */
    int64_t last_run;  /* the last that this process has started */
    struct {
        const char *sql; /* a string literal, identified by its address */
        sqlite3_stmt *handle;
    } statements[DB_STATEMENTS_MAX];
    int statement_count;
    struct db_parameters parameters[DB_TEMPLATES_MAX];
    int parameters_count;
    struct db_incoming *incoming;         /* trials that are being merged (db_merge_trials.c) */
    bool merges;                          /* it has the table that reads them */
    char path[PATH_MAX], given[PATH_MAX]; /* resolved, and as passed */
    char rescued[PATH_MAX];               /* the copy of a file that was removed while it was written */
};

/* --- db_place.c --- */

/* The name of a file system on which WAL does not work, NULL for others; magic is statfs's f_type. */
const char *db_network_name(int64_t magic);
/* Removes a database with what SQLite keeps beside it. */
void db_remove_files(const char *path);
/* Errors: E_INPUT (it is too long for SQLite). */
enum status db_check_path(const char *path);
/* Absolute, without symbolic links; the last part need not exist. Errors: E_IO, E_INPUT (too long for
 * SQLite). */
enum status db_resolve(const char *path, char resolved[PATH_MAX]);
/* Was this file (path, device, inode) checked on this machine before? Stored in the folder of compiled
 * kernels. */
bool db_checked(const char *path);
void db_remember_checked(const char *path);

/* --- db_lock.c: path must be resolved --- */

struct db_hold; /* this process's locks on a file */

/* For reading. Errors: E_BUSY (it is being written under another name), E_DB (its log belongs to another
 * name), E_IO. */
enum status db_hold_read(const char *path, struct db_hold **hold);
/* For writing: creates a missing file. Errors: E_BUSY with the holder's process id, those above; E_IO also if
 * the file system has no locks. */
enum status db_hold_write(const char *path, struct db_hold **hold);
/* Call it when a connection may have the log's index (NAME-shm) in memory, and often: it takes the time of a
 * stat. Keeps other programs from cutting the index until the release. Without an index it does nothing. */
void db_hold_index(const char *path, struct db_hold *hold);
/* Call it when a writer's connection has made its log (NAME-wal): notes in NAME.lock whose it is, so that a
 * file that takes the name is not read with it. */
void db_hold_log(const char *path, struct db_hold *hold);
/* Whether that log is still there under its name. */
bool db_hold_has_log(const char *path, const struct db_hold *hold);
/* Whether the file says that it has a log (WAL mode). */
bool db_hold_in_wal(const struct db_hold *hold);
/* Whether a writer's file has lost its name. now: the one that it has, "" if it has none. */
bool db_hold_moved(const char *path, const struct db_hold *hold, char now[PATH_MAX]);
/* Call it after the connection is closed; takes NULL. writer: whether it comes from db_hold_write. */
void db_release(const char *path, struct db_hold *hold, bool writer);

/* --- db_save.c --- */

/* Whether a writer's file still has its name. Errors: E_IO, with where the results are: under another name,
 * or, if the file was removed, in a copy that this makes. */
enum status db_check_place(struct db *db);

/* --- db_connect.c --- */

/* Opens a connection with safe settings; nothing is read yet. */
enum status db_connect(const char *path, int flags, sqlite3 **handle);
/* The same for reading a file that does not change: without locks and log. */
enum status db_connect_immutable(const char *path, sqlite3 **handle);

/* Copies all of a file into an empty one, which is one plain file then. Returns SQLite's code. */
int db_copy_content(sqlite3 *from, sqlite3 *to);

/* --- db_open.c --- */

/* Off: statements that change or drop protected tables can be prepared. For our own statements that need
 * this. */
void db_guard(struct db *db, bool on);
/* Removes -wal and -shm beside a file, after the log was written back, if no other connection is open: where
 * the disk was full SQLite leaves them. */
void db_clear_log(const char *path);

/* --- db_schema.c --- */

struct db_migration {
    const char *sql[4]; /* texts that are run one after the other; NULL ends them */
};

/* The schema of a current file, and the migrations to it. */
struct db_form {
    int oldest, version;              /* files of these versions and of those between are opened */
    const char *const *schemas;       /* schemas[i]: the original tables of version oldest + i */
    const struct db_migration *steps; /* steps[i]: from version oldest + i to the next */
    const char *const *growth;        /* additions to `version`, in order (docs/database.md) */
    int growth_count;
};
extern const struct db_form db_form;

/* Runs a statement that gives one integer; returns SQLite's result code. */
int db_ask(sqlite3 *handle, const char *sql, int64_t *value);
/* The file's version; 0 and *empty for a file without content. Errors: E_DB: foreign, or older or newer than
 * what the form opens; E_IO. */
enum status db_identify(sqlite3 *handle, const char *path, const struct db_form *form, int *version,
                        bool *empty);
/* Creates the tables of a version with the first `grown` steps of its growth; returns SQLite's result
 * code. */
int db_make_tables(sqlite3 *handle, const struct db_form *form, int version, int grown);
/* The schema must be the text of this version, word for word, so that the file contains no views, triggers or
 * other code. A newer program may have added plain columns, tables and indices. *missing: number of steps of
 * the growth that it lacks. Errors: E_DB. */
enum status db_check_schema(sqlite3 *handle, const char *path, const struct db_form *form, int version,
                            int *missing);
/* Checks the structure of the file; full: also the content of its indices. Errors: E_DB with the first
 * finding. */
enum status db_check_structure(sqlite3 *handle, const char *path, bool full);

/* --- db_migrate.c --- */

/* Creates the tables of an empty file; backs up an older file and migrates it. One transaction; existing
 * current tables are not changed. */
enum status db_migrate(sqlite3 *handle, const char *path, const struct db_form *form);
/* Runs the last `missing` steps of the growth in one transaction. */
enum status db_grow(sqlite3 *handle, const char *path, const struct db_form *form, int missing);
/* Opens a connection to a migrated copy of a file that may only be read. glance: an in-memory copy of only
 * what is needed to find winners. Called inside a transaction of `from` that began before version and missing
 * were read, so that a migration by another process meanwhile is not seen. */
enum status db_copy_up_to_date(sqlite3 *from, const char *path, const struct db_form *form, int version,
                               int missing, bool glance, sqlite3 **copy);

/* --- db_hash.c --- */

/* The SQL functions content_hash(value, ...), see schema.sql, and rate_text(name, value), exact. */
int db_register_functions(sqlite3 *handle);

/* content_hash outside SQL: start, values in order, end; again: the next row. */
struct hasher {
    unsigned char *bytes; /* NULL as long as `some` is enough */
    size_t used, room;
    bool failed; /* out of memory */
    unsigned char some[1024];
};
void hash_start(struct hasher *h);
void hash_again(struct hasher *h);
void hash_value(struct hasher *h, sqlite3_value *value);
void hash_blob(struct hasher *h, const void *bytes, size_t length);
bool hash_end(struct hasher *h, unsigned char digest[DB_HASH_BYTES]); /* false: out of memory */
void hash_free(struct hasher *h);

/* --- db_sql.c --- */

/* Converts SQLite's result code into a status, with a sentence. what: "store a trial". */
enum status db_error(sqlite3 *handle, const char *path, int rc, const char *what);
enum status db_broken(const struct db *db, const char *what,
                      int64_t id); /* E_DB: a value that we never write */

enum status db_exec(struct db *db, const char *sql, const char *what);
enum status db_writable(const struct db *db); /* E_DB for a reader or a forked child: a bug of ours */
enum status db_begin(struct db *db);
enum status db_end(struct db *db,
                   enum status st); /* commits if OK, else rolls back and keeps the first error */

/* A statement, prepared at its first use and kept; sql must be one string literal. Its parameters are bound
 * from left to right. A failure is reported when it is run. */
struct binder {
    sqlite3_stmt *stmt;
    int next, rc;
    enum status st; /* of its preparation */
};
struct binder db_bind(struct db *db, const char *sql);
/* The same with these numbers as the first parameters. */
struct binder db_bind_ints(struct db *db, const char *sql, const int64_t *numbers, int count);
void bind_int(struct binder *b, int64_t value);
void bind_real(struct binder *b, double value);   /* NAN: NULL */
void bind_finite(struct binder *b, double value); /* NAN, infinity: 0 */
void bind_text(struct binder *b, const char *value);
void bind_blob(struct binder *b, const void *value, int bytes);
void bind_null(struct binder *b);
void bind_value(struct binder *b, sqlite3_stmt *row, int column); /* of another statement's row */

/* Run a statement that gives no row. *changes may be NULL. */
enum status db_run(struct db *db, const struct binder *b, int64_t *changes, const char *what);
/* Runs an INSERT; *id: the id of its row. */
enum status db_insert(struct db *db, const struct binder *b, int64_t *id, const char *what);
/* Reads the next row; *row is false at the end, and the statement reset. db_done: no more rows are needed. */
enum status db_next(struct db *db, const struct binder *b, bool *row, const char *what);
void db_done(const struct binder *b);

/* Own kernels: the text of a template; those of a file that may be taken, offered when it is opened; those of
 * another file (E_INPUT: it has some that this one has not, and !db_accepts_kernels). */
enum status db_keep_kernel(struct db *db, const struct template *t);
enum status db_take_own(struct db *db);
struct db_merged;
enum status db_copy_own(struct db *to, struct db *from, struct db_merged *merged);
/* Runs a statement that gives one integer (0 if there is no row, or if it is NULL). */
enum status db_integer(struct db *db, const struct binder *b, int64_t *value, const char *what);

/* Reads columns from left to right; the first value of another type or outside its range is remembered in
 * bad. */
struct reader {
    sqlite3_stmt *stmt;
    int next;
    const char *bad; /* name of the first bad column; NULL: none */
};
struct reader read_start(sqlite3_stmt *stmt);
int64_t read_long(struct reader *r, const char *name, int64_t least, int64_t most);
int read_int(struct reader *r, const char *name, int least, int most);
bool read_bool(struct reader *r, const char *name);
double read_real(struct reader *r, const char *name, double least, double most);
double read_time_us(struct reader *r, const char *name); /* of a call; 0: none */
#define DB_CALL_US_LEAST 1e-3                            /* a call takes at least a nanosecond */
#define DB_CALL_US_MAX   1e15
void read_text(struct reader *r, const char *name, char *text, size_t room);
bool read_is_null(struct reader *r); /* whether the next column is NULL; then skips it */

/* The current time, limited to what can be stored. */
int64_t db_now_us(void);
/* Errors: E_INPUT (the clock is outside the range that can be stored). */
enum status db_check_clock(void);
void db_time_text(int64_t us, char text[32]);
#define DB_TIME_MAX INT64_C(253402300799000000) /* the end of the year 9999 */

/* --- db_keys.c --- */

/* Ids of rows. The add functions insert a missing row (inside a transaction), the find functions return 0 for
 * it. */
enum status db_add_gpu(struct db *db, const struct gpu *gpu, int64_t *gpu_id, int64_t *figures_id);
enum status db_add_problem(struct db *db, const struct problem *problem, int64_t *id);
enum status db_add_config(struct db *db, const struct config *config, const struct problem *problem, int arch,
                          int64_t *id);
enum status db_find_gpu(struct db *db, const struct gpu *gpu, int64_t *id);
enum status db_find_problem(struct db *db, const struct problem *problem, int64_t *id);
enum status db_find_config(struct db *db, const struct config *config, const struct problem *problem,
                           int arch, int64_t *id);
/* Bind what identifies a row, in the order of content_hash's arguments: three and four parameters. */
void bind_gpu(struct binder *b, const struct gpu *gpu);
void bind_config(struct binder *b, struct db *db, const struct config *config, const struct problem *problem,
                 int arch);
int64_t db_parameters_hash(struct db *db, const struct template *t);
/* Hash of the kernel that a configuration is compiled to for a problem. */
int64_t db_kernel_hash(const struct config *config, const struct problem *problem, int arch);
/* "NAME=0123456789abcdef": the bits of the value. False: it does not fit. */
#define DB_RATE_TEXT_MAX  64
#define DB_RATES_TEXT_MAX 1024
bool db_rate_format(const char *name, double value, char text[DB_RATE_TEXT_MAX]);

/* Rows that match a filter: ids of GPUs, malloc'ed (NULL on errors), and of the problem, 0 for any. No GPU if
 * the problem is not stored. */
enum status db_match(struct db *db, const struct db_filter *filter, int64_t **gpus, int *count,
                     int64_t *problem_id);
/* The figures of a run, checked. Columns: DB_FIGURES_COLUMNS. */
#define DB_FIGURES_COLUMNS                                                                                   \
    "g.name, g.arch, g.sm_count, f.short_name, f.threads_per_sm, f.blocks_per_sm, f.registers_per_sm, "      \
    "f.smem_per_sm_bytes, f.smem_per_block_bytes, f.smem_reserved_bytes, f.l2_bytes, f.memory_bytes, "       \
    "f.clock_mhz, f.source, " DB_FIGURES_RATES
void db_read_figures(struct reader *r, struct gpu *gpu);

/* --- db_runs.c --- */

struct db_run_row {
    const struct db_context *context;
    int protocol;
    uint64_t seed;
    const char *command;
    int64_t nonce, started_us;
};
/* The run with this content; a missing one is inserted. Inside a transaction. */
enum status db_add_run(struct db *db, const struct db_run_row *row, int64_t *run_id);
/* The architecture of a run's GPU. Errors: E_ABSENT. */
enum status db_run_arch(struct db *db, int64_t run_id, int *arch);

#define DB_PROTOCOL_COLUMNS "r.driver, r.nvrtc, r.power_limit_w, r.protocol"
/* True if both versions are known and differ. */
static inline bool db_differ(const char *x, const char *y)
{
    return x[0] && y[0] && strcmp(x, y) != 0;
}

/* --- db_list.c --- */

/* Rows that match a filter: sql is run for each GPU, by name, with the GPU's id as ?1 and the problem's as
 * ?2, 0 for any. row reads one row, and may set *more to false; a row that it cannot read because its problem
 * is of a later version is left out. what: "list trials". */
struct db_list {
    const char *sql, *what;
    enum status (*row)(struct db *db, sqlite3_stmt *stmt, void *self, bool *more);
    void *self;
    int problem; /* column of the problem's text, or DB_NO_PROBLEM: no row is left out */
};
#define DB_NO_PROBLEM (-1)
enum status db_list(struct db *db, const struct db_filter *filter, const struct db_list *list);

/* --- db_later.c --- */

/* True if a stored problem is as it was written, though this version cannot read it: its rows are left alone.
 * status_text() stays. */
bool db_is_of_later_version(struct db *db, const char *text);
/* The same of a row whose hash is right, by what this version knows of any problem: a text of visible
 * characters that begins with its type. */
bool db_may_be_of_later_version(const char *text, const char *type);

/* --- db_trials.c --- */

/* An outcome as stored. */
#define DB_OUTCOME_COLUMNS                                                                                   \
    "t.cold, t.verdict, t.detail, t.registers, t.spill_bytes, t.static_smem_bytes, t.cubin_bytes, "          \
    "t.compile_ms, t.time_us, t.samples_us, t.worst_error, t.exact, t.sm_clock_mhz, t.memory_clock_mhz, "    \
    "t.power_w, t.temperature_c, t.throttle_reasons, t.wall_ms"
void db_read_outcome(struct reader *r, struct outcome *outcome);
/* The same from the columns DB_TRIAL_CONTENT. */
void db_read_trial_content(struct reader *r, struct outcome *outcome);
/* Binds the verdict and what follows: the columns after recovered_us of DB_TRIAL_CONTENT. */
void db_bind_outcome(struct binder *b, const struct outcome *outcome);
/* Reads the columns kernel_hash, schema_hash, text. False if the template is unknown, or its kernel for this
 * problem has changed. */
bool db_read_config(struct db *db, struct reader *r, const struct problem *problem, int arch,
                    char text[CONFIG_TEXT_MAX], struct config *config);

/* Inserts the trial of an open attempt; recovered_us 0: reported by the tuner. Inside a transaction. */
enum status db_insert_trial(struct db *db, int64_t attempt_id, const struct outcome *outcome,
                            int64_t recovered_us);

/* --- which decision holds: SQL about a decision `d` with a configuration `c` (none: the rival won) --- */

/* The configuration that is pinned for the problem of a decision `d`; NULL: none. If several pins hold, the
 * one changed last counts; of equal ones the first by text. */
#define DB_PINNED                                                                                            \
    "(SELECT f.config FROM preferences f WHERE f.gpu_id = d.gpu_id AND f.problem_id = d.problem_id AND "     \
    "f.pin = 1 AND f.holds = 1 ORDER BY f.changed_us DESC, f.config LIMIT 1)"
#define DB_NOT_EXCLUDED                                                                                      \
    "NOT EXISTS (SELECT 1 FROM preferences f WHERE f.gpu_id = d.gpu_id AND f.problem_id = d.problem_id AND " \
    "f.pin = 0 AND f.holds = 1 AND f.config = c.text)"

/* The trial `t` that is the newest outcome of a configuration for a problem on a GPU, with either cache
 * policy. A prediction is none, nor is a trial that was recovered (db_recover). */
#define DB_NEWEST_OUTCOME(gpu, problem, config)                                                              \
    "FROM trials t INDEXED BY trials_by_key WHERE t.gpu_id = " gpu " AND t.problem_id = " problem            \
    " AND t.cold IN (0, 1) AND t.config_id = " config " AND t.verdict <> 'predicted' AND t.recovered_us IS " \
    "NULL ORDER BY t.ended_us DESC, t.id DESC LIMIT 1"
#define DB_IS_FAILURE "t.verdict NOT IN ('measured', 'slow')"

/* The newest outcome is a failure. A measured decision is an outcome itself: only a later failure counts. */
#define DB_REFUTED                                                                                           \
    "coalesce((SELECT " DB_IS_FAILURE " AND (d.predicted OR t.ended_us > d.decided_us) " DB_NEWEST_OUTCOME(  \
        "d.gpu_id", "d.problem_id", "d.config_id") "), 0)"

/* The decision for a key that is next in line: pinned, else measured before predicted, the newest first; one
 * made for a former pin only if there is no other. */
#define DB_NEXT(gpu, problem, cold, condition)                                                               \
    "SELECT d.id FROM decisions d LEFT JOIN configs c ON c.id = d.config_id WHERE d.gpu_id = " gpu           \
    " AND d.problem_id = " problem " AND d.cold = " cold " AND (" DB_PINNED                                  \
    " IS NULL OR c.text = " DB_PINNED ") AND " DB_NOT_EXCLUDED " AND " condition                             \
    " ORDER BY CASE WHEN " DB_PINNED                                                                         \
    " IS NULL THEN d.pinned ELSE 0 END, d.predicted, d.decided_us DESC, d.hash LIMIT 1"

/* The table of winners as everybody reads it: in place of a decision that is refuted stands the next that is
 * not, or none. chosen_id: the decision of the table. The table itself stays, since a later outcome, or those
 * of another database, may reinstate the decision. */
#define DB_STANDING                                                                                          \
    "(SELECT w.gpu_id, w.problem_id, w.cold, w.decision_id AS chosen_id, CASE WHEN EXISTS (SELECT 1 FROM "   \
    "decisions d WHERE d.id = w.decision_id AND " DB_REFUTED                                                 \
    ") THEN (" DB_NEXT("w.gpu_id", "w.problem_id", "w.cold",                                                 \
                       "NOT " DB_REFUTED) ") ELSE w.decision_id END AS decision_id FROM winners w)"

/* --- db_winners.c --- */

/* Stores the errors of decision number `decision` and the decision itself, unless one with this content
 * exists. Its evidence must be stored before. config_id 0: cuBLAS won. db_point_to makes a decision the
 * winner. Both inside a transaction. */
enum status db_add_decision(struct db *db, int64_t run_id, int64_t decision, int64_t problem_id,
                            int64_t config_id, const struct db_winner *winner, int64_t decided_us,
                            bool *added);
enum status db_next_decision(struct db *db, int64_t *decision);

/* Reads the errors measured for a decision; those not measured are left unchanged. */
enum status db_read_errors(struct db *db, int64_t decision, struct db_errors *winner, struct db_errors *rival,
                           struct accuracy_checked *checked);

/* --- db_preferences.c --- */

/* Makes a decision the winner of its problem. */
enum status db_point_to(struct db *db, int64_t decision);
/* *may: true if a decision may be the winner of its key: no other one is pinned, it is not excluded, and it
 * was not made for a pin that has been removed. */
enum status db_may_win(struct db *db, int64_t decision, bool *may);
/* Pins the configuration of a decision, which becomes the winner. Inside a transaction. */
enum status db_pin_decision(struct db *db, int64_t decision);
/* Updates the winners of all keys that have preferences. Inside a transaction. */
enum status db_settle_all(struct db *db);

/* --- db_challenge.c --- */

/* Makes a decision the winner unless the present one is better (db_exchange.h defines the order). Inside a
 * transaction. */
enum status db_challenge(struct db *db, int64_t decision, bool *won);

/* --- db_ahead.c --- */

/* A file that is opened for reading, with a transaction, and checked completely, in a thread of its own or,
 * where none can be started, at once. */
struct db_ahead {
    const char *path; /* NULL: none */
    pthread_t thread;
    bool threaded;
    struct db *db;
    enum status st;
    char why[1024];
};
void db_ahead_start(struct db_ahead *ahead, const char *path);
/* Waits for it. *db: the caller closes it, also after an error; NULL: it cannot be opened. Errors: of
 * db_open; E_DB with a finding of the check. */
enum status db_ahead_end(struct db_ahead *ahead, struct db **db);

/* --- db_bulk.c --- */

#define DB_BULK_INDICES 3

/* Sizes of the cache, for db_exec. */
#define DB_CACHE       "PRAGMA cache_size = -16000" /* KiB */
#define DB_CACHE_INPUT "PRAGMA cache_size = -64000" /* of a file that is being merged */
/* The hashes of trials lie at random places of their index: as long as it fits in the cache, it is read and
 * written once. 400 MB are enough for ten million trials; with more the rate falls, and nothing else changes.
 */
#define DB_CACHE_BULK "PRAGMA cache_size = -400000"

struct db_bulk {
    char
        *text[DB_BULK_INDICES]; /* of the indices of trials that are built at the end; NULL: they are there */
};

/* Starts a transaction for many rows that have been checked: with a large cache (400 MB at most), and without
 * the CHECKs of the schema. indices_later: the indices of trials are built at the end, which is faster if the
 * file grows by more than it holds; until then nothing may look for trials but by id or hash.
 * db_bulk_end must follow, also after an error: it commits if st is OK, else nothing has changed, and returns
 * the first error. */
enum status db_bulk_start(struct db *db, bool indices_later, struct db_bulk *bulk);
enum status db_bulk_end(struct db *db, struct db_bulk *bulk, enum status st);

/* --- db_merge_trials.c --- */

/* Ids for trials without an attempt, which no attempt may get: the first free id; once those up to the last
 * one are used, attempts continue after them. Inside a transaction. */
enum status db_free_trial_id(struct db *db, int64_t *id);
enum status db_used_trial_ids(struct db *db, int64_t last);

/* --- db_check.c --- */

/* (db_check_trials.c) What is wrong with the trials, each the first by id or "": its GPU is not its run's,
 * its content does not have its hash, a reader would refuse a value. Their references must have been checked.
 */
struct db_trial_findings {
    char gpu[256], content[256], values[256];
};
enum status db_check_trials(struct db *db, struct db_trial_findings *findings);
/* (db_values.c) Looks for values that a reader would refuse, in tables that the checks of hashes do not read:
 * the first finding, or "". */
enum status db_check_values(struct db *db, char *finding, size_t room);

/* The columns that are the content of a row, in the order of content_hash's arguments. Referenced rows come
 * first, by their hashes. One list serves writing and checking. */
#define DB_FIGURES_CONTENT                                                                                   \
    "short_name, threads_per_sm, blocks_per_sm, registers_per_sm, smem_per_sm_bytes, smem_per_block_bytes, " \
    "smem_reserved_bytes, l2_bytes, memory_bytes, clock_mhz, source"
/* The rates of figures `f` as one text. */
#define DB_FIGURES_RATES                                                                                     \
    "(SELECT group_concat(rate, ' ') FROM (SELECT rate_text(name, value) AS rate FROM gpu_rates "            \
    "WHERE figures_id = f.id ORDER BY name))"
#define DB_RUN_CONTENT                                                                                       \
    "gpu_uuid, driver, nvrtc, cublas, power_limit_w, cold, protocol, seed, command, nonce, started_us"
#define DB_TRIAL_CONTENT                                                                                     \
    "cold, started_us, ended_us, recovered_us, verdict, detail, registers, spill_bytes, static_smem_bytes, " \
    "cubin_bytes, compile_ms, time_us, samples_us, worst_error, exact, sm_clock_mhz, memory_clock_mhz, "     \
    "power_w, "                                                                                              \
    "temperature_c, throttle_reasons, wall_ms"
#define DB_DECISION_CONTENT                                                                                  \
    "cold, decided_us, predicted, tied, exact, time_us, rival, anchor_us, ratio, ratio_low, ratio_high, "    \
    "rounds, "                                                                                               \
    "trials, "                                                                                               \
    "legal_count, model_rank, model_first16_share, registers, smem_bytes"
/* The race of decision `x` and the errors of its products, as texts. */
#define DB_EVIDENCE                                                                                          \
    "(SELECT group_concat(hex(h), '') FROM (SELECT content_hash(e.runner, c.hash) AS h FROM "                \
    "decision_runners e "                                                                                    \
    "JOIN configs c ON c.id = e.config_id WHERE e.decision_id = x.id ORDER BY e.runner)), "                  \
    "(SELECT group_concat(hex(h), '') FROM (SELECT content_hash(e.position, e.runner, e.round, e.time_us) "  \
    "AS h "                                                                                                  \
    "FROM decision_samples e WHERE e.decision_id = x.id ORDER BY e.position)), "                             \
    "(SELECT group_concat(hex(h), '') FROM (SELECT content_hash(e.who, e.name, e.value) AS h "               \
    "FROM decision_errors e WHERE e.decision_id = x.id ORDER BY e.who, e.name))"

/* What the decisions have got since, no part of their hash. */
#define DB_DECISION_GROWN "pinned, timing, objective, joules, rival_joules"

/* TIMING_COUNT for those that only a later program knows. */
enum call_timing db_read_timing(struct reader *r);

#endif
