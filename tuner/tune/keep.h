/* keep.h — what a run leaves for others while it works: a copy of its database (--save), and beside it, in
 * FILE.json, how far it is; and whose shard the database is (--shard).
 *
 * So a machine may go at any time, and another goes on from the copy. Knows the database and the file, no
 * scheduler.
 */
#ifndef GT_KEEP_H
#define GT_KEEP_H

#include "db.h"
#include "tune_options.h"

struct keep;

/* Opens the database of options->db for writing. Where it is not there yet, it begins with the copy of
 * options->save; where both are there, what the copy has more is added, and a damaged copy is put aside.
 * Checks first that both are the shard of the options, and tells the database so; what earlier runs of an
 * unfinished shard have spent is taken from options->budget_s. options must last as long as keep, which is
 * NULL if there is nothing to leave. Errors: E_INPUT (one is another shard, of another version, or no shard;
 * what is at options->save is no copy; another user could have written a shard's database), E_BUSY (a tuner
 * is writing there), those of db_open, db_merge and db_save. */
enum status keep_open(struct tune_options *options, struct db **db, struct keep **keep);

/* How a run stands. */
struct keep_state {
    size_t done, known, without; /* problems: with a winner; of these, of earlier runs or of --known; that
                                    have none and will get none */
    size_t left_out;             /* of those without: not begun, because the budget was over */
    size_t trials;
    double boost_mhz; /* of the GPUs, 0: unknown */
};

/* Writes what is due: a line a few seconds after the last, a copy a minute after. What another run of the
 * same shard has put in its place is taken in first; another's file stays, and no copy is written. Takes
 * NULL. Errors: E_IO and the like: the run may go on. */
enum status keep_tick(struct keep *keep, const struct keep_state *state);

/* The run has ended with st and the present sentence: writes all, as keep_tick. Takes NULL. Returns st, or
 * the first error if that is OK: then the copy lacks results of this run. */
enum status keep_end(struct keep *keep, const struct keep_state *state, enum status st);

void keep_close(struct keep *keep); /* takes NULL */

#endif
