/* db_internal.h — what the files of db/ share; only they and their tests include it.
 *
 * db_open.c    opening, closing, settings that make an untrusted file harmless
 * db_place.c   files and folders: default path, network file systems, which files were checked
 * db_lock.c    one writer per file, whatever its name
 * db_schema.c  whether a file is ours, its version, whether it has that version's tables
 * db_migrate.c older versions: migrated, or read from a migrated copy
 * db_sql.c     statements, binding, checked reading, transactions, errors
 * db_keys.c    rows of GPUs, problems, configurations
 * db_list.c    rows of what a filter lets through; trials
 * db_runs.c    runs, attempts, recovery
 * db_trials.c  outcomes: record, find, list
 * db_winners.c decisions and winners
 * db_preferences.c what a person has pinned and excluded
 * db_notes.c   sentences about searches
 * db_dump.c    all trials, for export
 * db_import.c  rows from text
 * db_merge.c   rows from another database
 * db_runtime.c winners for programs that run them
 * db_check.c   the full check
 * db_values.c  a part of it: whether values are possible
 */
#ifndef GT_DB_INTERNAL_H
#define GT_DB_INTERNAL_H

#include "db.h"
#include "template.h"
#include <limits.h>
#include <sqlite3.h>
#include <sys/types.h>

#define DB_APPLICATION_ID 1735224677
#define DB_VERSION        2
#define DB_HASH_BYTES     16
#define DB_TEMPLATES_MAX  32
#define DB_STATEMENTS_MAX 96

/* What a configuration's hash says of its template's parameters; computed once a template. */
struct db_parameters {
    const struct template *template;
    int64_t schema;
};

struct db {
    sqlite3 *handle;
    sqlite3 *file; /* of DB_READ: the file itself, if handle is a copy of it that is up to date; else NULL */
    enum db_mode mode;
    bool ready;  /* opened to the end: it is ours and whole */
    bool safe;   /* rollback journal: the file is on a network file system */
    pid_t owner; /* a connection does not cross a fork */
    struct db_hold *hold;
    bool writing;      /* hold is a writer's */
    bool created;      /* the file was not there before */
    size_t made;       /* length of the first folder of `given` that was made for it; 0: none */
    int64_t first_run; /* runs from this one on are this process's; 0: none yet */
    struct {
        const char *sql; /* a string literal, found again by its address */
        sqlite3_stmt *handle;
    } statements[DB_STATEMENTS_MAX];
    int statement_count;
    struct db_parameters parameters[DB_TEMPLATES_MAX];
    int parameters_count;
    char path[PATH_MAX], given[PATH_MAX]; /* resolved, and as it was given */
};

/* --- db_place.c --- */

/* True for a file system on which WAL does not work; magic is statfs's f_type. */
bool db_network_magic(int64_t magic);
bool db_on_network(const char *path);
/* Is the path short enough for SQLite, once resolved? Errors: E_INPUT. */
enum status db_check_path(const char *path);
/* Make the folders of a file, for this user alone. *made: length of the path of the first that was not there,
 * 0 if all were. Nothing is left on errors: E_INPUT, E_IO. */
enum status db_make_folders(const char *path, size_t *made);
void db_remove_folders(const char *path, size_t made); /* those that are empty */
/* Absolute, without symbolic links; the last part need not exist. */
enum status db_resolve(const char *path, char resolved[PATH_MAX]);
/* Was this file (path, device, inode) checked on this machine before? Remembered in the user's cache folder.
 */
bool db_checked(const char *path);
void db_remember_checked(const char *path);

/* --- db_lock.c: path must be resolved --- */

struct db_hold; /* of this process on a file */

/* For reading. Errors: E_BUSY (it is written under another name), E_DB (its log lies beside another name),
 * E_IO. */
enum status db_hold_read(const char *path, struct db_hold **hold);
/* For writing: the file is made if it is not there. Errors: E_BUSY with the holder's process id, those above;
 * E_IO also where the file system has no locks. */
enum status db_hold_write(const char *path, struct db_hold **hold);
/* After the connection is closed; takes NULL. writer: it comes from db_hold_write. */
void db_release(const char *path, struct db_hold *hold, bool writer);

/* --- db_open.c --- */

/* Off, statements that change or drop what must stay can be prepared: for our own of another kind. */
void db_guard(struct db *db, bool on);
/* Open a connection and make it harmless; nothing is read yet. */
enum status db_connect(const char *path, int flags, sqlite3 **handle);

