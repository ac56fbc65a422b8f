/* fastest.h — the fastest known configuration for a problem on a GPU of this machine, from the database or
 * from the winners that ship with the program.
 */
#ifndef GT_FASTEST_H
#define GT_FASTEST_H

#include "children.h"
#include "db.h"
#include "winner_store.h"

struct fastest {
    struct config config;
    const char *how; /* "tuned": the winner of a race; "system": of the system's
                        database; "pretuned": one that shipped; "best so far": the
                        fastest trial; "tuned plain": any of these, of the problem without the operand that
                        this one has prepared */
    bool cublas_won; /* the race; the configuration is then its fastest kernel, else the fastest trial */
    bool stale;      /* measured with another driver or in another way than now */
    struct accuracy_checked checked; /* by the last check of this winner */
};

/* The database's winner, of the cache policy asked for before the other; else a pretuned one; else the
 * fastest trial of a search that has not ended. db, pretuned: NULL if there is none. E_ABSENT: nothing is
 * known. Errors: those of the database. */
enum status fastest_find(struct db *db, struct winner_store *pretuned, const struct worker_info *worker,
                         bool cold, const struct problem *problem, struct fastest *fastest);

#endif
