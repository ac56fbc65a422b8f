/* db_exchange.h — copies data between databases: all trials for export, rows from text, whole files.
 *
 * Every imported row has a content hash, like every measured row: importing it again, or in another order,
 * changes nothing.
 */
#ifndef GT_DB_EXCHANGE_H
#define GT_DB_EXCHANGE_H

#include "db.h"

/* The protocol version of rows imported as text: their figures are accepted, but were not measured by this
 * database's own tuner. They count as stale until a race on this machine. */
#define DB_PROTOCOL_IMPORTED 0

/* A trial with everything that it depends on. */
struct db_full_trial {
    struct problem problem;
    char config_text[CONFIG_TEXT_MAX]; /* as stored; parsed only if current */
    struct config config;              /* template NULL unless current */
    bool current;                      /* its kernel is known and has not changed since */
    char template_name[DB_TEXT_MAX];
    uint64_t kernel_hash; /* of the kernel that it ran */
    struct db_context context;
    int protocol;
    int64_t started_us, ended_us; /* since 1970, UTC */
    bool recovered;               /* no outcome was reported: the tuner had been killed */
    struct outcome outcome;
};

/* Every trial that matches the filter, in the order stored; without those of a later version
 * (db_count_later). visit returns false to stop; it must not use db. */
enum status db_dump(struct db *db, const struct db_filter *filter,
                    bool (*visit)(void *self, const struct db_full_trial *trial), void *self);

/* ---- rows from text: one transaction from start to end ---- */

enum status db_import_start(struct db *db);
/* Commits if st is OK, else leaves the file unchanged; returns the first error. */
enum status db_import_end(struct db *db, enum status st);

/* Used members of winner: problem, config (template NULL: cuBLAS), GPU and versions, predicted, tied, exact,
 * cold and the figures. It becomes the winner unless the stored one is better, by the order of db_merge.
 * Errors: E_INPUT (a figure is impossible), those of the database. */
enum status db_import_winner(struct db *db, const struct db_winner *winner, int64_t decided_us, bool *added,
                             bool *won);

/* Used members of trial: problem, config, context, times, outcome. Lookups of trials and searches see it; it
 * does not become a winner, which only a race does. Errors: as above. */
enum status db_import_trial(struct db *db, const struct db_full_trial *trial, bool *added);

/* ---- whole files ---- */

/* Numbers of new rows. */
struct db_merged {
    int64_t gpus, problems, configs, runs, trials, decisions;
    int64_t winners; /* changed or new */
    int64_t known;   /* runs, trials and decisions that were already there */
    int kernels;     /* own kernels that were new, and the first of their names */
    char kernel_names[200];
};

/* Adds the content of the files at paths, in one transaction. Each file is opened read-only, as untrusted,
 * and checked completely before anything is copied. A path of the database itself is skipped. Open attempts
 * are not copied: when their tuner has finished them, the next merge copies them as trials.
 *
 * Of two winners for the same problem, GPU and cache policy, that one is kept which
 *   1. can be used: its template is the one of this program, or cuBLAS won;
 *   2. was measured, not predicted;
 *   3. was measured by the protocol of this program, not by another or as imported text;
 *   4. rests on more rounds of its race, counted in powers of two;
 *   5. has the narrower interval of its ratio, counted in powers of two;
 *   6. is newer;
 *   7. comes first by text, then by hash.
 * Powers of two are used because 11 rounds are not better evidence than 10; between equals the newer winner
 * is kept. The order is total, so the result depends neither on the order of the files nor on repetition.
 * Rows of problems that only a later version can read are copied as they are; of their winners rule 1 is not
 * asked.
 *
 * Errors: E_DB (damaged or impossible content, with the file), those of db_open. On an error nothing is
 * changed. */
enum status db_merge(struct db *db, const char *const *paths, int count, struct db_merged *merged);

/* What is said of single files; number: which of paths. */
struct db_refusal {
    /* Of a file that is not merged, while status_text() says why. NULL: that is an error. */
    void (*visit)(void *self, int number, enum status st);
    void *self;
    /* Of a file that is merged, but holds nothing or lacks its log, with a sentence. May be NULL. */
    void (*lacking)(void *self, int number, bool nothing, const char *why);
};

/* The same, but a file that is not there, foreign, damaged or impossible is left out, and all others are
 * merged. refusal NULL: it is an error. Errors: E_MEMORY, those of the database itself. */
enum status db_merge_sound(struct db *db, const char *const *paths, int count,
                           const struct db_refusal *refusal, struct db_merged *merged);

#endif
