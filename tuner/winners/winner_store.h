/* winner_store.h — reads the winners for one GPU from the user's database and from the text files that ship.
 * exact.h, nearest.h and lookup.h choose among them.
 *
 * A lookup of exactly one problem uses the database's index, so that opening costs the same however many
 * winners there are. The first lookup of anything else reads the shapes of all problems; winners are read
 * only for problems that turn out to be near, and for some that are spread evenly over all. Knows no CUDA.
 *
 * Not for several threads at once.
 */
#ifndef GT_WINNER_STORE_H
#define GT_WINNER_STORE_H

#include "accuracy.h"
#include "config.h"
#include "db.h"
#include "notice.h"
#include "shape.h"
#include "winner.h"
#include <stddef.h>

/* ---- preferences.c ---- */

/* The pins and exclusions that the user's database holds for one GPU, in memory: a lookup
 * asks for them again and again, and there are few.
 */

struct preference {
    struct problem problem;
    bool pin; /* this configuration is used; else never this one */
    struct config config;
};

struct preferences {
    struct preference *list;
    size_t count;
};

/* Reads all of this GPU, in place of those that were read before; without configurations whose template does
 * not exist any more. On an error there are none. Errors: E_BUSY, E_DB (one cannot be read), E_IO, E_MEMORY.
 */
enum status preferences_read(struct preferences *preferences, struct db *db, const struct gpu *gpu);

/* The configuration that is pinned for the problem, or else for one that is as good (problem_alike); NULL:
 * none. Valid until the next preferences_read. */
const struct config *preferences_pin(const struct preferences *preferences, const struct problem *problem);

/* True if the configuration may not be used for the problem, or for one that is as good. */
bool preferences_exclude(const struct preferences *preferences, const struct problem *problem,
                         const struct config *config);

void preferences_free(struct preferences *preferences); /* takes a zeroed struct */

/* ---- winner_set.c ---- */

/* Winners in memory, with each configuration stored once: many winners share few
 * configurations. */

#define CUBLAS_WON (-1)

struct stored_winner {
    struct winner base;      /* not exact: it serves its own problem only */
    struct shape shape;      /* of the problem */
    int config;              /* index into configs, or CUBLAS_WON */
    bool pretuned, stale;    /* pretuned: not the user's own */
    bool system;             /* then of the system's database */
    bool other_gpu, changed; /* then only its configuration is used. changed: or unproven */
    struct accuracy_claim claim;
};

struct winner_set {
    struct stored_winner *winners;
    size_t count, room;
    struct config *configs;
    int config_count, config_room;
    int *places; /* hash table of configs: index + 1, 0 is empty; place_count is a power of two */
    size_t place_count;
};

/* The index of a configuration; a new one is added. Errors: E_MEMORY. */
enum status winner_set_config(struct winner_set *set, const struct config *config, int *index);

/* Adds a winner, whose config is an index into this set. Earlier winners may move in memory. Errors:
 * E_MEMORY. */
enum status winner_set_add(struct winner_set *set, const struct stored_winner *winner);

void winner_set_free(struct winner_set *set); /* takes a zeroed struct */

/* A problem of the database. */
struct stored_problem {
    struct shape shape;
    bool read; /* its winners, if any, have been read into the set */
    int64_t id;
};

struct winner_store {
    struct gpu gpu;
    int64_t workspace_bytes;  /* limit for a configuration (workspace.h): the environment's or the default,
                                 until it is set */
    char driver[DB_TEXT_MAX]; /* the release in use; "" unknown */
    struct notices *notices;
    struct db *db;    /* NULL: none */
    char *waiting;    /* a database that was held by another process; opened at a later question */
    unsigned lookups; /* since then */
    bool held;        /* by another process, at the last lookup: a later one may succeed */
    struct preferences preferences; /* the user's; none until they have been read */
    bool preferences_read;
    bool loaded;
    int model_configs; /* the first so many configurations, which the model is asked about: those that were
                          read before any question, so that its answer does not depend on earlier questions */
    struct stored_problem *problems; /* empty until loaded */
    size_t problem_count, problem_room;
    struct winner_set set; /* the pretuned ones, and those read from the user's database */
};

/* database: a file, NULL for the default one, "" for none, nor the system's; pretuned: a folder, with the
 * same conventions. If one is missing or unusable, a notice says so and it is left out; of a system's
 * database that this user may not read only with GEMMTUNE_LOG, or where GEMMTUNE_SYSTEM_DB names it. Errors:
 * E_MEMORY. */
enum status winner_store_open(struct winner_store *store, const struct gpu *gpu, const char *database,
                              const char *pretuned, struct notices *notices);

/* The same without the user's winners: those of the system's database and those that ship, as they answer
 * beside own, the user's database, which may be open for writing: its pins and exclusions count, if they can
 * be read; a notice says if not. NULL: there is none. Errors: E_MEMORY. */
enum status winner_store_open_shared(struct winner_store *store, const struct gpu *gpu, struct db *own,
                                     struct notices *notices);
void winner_store_close(struct winner_store *store); /* takes a zeroed struct */

/* Call it at the start of a lookup: a database that was held when it, or the preferences in it, should have
 * been read may be free by now. Errors: E_MEMORY. */
enum status winner_store_ask(struct winner_store *store);

/* Reads what follows from the database as it is now, which is opened anew; after that choices may differ.
 * False: it cannot be read, and all stays as it is. */
bool winner_store_renew(struct winner_store *store, const char *database);

/* The database's entry for exactly this problem, measured or predicted, of a kernel that has not changed;
 * where none was measured, one for a problem that is as good (problem_alike).
 * config.template NULL: cuBLAS won; else winner.config is not set. False: there is none, or it cannot be
 * read. */
bool winner_store_recorded(struct winner_store *store, const struct problem *problem,
                           struct stored_winner *winner, struct config *config);

/* True if the database's newest outcome of this configuration for exactly this problem is a failure, later
 * than `since` (as struct winner has it; "": whenever). False if it cannot be read. */
bool winner_store_failed(struct winner_store *store, const struct problem *problem,
                         const struct config *config, const char *since);

/* Reads the shapes of the database's problems, and the winners of WINNERS_SPREAD of them, spread evenly.
 * Errors: E_MEMORY. */
#define WINNERS_SPREAD 256
enum status winner_store_load(struct winner_store *store);

/* Reads the winners of the nearest problems whose distance from shape is less than `within` and whose winners
 * have not been read. *more: some were read, and there may be others; winners have moved in memory. Errors:
 * E_MEMORY. */
enum status winner_store_read_near(struct winner_store *store, const struct shape *shape, double within,
                                   bool *more);

#endif
