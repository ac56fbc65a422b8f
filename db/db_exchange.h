/* db_exchange.h — copies data between databases: all trials for export, rows from text, whole files.
 *
 * Every imported row has a content hash, like every measured row: importing it again, or in another order,
 * changes nothing.
 */
#ifndef GT_DB_EXCHANGE_H
#define GT_DB_EXCHANGE_H

#include "db.h"

/* The protocol version of what was imported as text: its figures are believed, but were not measured by this
 * database's own tuner, so that they count as stale until raced here. */
#define DB_PROTOCOL_IMPORTED 0

/* A trial with all that it depends on. */
struct db_full_trial {
    struct problem problem;
    char config_text[CONFIG_TEXT_MAX]; /* as stored; parsed only if current */
    struct config config;              /* template NULL unless current */
    bool current;                      /* its template is known and has not changed since */
    char template_name[DB_TEXT_MAX];
    uint64_t kernel_hash; /* of the kernel that it ran */
    struct db_context context;
    int protocol;
    int64_t started_us, ended_us; /* since 1970, UTC */
    bool recovered;               /* not told by a tuner: found cut off after it was killed */
    struct outcome outcome;
};

/* Every trial on the GPUs (and for the problem) that filter lets through, in the order stored. visit returns
 * false to stop; it must not use db. */
enum status db_dump(struct db *db, const struct db_filter *filter,
                    bool (*visit)(void *self, const struct db_full_trial *trial), void *self);

/* ---- rows from text: one transaction from start to end ---- */

enum status db_import_start(struct db *db);
/* Commit if st is OK, else leave the file as it was; returns the first error. */
enum status db_import_end(struct db *db, enum status st);

/* Of winner: problem, config (template NULL: cuBLAS), GPU and versions, predicted, tied, exact, cold and the
 * figures. It becomes the winner if nothing better stands, by the order that db_merge uses. Errors: E_INPUT
 * (a figure is impossible), those of the database. */
enum status db_import_winner(struct db *db, const struct db_winner *winner, int64_t decided_us, bool *added,
                             bool *won);

/* Of trial: problem, config, context, times, outcome. It is what recalls and searches see; a winner only a
 * race makes. Errors: as above. */
enum status db_import_trial(struct db *db, const struct db_full_trial *trial, bool *added);

/* ---- whole files ---- */

/* Rows that were new. */
struct db_merged {
    int64_t gpus, problems, configs, runs, trials, decisions;
    int64_t winners; /* changed or new */
    int64_t known;   /* runs, trials and decisions that were there already */
};

/* Add everything that is in the files at paths, in one transaction. Each is opened read-only, as untrusted,
 * and checked in full before any of it is believed. A path that is the database itself is passed over.
 * Attempts under way are not taken: a tuner that is still running brings them as trials to the next merge.
 *
 * Of two winners for the same problem, GPU and cache policy that stands which
 *   1. can be used: its template is the one of this program, or cuBLAS won;
 *   2. was measured, not predicted;
 *   3. was measured by the protocol of this program, not by another or as imported text;
 *   4. rests on more rounds of its race, counted in powers of two;
 *   5. has the narrower interval of its ratio, counted in powers of two;
 *   6. is newer;
 *   7. comes first by text, then by hash.
 * Powers of two, since 11 rounds are not better evidence than 10: between equals the newer decides. The order
 * is total, so that neither the order of files nor repetition matters.
 *
 * Errors: E_DB (damaged or impossible content, with the file), those of db_open. Then nothing has changed. */
enum status db_merge(struct db *db, const char *const *paths, int count, struct db_merged *merged);

#endif
