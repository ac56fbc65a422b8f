#include "db_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define RUN_VALUES                                                                                           \
    "(SELECT ?1 AS gpu_id, (SELECT hash FROM gpus WHERE id = ?1) AS gpu_hash, ?2 AS figures_id, "            \
    "(SELECT hash FROM gpu_figures WHERE id = ?2) AS figures_hash, ?3 AS gpu_uuid, ?4 AS driver, "           \
    "?5 AS nvrtc, ?6 AS cublas, ?7 AS power_limit_w, ?8 AS cold, ?9 AS protocol, ?10 AS seed, "              \
    "?11 AS command, ?12 AS nonce, ?13 AS started_us)"

static int64_t nonce(void)
{
    int64_t value;
    if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
        value = db_now_us() ^ ((int64_t)getpid() << 40);
    return value;
}

static void bind_run(struct binder *b, int64_t gpu_id, int64_t figures_id, const struct db_run_row *row)
{
    const struct db_context *context = row->context;
    bind_int(b, gpu_id);
    bind_int(b, figures_id);
    bind_text(b, context->gpu_uuid);
    bind_text(b, context->driver);
    bind_text(b, context->nvrtc);
    bind_text(b, context->cublas);
    bind_real(b, context->power_limit_w);
    bind_int(b, context->cold);
    bind_int(b, row->protocol);
    bind_int(b, (int64_t)row->seed);
    bind_text(b, row->command);
    bind_int(b, row->nonce);
    bind_int(b, row->started_us);
}

enum status db_add_run(struct db *db, const struct db_run_row *row, int64_t *run_id)
{
    int64_t gpu_id, figures_id;
    enum status st = db_add_gpu(db, &row->context->gpu, &gpu_id, &figures_id);
    if (st) return st;
    struct binder b = db_bind(db, "INSERT INTO runs (hash, gpu_id, figures_id, " DB_RUN_CONTENT ") "
                                  "SELECT content_hash(gpu_hash, figures_hash, " DB_RUN_CONTENT
                                  "), gpu_id, figures_id, " DB_RUN_CONTENT " "
                                  "FROM " RUN_VALUES " "
                                  "WHERE true "
                                  "ON CONFLICT (hash) DO NOTHING");
    bind_run(&b, gpu_id, figures_id, row);
    int64_t added;
    if ((st = db_run(db, &b, &added, "store the run"))) return st;
    *run_id = sqlite3_last_insert_rowid(db->handle);
    if (added) return OK;
    b = db_bind(db, "SELECT id "
                    "FROM runs "
                    "WHERE hash = (SELECT content_hash(gpu_hash, figures_hash, " DB_RUN_CONTENT ") "
                    "FROM " RUN_VALUES ")");
    bind_run(&b, gpu_id, figures_id, row);
    return db_integer(db, &b, run_id, "look for a run");
}

enum status db_run_arch(struct db *db, int64_t run_id, int *arch)
{
    struct binder b = db_bind(db, "SELECT g.arch FROM runs r JOIN gpus g ON g.id = r.gpu_id WHERE r.id = ?1");
    bind_int(&b, run_id);
    int64_t value;
    enum status st = db_integer(db, &b, &value, "look for a run");
    if (st) return st;
    *arch = (int)value;
    return value ? OK : fail(E_ABSENT, "there is no run %lld in %s", (long long)run_id, db->path);
}

enum status db_run_start(struct db *db, const struct db_context *context, const char *command, uint64_t seed,
                         int64_t *run_id)
{
    enum status st = db_check_clock();
    if (!st) st = db_check_place(db);
    if (!st) st = db_begin(db);
    if (st) return st;
    const struct db_run_row row = {.context = context,
                                   .protocol = DB_PROTOCOL,
                                   .seed = seed,
                                   .command = command,
                                   .nonce = nonce(),
                                   .started_us = db_now_us()};
    st = db_end(db, db_add_run(db, &row, run_id));
    if (!st && !db->first_run) db->first_run = *run_id;
    if (!st) db->last_run = *run_id;
    return st;
}

