/* cmd_import.c — tune import: what tune export wrote on other machines goes into the database. */
#include "command_line.h"
#include "commands.h"
#include "import_ours.h"
#include "paths.h"
#include "print.h"
#include "result_json.h"
#include "suite.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum form { FORM_TABLE, FORM_JSON };

struct import {
    const char *file; /* --db */
    enum form form;
    bool accept;
    struct command_words paths;

    struct db *db;
    char db_path[PATH_MAX]; /* once it is open */
    json_t *files;          /* what became of each; NULL unless for --format json */
    char descriptors[4096];
};

static enum status check_options(void *self)
{
    const struct import *im = self;
    return im->paths.count == 0 ? fail(E_USAGE, "name a file to import") : OK;
}

static const struct command_option options[] = {
    {"format", 0, "table|json", "form of what became of each file (table)",
     OPTION_CHOICE(struct import, form)},
    {"json", 0, NULL, "the same as --format json", OPTION_CHOICE(struct import, form), .number = FORM_JSON},
    {"accept-kernels", 0, NULL,
     "take the texts of own kernels, too: code of whoever wrote them, which will run on your GPUs",
     OPTION_FLAG(struct import, accept)},
    OPTION_ROW_DB(struct import, file)};

static const char text[] =
    "Import winners and trials that tune export wrote.\vWinners "
    "(JSON lines) become winners of this database unless it has better evidence for another (see tune merge "
    "--help). Because they were measured elsewhere they are used but count as stale, and the next tune "
    "--shape races them again. Trials (T4) are the start of the next search; they make no winners by "
    "themselves. Winners and trials of a kernel that this program does not have, or has in another version, "
    "are counted and left out. To combine whole databases, with the evidence of their races, use tune "
    "merge.\n"
    "\n"
    "Files may be gzip-compressed, and T4 files truncated. Results of other kernels say nothing about ours: "
    "T4 "
    "files that another program wrote are refused.\n"
    "\n"
    "Everything is checked; nothing from a file is ever compiled or executed, but own kernels that "
    "--accept-kernels takes.\n"
    "\n"
    "Examples:\n"
    "  tune import h200.jsonl\n"
    "  tune import --json h200.jsonl\n"
    "  tune import trials.json.gz\n"
    "\n"
    "Exit status: 0 done; 2 wrong command line; 3 a file contains nothing that could be imported; 4 the "
    "database is foreign, newer or damaged; 7 a file cannot be read or written; 8 another process has locked "
    "the database.";

/* ---- one file ---- */

static enum status unknown(const char *path)
{
    char command[SUITE_COMMAND_MAX];
    if (suite_is(path))
        return fail(E_INPUT, "%s holds problems, no results: %s tunes them", path,
                    suite_command(path, command));
    return fail(E_INPUT,
                "%s is none of what is read: winners as JSON lines (tune export --json), trials as T4 (tune "
                "export --t4)",
                path);
}

static json_t *why_json(const char *why)
{
    return why[0] ? text_json(why) : json_null();
}

static bool list_file(json_t *files, const char *path, const struct imported *im, bool winners)
{
    json_t *json =
        json_pack("{s:o, s:s, s:I, s:I, s:I, s:o, s:I, s:o}", "file", text_json(path), "holds",
                  winners ? "winners" : "trials", "read", (json_int_t)im->read, "new", (json_int_t)im->added,
                  "useless", (json_int_t)im->useless, "first_useless", why_json(im->first_useless), "broken",
                  (json_int_t)im->broken, "first_broken", why_json(im->first_broken));
    if (json && winners) json_object_set_new(json, "stand", json_integer(im->stand));
    return json_array_append_new(files, json) == 0;
}

static void say(const char *path, const struct imported *im, bool winners)
{
    print_part(stdout, "%s: %" PRId64 " %s%s read, %" PRId64 " new", path, im->read,
               winners ? "winner" : "trial", PRINT_S(im->read), im->added);
    if (winners) print_part(stdout, ", %" PRId64 " stand", im->stand);
    print_end(stdout);
    fflush(stdout);
    if (im->useless)
        print_line(stderr, "tune: %s: %" PRId64 " of no use to this program (%s)", path, im->useless,
                   im->first_useless);
    if (im->broken)
        print_line(stderr, "tune: %s: %" PRId64 " broken (%s)", path, im->broken, im->first_broken);
}

static enum status open_database(struct import *im)
{
    enum status st = paths_configs("gpus", im->descriptors, sizeof im->descriptors);
    if (st || im->db) return st;
    if (im->file) snprintf(im->db_path, sizeof im->db_path, "%s", im->file);
    else st = db_default_path(im->db_path, sizeof im->db_path);
    if (!st) st = db_open(im->db_path, DB_WRITE, &im->db);
    return st ? st : db_check_whole(im->db);
}

static enum status store(struct import *im, const char *path, const char *bytes, size_t length,
                         const json_t *gpus, bool winners)
{
    struct imported imported = {0};
    enum status st = open_database(im);
    if (!st) st = db_import_start(im->db);
    if (st) return st;
    st = winners ? import_winners(im->db, bytes, length, im->descriptors, &imported)
                 : import_trials(im->db, path, bytes, length, gpus, &imported);
    if ((st = db_import_end(im->db, st))) return st;
    if (!im->files) say(path, &imported, winners);
    else if (!list_file(im->files, path, &imported, winners))
        return fail(E_MEMORY, "out of memory while importing %s", path);
    if (imported.read > imported.useless + imported.broken || imported.added) return OK;
    return fail(E_INPUT, "%s holds nothing that could be taken in", path);
}

static enum status import_file(struct import *im, const char *path)
{
    char *bytes = NULL;
    size_t length = 0;
    bool t4;
    json_t *gpus = NULL;
    enum status st = import_read(path, &bytes, &length);
    if (st) return st;
    if (winners_here(bytes, length)) st = store(im, path, bytes, length, NULL, true);
    else if (!(st = trials_here(path, bytes, length, &t4, &gpus)))
        st = !t4     ? unknown(path)
             : !gpus ? fail(E_INPUT, "%s holds results of other kernels, which say nothing of ours", path)
                     : store(im, path, bytes, length, gpus, false);
    json_decref(gpus);
    free(bytes);
    return st;
}

const struct command_line cmd_import_line = {.options = options,
                                             .option_count = sizeof options / sizeof *options,
                                             .about = text,
                                             .arguments = "FILE...",
                                             .words = offsetof(struct import, paths),
                                             .check = check_options};

/* What was stored before a file that could not be read, stays: it is printed, too, with the reason. */
static enum status print_files(struct import *im, enum status st)
{
    char why[600];
    snprintf(why, sizeof why, "%s", st ? status_text() : "");
    const enum status printed = result_print(
        json_pack("{s:o, s:O, s:o}", "db", why_json(im->db_path), "files", im->files, "error", why_json(why)),
        "result of the import");
    if (!st) return printed;
    return fail(st, "%s", why);
}

enum status cmd_import(int argc, char **argv)
{
    struct import im = {.form = FORM_TABLE};
    enum status st = command_line_read(&cmd_import_line, argc, argv, &im);
    db_accepts_kernels = im.accept;
    if (!st && im.form == FORM_JSON && !(im.files = json_array())) st = fail(E_MEMORY, "out of memory");
    for (int i = 0; !st && i < im.paths.count; i++) st = import_file(&im, im.paths.at[i]);
    if (im.files) st = print_files(&im, st);
    json_decref(im.files);
    return db_finish(im.db, st);
}
