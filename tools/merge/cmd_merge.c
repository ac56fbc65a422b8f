/* cmd_merge.c — tune merge: databases of several machines in one. */
#include "command_line.h"
#include "commands.h"
#include "db_exchange.h"
#include "print.h"
#include "result_json.h"
#include "shard_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_ROOM 200

struct merging {
    struct command_words files; /* the first takes in the others */
    char **lacking;             /* of the others: why it holds nothing, or not all; NULL: nothing to say */
    int empty;                  /* of these, how many hold nothing */
    bool shards, accept;
    enum table_format format;
};

static const struct command_option rows[] = {
    {"shards", 0, NULL,
     "the FILEs are the shards of one suite (tune --shard): refuse others, and name those that are missing "
     "or unfinished",
     OPTION_FLAG(struct merging, shards)},
    {"accept-kernels", 0, NULL,
     "take the FILEs' own kernels, too: code of whoever wrote them, which will run on your GPUs",
     OPTION_FLAG(struct merging, accept)},
    OPTION_ROWS_RESULT(struct merging, format),
};

static const char text[] =
    "Merge databases into one.\vOUT is created if necessary; its content stays. The others are opened "
    "read-only, checked in full and merged in one transaction (in all about 15 s per million trials): all of "
    "them or, if one is damaged or the merge is killed, none. Meanwhile OUT may take twice its final size on "
    "disk, and up to 0.6 GB of memory. Merging the same file again, or the same files in another order, "
    "changes nothing. A file that a tuner is writing may be merged, which is also how to copy it (tune merge "
    "COPY LIVE): its last results are in the log beside it (-wal), which cp LIVE leaves behind. A file that "
    "holds nothing is named. --format json has the numbers of new rows of each kind, the files, "
    "and with --shards what each is and which are missing.\n"
    "\n"
    "If files have different winners for a problem, GPU and cache policy, the better evidence wins, in this "
    "order: a kernel that this program still has; measured rather than predicted; measured by the present "
    "method rather than an older one or imported; a race of more rounds, then a narrower interval (both in "
    "powers of two, since less is chance); the newer. All decisions and trials are kept.\n"
    "\n"
    "Examples:\n"
    "  tune merge all.db node1.db node2.db node3.db\n"
    "  tune merge --shards all.db shards/*.db\n"
    "  tune merge --json all.db node1.db\n"
    "\n"
    "Exit status: 0 done; 1 a file is not there: nothing was merged; or one holds nothing, or with "
    "--shards one is missing or unfinished: the others are merged; 2 wrong command line; 3 a file has own "
    "kernels, and "
    "--accept-kernels was not given, or with --shards, a "
    "file is no shard, or one of another suite, "
    "division or version, or OUT is a shard: nothing was "
    "merged; 4 a file is foreign, newer or "
    "damaged: nothing was merged; 7 a file cannot be read or written; 8 another process has locked OUT.";

static enum status check_files(void *self)
{
    const struct merging *m = self;
    if (m->files.count >= 2) return OK;
    return fail(E_USAGE, "name the file that takes in, and those that it takes in");
}

const struct command_line cmd_merge_line = {.options = rows,
                                            .option_count = sizeof rows / sizeof *rows,
                                            .about = text,
                                            .arguments = "OUT FILE...",
                                            .words = offsetof(struct merging, files),
                                            .check = check_files};

/* ---- --shards ---- */

/* Refuses what does not belong together. */
static enum status check_shards(const struct merging *m, struct shard_file *files, struct shard_kind *kind)
{
    const int count = m->files.count - 1;
    for (int i = 0; i < count; i++) files[i].path = m->files.at[i + 1];
    enum status st = shard_files_read(files, count, kind);
    for (int i = 0; i < count && !st; i++)
        if (files[i].st) st = fail(files[i].st, "%s; nothing was merged", files[i].why);
    return st;
}

/* "1-3, 7" of a division into kind->count; of a long list the beginning. */
static void list_missing(const bool *there, const struct shard_kind *kind, char list[LIST_ROOM])
{
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; i < kind->count; i++) {
        if (there[i]) continue;
        char part[32];
        int last = i;
        while (last + 1 < kind->count && !there[last + 1]) last++;
        const int length =
            snprintf(part, sizeof part, last > i ? "%s%d-%d" : "%s%d", used ? ", " : "", i, last);
        const bool fits = used + (size_t)length + sizeof " ..." <= LIST_ROOM;
        used += (size_t)snprintf(list + used, LIST_ROOM - used, "%s", fits ? part : " ...");
        if (!fits) return;
        i = last;
    }
}

/* What is not all there yet. there: which shards are. */
static enum status judge_shards(const struct shard_file *files, int count, const struct shard_kind *kind,
                                bool *there)
{
    char missing[LIST_ROOM];
    int unfinished = 0;
    for (int i = 0; i < count; i++) {
        const struct db_shard *s = &files[i].shard;
        there[s->number] = true;
        if (s->finished) continue;
        unfinished++;
        print_line(stderr, "%s (shard %d/%d) is merged as far as it is, but not finished", files[i].path,
                   s->number, s->count);
    }
    list_missing(there, kind, missing);
    if (*missing) return fail(E_ABSENT, "of %d shards these are missing: %s", kind->count, missing);
    if (unfinished)
        return fail(E_ABSENT, "%d of %d shards %s not finished: tune on, and merge again", unfinished,
                    kind->count, unfinished == 1 ? "is" : "are");
    return OK;
}