/* --- db_schema.c --- */

struct db_migration {
    const char *sql[4]; /* texts that are run one after the other, up to a NULL */
};

/* What a file of today looks like, and how one of yesterday comes to. */
struct db_form {
    int version;
    const char *const *schemas;       /* the tables of version 1, 2, ... as they were made at first */
    const struct db_migration *steps; /* steps[i]: from version i to i + 1; the first is not used */
    const char *const *growth;        /* what `version` has got since, in order (docs/database.md) */
    int growth_count;
};
extern const struct db_form db_form;

/* One integer from a statement that gives one; SQLite's answer. */
int db_ask(sqlite3 *handle, const char *sql, int64_t *value);
/* The file's version; 0 and *empty for a file without content. Errors: E_DB: foreign or newer than `newest`;
 * E_IO. */
enum status db_identify(sqlite3 *handle, const char *path, int newest, int *version, bool *empty);
/* Make the tables of a version with so many steps of its growth; SQLite's answer. */
int db_make_tables(sqlite3 *handle, const struct db_form *form, int version, int grown);
/* The schema must be, word for word, the one of this version, so that there are no views, triggers or other
 * code; a newer program may have added plain columns, tables and indices. *missing: steps of the growth that
 * it lacks. Errors: E_DB. */
enum status db_check_schema(sqlite3 *handle, const char *path, const struct db_form *form, int version,
                            int *missing);
/* The structure of the file; full: what its indices hold, too. Errors: E_DB with the first finding. */
enum status db_check_structure(sqlite3 *handle, const char *path, bool full);

/* --- db_migrate.c --- */

/* Make the tables of an empty file; back up an older one and bring it up to date. One transaction; what is
 * there already is left alone. */
enum status db_migrate(sqlite3 *handle, const char *path, const struct db_form *form);
/* Run the last `missing` steps of the growth in one transaction. */
enum status db_grow(sqlite3 *handle, const char *path, const struct db_form *form, int missing);
/* A connection to a copy, up to date, of a file that may only be read; glance: of what it takes to find
 * winners, in memory. Inside a transaction of `from` that began before version and missing were asked for:
 * who migrates the file meanwhile is not seen. */
enum status db_copy_up_to_date(sqlite3 *from, const char *path, const struct db_form *form, int version,
                               int missing, bool glance, sqlite3 **copy);

/* --- db_sql.c --- */

/* The SQL functions content_hash(value, ...), see schema.sql; rate_text(name, value), exact; migrated_kernel,
 * see version_2_rows.sql. */
int db_register_functions(sqlite3 *handle);

/* Turn SQLite's answer into ours, with a sentence. what: "store a trial". */
enum status db_error(sqlite3 *handle, const char *path, int rc, const char *what);
enum status db_broken(const struct db *db, const char *what,
                      int64_t id); /* a value that we never wrote: E_DB */

/* A statement, prepared when first used and kept; reset and without parameters. sql must be one string
 * literal. */
enum status db_prepare(struct db *db, const char *sql, sqlite3_stmt **stmt);
enum status db_exec(struct db *db, const char *sql, const char *what);
enum status db_writable(const struct db *db); /* E_DB for a reader or a forked child: our own mistake */
enum status db_begin(struct db *db);
enum status db_end(struct db *db,
                   enum status st); /* commit when OK, else roll back and keep the first error */

/* A statement, and its parameters from left to right. What fails is told when it is run. */
struct binder {
    sqlite3_stmt *stmt;
    int next, rc;
    enum status st; /* of preparing it */
};
struct binder db_bind(struct db *db, const char *sql); /* as db_prepare */
struct binder bind_start(sqlite3_stmt *stmt);
void bind_int(struct binder *b, int64_t value);
void bind_real(struct binder *b, double value);   /* NAN: NULL */
void bind_finite(struct binder *b, double value); /* NAN, infinity: 0 */
void bind_text(struct binder *b, const char *value);
void bind_blob(struct binder *b, const void *value, int bytes);
void bind_null(struct binder *b);

/* db_prepare, with these numbers as its first parameters; *b goes on behind them. */
enum status db_prepare_with(struct db *db, const char *sql, const int64_t *numbers, int count,
                            struct binder *b);