enum status db_run_end(struct db *db, int64_t run_id, const char *how)
{
    enum status st = db_writable(db);
    if (st) return st;
    struct binder b = db_bind(db, "UPDATE runs SET ended_us = ?2, how = ?3 "
                                  "WHERE id = ?1 AND how IS NULL");
    bind_int(&b, run_id);
    bind_int(&b, db_now_us());
    bind_text(&b, how);
    int64_t changes;
    if ((st = db_run(db, &b, &changes, "store the end of the run"))) return st;
    return changes == 1 ? OK : fail(E_ABSENT, "run %lld is not under way in %s", (long long)run_id, db->path);
}

/* --- attempts --- */

static enum status insert_attempt(struct db *db, int64_t run_id, const struct problem *problem,
                                  const struct config *config, int64_t *attempt_id)
{
    int64_t problem_id, config_id;
    int arch;
    enum status st = db_run_arch(db, run_id, &arch);
    if (!st) st = db_add_problem(db, problem, &problem_id);
    if (!st) st = db_add_config(db, config, problem, arch, &config_id);
    if (st) return st;
    struct binder b = db_bind(db, "INSERT INTO attempts (run_id, problem_id, config_id, started_us) "
                                  "VALUES (?1, ?2, ?3, ?4)");
    bind_int(&b, run_id);
    bind_int(&b, problem_id);
    bind_int(&b, config_id);
    bind_int(&b, db_now_us());
    return db_insert(db, &b, attempt_id, "store an attempt");
}

enum status db_attempt(struct db *db, int64_t run_id, const struct problem *problem,
                       const struct config *config, int64_t *attempt_id)
{
    enum status st = db_check_place(db); /* before what takes time: its outcome is stored in any case */
    if (!st) st = db_begin(db);
    return st ? st : db_end(db, insert_attempt(db, run_id, problem, config, attempt_id));
}

static enum status delete_attempt(struct db *db, int64_t attempt_id)
{
    struct binder b = db_bind(db, "DELETE FROM attempts WHERE id = ?1");
    bind_int(&b, attempt_id);
    int64_t changes;
    enum status st = db_run(db, &b, &changes, "end an attempt");
    if (st) return st;
    return changes == 1
               ? OK
               : fail(E_ABSENT, "attempt %lld is not under way in %s", (long long)attempt_id, db->path);
}

/* Stores the trial and ends its attempt, inside a transaction. */
static enum status finish_attempt(struct db *db, int64_t attempt_id, const struct outcome *outcome,
                                  int64_t recovered_us)
{
    enum status st = db_insert_trial(db, attempt_id, outcome, recovered_us);
    return st ? st : delete_attempt(db, attempt_id);
}

enum status db_record(struct db *db, int64_t attempt_id, const struct outcome *outcome)
{
    enum status st = db_begin(db);
    return st ? st : db_end(db, finish_attempt(db, attempt_id, outcome, 0));
}

enum status db_forget_attempt(struct db *db, int64_t attempt_id)
{
    enum status st = db_begin(db);
    return st ? st : db_end(db, delete_attempt(db, attempt_id));
}

/* --- recovery --- */

/* The oldest attempt that was not made by this process; 0: none. */
static enum status next_lost(struct db *db, int64_t *attempt_id)
{
    struct binder b = db_bind(db, "SELECT min(id) FROM attempts WHERE run_id < ?1");
    bind_int(&b, db->first_run ? db->first_run : INT64_MAX);
    return db_integer(db, &b, attempt_id, "look for unfinished attempts");
}

static enum status recover_all(struct db *db, int64_t *count)
{
    const struct outcome lost =
        outcome_failed(VERDICT_CRASHED, "the tuner was killed while it was being tried");
    int64_t now = db_now_us(), attempt;
    enum status st;
    while (!(st = next_lost(db, &attempt)) && attempt) {
        if ((st = finish_attempt(db, attempt, &lost, now))) return st;
        ++*count;
    }
    if (st) return st;
    struct binder b = db_bind(db, "UPDATE runs SET how = 'killed' "
                                  "WHERE how IS NULL AND id < ?1");
    bind_int(&b, db->first_run ? db->first_run : INT64_MAX);
    return db_run(db, &b, NULL, "mark killed runs");
}

enum status db_recover(struct db *db, int64_t *count)
{
    *count = 0;
    enum status st = db_begin(db);
    return st ? st : db_end(db, recover_all(db, count));
}