/* OUT forgotten: "tune merge --shards shards/?.db" would merge all into the first shard. */
static enum status refuse_shard_as_out(const char *out)
{
    struct db *db;
    struct db_shard shard;
    enum status st = db_open(out, DB_READ, &db);
    if (st) return st == E_ABSENT ? OK : st;
    st = db_shard_get(db, &shard);
    db_close(db);
    if (st) return st == E_ABSENT ? OK : st;
    return fail(E_INPUT,
                "%s is shard %d/%d, and with --shards the first file takes in the others: name a file of its "
                "own before the shards",
                out, shard.number, shard.count);
}

static void note_lacking(void *self, int number, bool nothing, const char *why)
{
    struct merging *m = self;
    const char *path = m->files.at[number + 1];
    print_line(stderr, "tune: %s %s: %s", path, nothing ? "holds nothing" : "may lack results", why);
    m->lacking[number] = strdup(why);
    m->empty += nothing;
}

static enum status merge(struct merging *m, struct shard_file *files, struct shard_kind *kind,
                         struct db_merged *merged)
{
    struct db *db = NULL;
    const struct db_refusal each = {.self = m, .lacking = note_lacking};
    enum status st = m->shards ? refuse_shard_as_out(m->files.at[0]) : OK;
    if (!st && m->shards) st = check_shards(m, files, kind);
    if (!st) st = db_open(m->files.at[0], DB_WRITE, &db);
    if (st) return st;
    db_accepts_kernels = m->accept;
    if (!(st = db_check_whole(db)))
        st = db_merge_sound(db, (const char *const *)m->files.at + 1, m->files.count - 1, &each, merged);
    return db_finish(db, st);
}

static void print_merged(const char *out, const struct db_merged *merged)
{
    print_line(stdout,
               "%s: %" PRId64 " trial%s, %" PRId64 " decision%s, %" PRId64 " run%s added, %" PRId64
               " known before; %" PRId64 " winner%s new or changed",
               out, merged->trials, PRINT_S(merged->trials), merged->decisions, PRINT_S(merged->decisions),
               merged->runs, PRINT_S(merged->runs), merged->known, merged->winners, PRINT_S(merged->winners));
    if (merged->kernels)
        print_line(stdout, "%d own kernel%s taken: %s", merged->kernels, PRINT_S(merged->kernels),
                   merged->kernel_names);
}

/* A file that was named; with --shards what it says of itself. */
static json_t *file_json(const struct merging *m, const struct shard_file *file, int number)
{
    const char *path = m->files.at[number + 1];
    const bool itself = db_same_file(path, m->files.at[0]);
    const char *why = itself ? "it is the file that takes in" : m->lacking[number];
    json_t *json = json_pack("{s:o, s:b, s:s?}", "file", text_json(path), "merged", !itself, "why", why);
    if (m->shards && !itself && json)
        json_object_set_new(json, "shard",
                            json_pack("{s:i, s:i, s:b}", "number", file->shard.number, "of",
                                      file->shard.count, "finished", file->shard.finished));
    return json;
}

/* there: NULL without --shards. */
static enum status print_json(const struct merging *m, const struct shard_file *files,
                              const struct shard_kind *kind, const bool *there,
                              const struct db_merged *merged)
{
    json_t *list = json_array(), *missing = there ? json_array() : NULL;
    for (int i = 0; i + 1 < m->files.count; i++) json_array_append_new(list, file_json(m, &files[i], i));
    for (int i = 0; there && i < kind->count; i++)
        if (!there[i]) json_array_append_new(missing, json_integer(i));
    return result_print(json_pack("{s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:I, s:I, s:o, s:o*}", "out",
                                  text_json(m->files.at[0]), "added", "gpus", (json_int_t)merged->gpus,
                                  "problems", (json_int_t)merged->problems, "configs",
                                  (json_int_t)merged->configs, "runs", (json_int_t)merged->runs, "trials",
                                  (json_int_t)merged->trials, "decisions", (json_int_t)merged->decisions,
                                  "known", (json_int_t)merged->known, "winners", (json_int_t)merged->winners,
                                  "files", list, "missing_shards", missing),
                        "result of the merge");
}

/* The result goes to standard output in any case; what is missing or unfinished is an error after it. */
static enum status show(const struct merging *m, const struct shard_file *files,
                        const struct shard_kind *kind, const struct db_merged *merged)
{
    enum status st = OK, printed = OK;
    if (m->format == TABLE_TEXT) print_merged(m->files.at[0], merged);
    bool *there = m->shards ? calloc((size_t)kind->count + 1, sizeof *there) : NULL;
    if (m->shards && !there) return fail(E_MEMORY, "out of memory for %d shards", kind->count);
    if (m->shards) st = judge_shards(files, m->files.count - 1, kind, there);
    if (m->format == TABLE_JSON) printed = print_json(m, files, kind, there, merged);
    free(there);
    if (!st && !m->shards && m->empty) /* a shard says itself whether it is finished */
        st = fail(E_ABSENT, "%d of %d file%s %s nothing", m->empty, m->files.count - 1,
                  PRINT_S(m->files.count - 1), m->empty == 1 ? "holds" : "hold");
    return printed ? printed : st;
}

enum status cmd_merge(int argc, char **argv)
{
    struct merging m = {0};
    enum status st = command_line_read(&cmd_merge_line, argc, argv, &m);
    if (st) return st;
    db_choose = ""; /* they are named on the command line */
    struct db_merged merged = {0};
    struct shard_kind kind = {.count = 0};
    struct shard_file *files = calloc((size_t)m.files.count, sizeof *files);
    m.lacking = calloc((size_t)m.files.count, sizeof *m.lacking);
    st = files && m.lacking ? merge(&m, files, &kind, &merged)
                            : fail(E_MEMORY, "out of memory for %d files", m.files.count);
    if (!st) st = show(&m, files, &kind, &merged);
    for (int i = 0; m.lacking && i < m.files.count; i++) free(m.lacking[i]);
    free(m.lacking);
    free(files);
    return st;
}