/* Run a statement that gives no row. *changes may be NULL. */
enum status db_run(struct db *db, const struct binder *b, int64_t *changes, const char *what);
/* Run an INSERT; *id: the number of its row. */
enum status db_insert(struct db *db, const struct binder *b, int64_t *id, const char *what);
/* The next row; *row is false at the end. db_done: no more of them are wanted. */
enum status db_next(struct db *db, const struct binder *b, bool *row, const char *what);
void db_done(const struct binder *b);
/* Step: *row is false at the end, and then the statement is reset. */
enum status db_step(struct db *db, sqlite3_stmt *stmt, bool *row, const char *what);
/* Run a statement that gives one integer (0 when there is no row or it is NULL). */
enum status db_integer(struct db *db, const struct binder *b, int64_t *value, const char *what);

/* Read columns from left to right; a value of another type or outside its range is remembered in bad. */
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
#define DB_CALL_US_LEAST 1e-3 /* a call that takes less than a nanosecond is none */
#define DB_CALL_US_MAX   1e15
void read_text(struct reader *r, const char *name, char *text, size_t room);
bool read_is_null(struct reader *r); /* looks at the next column; skips it if it is NULL */

/* Now, within what can be stored. */
int64_t db_now_us(void);
/* Errors: E_INPUT (the clock is outside of it). */
enum status db_check_clock(void);
void db_time_text(int64_t us, char text[32]);
#define DB_TIME_MAX INT64_C(253402300799000000) /* the end of the year 9999 */

/* --- db_keys.c --- */

/* Ids of rows; the add forms insert what is missing (inside a transaction), the find forms give 0 for what is
 * absent. */
enum status db_add_gpu(struct db *db, const struct gpu *gpu, int64_t *gpu_id, int64_t *figures_id);
enum status db_add_problem(struct db *db, const struct problem *problem, int64_t *id);
enum status db_add_config(struct db *db, const struct config *config, const struct problem *problem, int arch,
                          int64_t *id);
enum status db_find_gpu(struct db *db, const struct gpu *gpu, int64_t *id);
enum status db_find_problem(struct db *db, const struct problem *problem, int64_t *id);
enum status db_find_config(struct db *db, const struct config *config, const struct problem *problem,
                           int arch, int64_t *id);
/* What identifies them, in the order of content_hash's arguments: three and four parameters. */
void bind_gpu(struct binder *b, const struct gpu *gpu);
void bind_config(struct binder *b, struct db *db, const struct config *config, const struct problem *problem,
                 int arch);
int64_t db_parameters_hash(struct db *db, const struct template *t);
/* Of the kernel that a configuration is compiled to for a problem. */
int64_t db_kernel_hash(const struct config *config, const struct problem *problem, int arch);
/* Of the kernel of a configuration of version 1: template_hash says what its template was, op and arch what
 * it was compiled for. */
int64_t db_migrated_kernel(int64_t template_hash, const char *text, const char *op, int arch);
/* "NAME=0123456789abcdef": the value as it lies in memory. False: it does not fit. */
#define DB_RATE_TEXT_MAX  64
#define DB_RATES_TEXT_MAX 1024
bool db_rate_format(const char *name, double value, char text[DB_RATE_TEXT_MAX]);

/* What a filter lets through: GPUs by name, malloc'ed (NULL on errors), and the problem, 0 for any. No GPU
 * where the problem is not known. */
enum status db_match(struct db *db, const struct db_filter *filter, int64_t **gpus, int *count,
                     int64_t *problem_id);
/* The figures that a run had, checked. Columns: DB_FIGURES_COLUMNS. */
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
/* The run with this content; inserted if it is not there. Inside a transaction. */
enum status db_add_run(struct db *db, const struct db_run_row *row, int64_t *run_id);
/* The architecture of the GPU of a run. Errors: E_ABSENT. */
enum status db_run_arch(struct db *db, int64_t run_id, int *arch);

#define DB_PROTOCOL_COLUMNS "r.driver, r.nvrtc, r.power_limit_w, r.protocol"
/* Versions that both sides know, and that are not the same. */
bool db_differ(const char *x, const char *y);
/* Reads DB_PROTOCOL_COLUMNS: was it made with another driver, compiler, power limit or protocol than now
 * says? What either side does not know does not count. */
bool db_read_stale(struct reader *r, const struct db_context *now);

/* --- db_list.c --- */

