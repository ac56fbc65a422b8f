/* winner_store.h — where the winners for one GPU come from: the user's database, and those that ship as text.
 * Which of them a problem gets is exact.h, nearest.h and lookup.h.
 *
 * A question for exactly one problem is answered by the database's index, so that opening costs nothing
 * however many winners there are. The first question for anything else reads where its problems lie; winners
 * are read for those problems only that turn out to be near, and for some that are spread over all of them.
 * Knows no CUDA.
 *
 * Not for several threads at once.
 */
#ifndef GT_WINNER_STORE_H
#define GT_WINNER_STORE_H

#include "db.h"
#include "notice.h"
#include "winner_set.h"

/* A problem of the database. */
struct stored_problem {
    struct shape shape;
    bool read; /* its winners are among those below, if it has any */
    int64_t id;
};

/* What the user wants for a problem on this GPU (db.h: preferences). */
struct stored_preference {
    struct problem problem;
    bool pin; /* this configuration, else never this */
    struct config config;
};

struct winner_store {
    struct gpu gpu;
    int64_t workspace_bytes;  /* that a configuration may take: workspace.h's default or the environment's,
                                 until it is set */
    char driver[DB_TEXT_MAX]; /* version now; "" unknown */
    struct notices *notices;
    struct db *db;  /* NULL: none */
    char *waiting;  /* a database that was held by another process; opened at a later question */
    unsigned asked; /* questions since then */
    bool held;      /* by another process, at the last question: another time there may be an answer */
    struct stored_preference *preferences; /* once the database could be read */
    size_t preference_count;
    bool preferences_read;
    bool loaded;
    struct stored_problem *problems; /* once loaded */
    size_t problem_count, problem_room;
    struct winner_set set; /* the pretuned, and what was read of the user's */
};

/* database: a file, NULL for the default one, "" for none; pretuned: a folder, likewise. What is missing or
 * unusable is said and left out. Errors: E_MEMORY. */
enum status winner_store_open(struct winner_store *store, const struct gpu *gpu, const char *database,
                              const char *pretuned, struct notices *notices);
void winner_store_close(struct winner_store *store); /* takes a zeroed struct */

/* A question begins: a database that was held when it was to be opened may be free by now. Errors: E_MEMORY.
 */
enum status winner_store_ask(struct winner_store *store);

/* What is pinned for this problem; false: nothing. */
bool winner_store_pinned(const struct winner_store *store, const struct problem *problem,
                         struct config *config);
/* It may not be used for this problem. */
bool winner_store_excludes(const struct winner_store *store, const struct problem *problem,
                           const struct config *config);

/* What the database has for exactly this problem, measured or predicted, of a kernel that has not changed.
 * config.template NULL: cuBLAS won; else winner.config is not set. False: nothing, or it cannot be read. */
bool winner_store_recorded(struct winner_store *store, const struct problem *problem,
                           struct stored_winner *winner, struct config *config);

/* Read where the database's problems lie, and the winners of WINNERS_SPREAD of them, spread evenly. Errors:
 * E_MEMORY. */
#define WINNERS_SPREAD 256
enum status winner_store_load(struct winner_store *store);

/* Read the winners of the nearest problems whose distance from shape is less than within and whose winners
 * have not been read. *more: some were read, and there may be others; winners have moved. Errors: E_MEMORY.
 */
enum status winner_store_read_near(struct winner_store *store, const struct shape *shape, double within,
                                   bool *more);

/* The driver's version as NVIDIA's kernel module tells it: "580.95.05"; "" if it does not. */
void winner_store_driver(char version[DB_TEXT_MAX]);

#endif
