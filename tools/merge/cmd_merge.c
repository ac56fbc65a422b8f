/* cmd_merge.c — tune merge: databases of several machines in one. */
#include "command_line.h"
#include "commands.h"
#include "db_exchange.h"
#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct merging {
    struct command_words files; /* the first takes in the others */
};

static const char text[] =
    "Merge databases into one.\vOUT is created if necessary; its content stays. The others are opened "
    "read-only, checked in full and merged in one transaction (in all about 15 s per million trials): all of "
    "them or, if one is damaged or the merge is killed, none. Meanwhile OUT may take twice its final size on "
    "disk, and up to 0.6 GB of memory. Merging the same file again, or the same files in another order, "
    "changes nothing.\n"
    "\n"
    "If files have different winners for a problem, GPU and cache policy, the better evidence wins, in this "
    "order: a kernel that this program still has; measured rather than predicted; measured by the present "
    "method rather than an older one or imported; a race of more rounds, then a narrower interval (both in "
    "powers of two, since less is chance); the newer. All decisions and trials are kept.\n"
    "\n"
    "Example:\n"
    "  tune merge all.db node1.db node2.db node3.db\n"
    "\n"
    "Exit status: 0 done; 1 a file is not there; 2 wrong command line; 4 a file is foreign, newer or "
    "damaged: nothing was merged; 7 a file cannot be read or written; 8 another process has locked OUT.";

static enum status check_files(void *self)
{
    const struct merging *m = self;
    if (m->files.count >= 2) return OK;
    return fail(E_USAGE, "name the file that takes in, and those that it takes in");
}

const struct command_line cmd_merge_line = {.about = text,
                                            .arguments = "OUT FILE...",
                                            .words = offsetof(struct merging, files),
                                            .check = check_files};

enum status cmd_merge(int argc, char **argv)
{
    struct merging m = {0};
    enum status st = command_line_read(&cmd_merge_line, argc, argv, &m);
    if (st) return st;
    const char *out = m.files.at[0];
    db_choose = ""; /* they are named on the command line */
    struct db *db = NULL;
    struct db_merged merged;
    st = db_open(out, DB_WRITE, &db);
    if (st) return st;
    if (!(st = db_check_whole(db)))
        st = db_merge(db, (const char *const *)m.files.at + 1, m.files.count - 1, &merged);
    db_close(db);
    if (st) return st;
    print_line(stdout,
               "%s: %" PRId64 " trial%s, %" PRId64 " decision%s, %" PRId64 " run%s added, %" PRId64
               " known before; %" PRId64 " winner%s new or changed",
               out, merged.trials, PRINT_S(merged.trials), merged.decisions, PRINT_S(merged.decisions),
               merged.runs, PRINT_S(merged.runs), merged.known, merged.winners, PRINT_S(merged.winners));
    return OK;
}