/* Rows of what a filter lets through: sql is run for each GPU, by name, with its number as ?1 and that of the
 * problem as ?2, 0 for any. row reads one row, and may set *more to false. what: "list trials". */
struct db_list {
    const char *sql, *what;
    enum status (*row)(struct db *db, sqlite3_stmt *stmt, void *self, bool *more);
    void *self;
};
enum status db_list(struct db *db, const struct db_filter *filter, const struct db_list *list);

/* --- db_trials.c --- */

/* An outcome as stored. */
#define DB_OUTCOME_COLUMNS                                                                                   \
    "t.cold, t.verdict, t.detail, t.registers, t.spill_bytes, t.static_smem_bytes, t.cubin_bytes, "          \
    "t.compile_ms, t.time_us, t.samples_us, t.worst_error, t.exact, t.sm_clock_mhz, t.memory_clock_mhz, "    \
    "t.power_w, t.temperature_c, t.throttle_reasons, t.wall_ms"
void db_read_outcome(struct reader *r, struct outcome *outcome);
/* From the verdict on: the columns after recovered_us of DB_TRIAL_CONTENT. */
void db_bind_outcome(struct binder *b, const struct outcome *outcome);
/* Columns kernel_hash, schema_hash, text: false if the template is unknown by now or its kernel for this
 * problem has changed. */
bool db_read_config(struct db *db, struct reader *r, const struct problem *problem, int arch,
                    char text[CONFIG_TEXT_MAX], struct config *config);

/* Insert the trial of an open attempt; recovered_us 0: told by the tuner. Inside a transaction. */
enum status db_insert_trial(struct db *db, int64_t attempt_id, const struct outcome *outcome,
                            int64_t recovered_us);

/* --- db_winners.c --- */

/* The errors of decision number `decision`, and the decision itself (its evidence comes before it), unless
 * one with this content is there. A config_id of 0: cuBLAS won. Inside a transaction, as is db_point_to,
 * which makes a decision the winner. */
enum status db_add_decision(struct db *db, int64_t run_id, int64_t decision, int64_t problem_id,
                            int64_t config_id, const struct db_winner *winner, int64_t decided_us,
                            bool *added);
enum status db_next_decision(struct db *db, int64_t *decision);

/* The errors that were measured for a decision; what was not is left as it is. */
enum status db_read_errors(struct db *db, int64_t decision, struct db_errors *winner,
                           struct db_errors *rival);

/* accuracy_answers of such errors. */
bool db_errors_answer(enum gemm_type type, const struct db_errors *own, const struct db_errors *rival);
enum status db_point_to(struct db *db, int64_t decision);

/* --- db_preferences.c --- */

/* Whether a decision may be the winner of its key: nothing else is pinned, it is not excluded, and it was not
 * made for a pin that has been taken back. */
enum status db_may_win(struct db *db, int64_t decision, bool *may);
/* Pin the configuration of a decision; it becomes the winner. Inside a transaction. */
enum status db_pin_decision(struct db *db, int64_t decision);
/* Let the winners of all keys that have preferences follow them. Inside a transaction. */
enum status db_settle_all(struct db *db);

/* --- db_merge.c --- */

/* Make a decision the winner if nothing better stands (db_exchange.h says what is better). Inside a
 * transaction. */
enum status db_challenge(struct db *db, int64_t decision, bool *won);

/* Trials that no attempt preceded need numbers that no attempt will have: the first free one, and, once those
 * up to last are used, so that attempts go on behind them. Inside a transaction. */
enum status db_free_trial_id(struct db *db, int64_t *id);
enum status db_used_trial_ids(struct db *db, int64_t last);

/* --- db_check.c --- */

/* (db_values.c) What a reader would refuse in the tables that the checks by hash do not read: the first
 * finding, or
 * "". */
enum status db_check_values(struct db *db, char *finding, size_t room);

/* The columns whose values are the content of a row, in the order of content_hash's arguments. Rows referred
 * to come before them, by their hashes. One list for writing and for checking. */
#define DB_FIGURES_CONTENT                                                                                   \
    "short_name, threads_per_sm, blocks_per_sm, registers_per_sm, smem_per_sm_bytes, smem_per_block_bytes, " \
    "smem_reserved_bytes, l2_bytes, memory_bytes, clock_mhz, source"
/* The rates of figures `f`, as one text. */
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

#endif
