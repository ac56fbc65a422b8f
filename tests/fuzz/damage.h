/* damage.h — a database that something happened to. An input is a list of what, a line each:
 *
 *     old                   first: tests/data/version2.db.gz without what version 2 has got since
 *     byte OFFSET VALUE     one byte is another
 *     cut SIZE              the file ends there
 *     sql STATEMENT         somebody else's program wrote to it
 *     set TABLE COLUMN VALUE ROW   the same with numbers for each (damage.c); row 0: all rows
 *     rehash                and gave each row the hash of what it holds now
 *
 * Before that it is whole: two runs of an H200, trials and winners of four problems, one of them 64x128x256.
 * The words of such lists are defined here, too.
 */
#ifndef GT_FUZZ_DAMAGE_H
#define GT_FUZZ_DAMAGE_H

#include "db.h"
#include "fuzz.h"

#define WORKS(call) PROMISE((call) == OK, "%s", status_text())

extern struct db_context damage_context; /* of its runs, once there was an input */

/* Make the file at path anew and damage it. The list is taken apart. */
void damage(const char *path, char *list);

/* Remove a database with all that lies beside it. */
void damage_remove(const char *path);

/* As its trials are. */
struct config damage_config(int splits);
struct outcome damage_outcome(double time_us);

#endif
