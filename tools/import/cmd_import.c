/* cmd_import.c — tune import: results of other machines and other tuners. Ours go into the database; those of
 * other kernels are shown, and written as T4.
 */
#include "command_line.h"
#include "commands.h"
#include "import_ours.h"
#include "output_file.h"
#include "paths.h"
#include "print.h"
#include "result_json.h"
#include "suite.h"
#include "table.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct import {
    const char *file; /* --db */
    bool list, accept;
    enum table_format format;
    const char *t4; /* --t4 */
    struct command_words paths;

    struct db *db;
    char db_path[PATH_MAX]; /* once it is open */
    json_t *files;          /* what became of each; NULL unless for --format json without --list */
    struct table *table;
    char descriptors[4096];
};

static enum status check_options(void *self)
{
    const struct import *im = self;
    if (im->paths.count == 0) return fail(E_USAGE, "name a file to import");
    if (im->t4 && (im->paths.count != 1 || im->list))
        return fail(E_USAGE, "--t4 takes one file, and no --list");
    if (im->format == TABLE_CSV && !im->list) return fail(E_USAGE, "--format csv is for --list");
    if (im->format == TABLE_JSON && im->t4) return fail(E_USAGE, "--t4 writes a file: it takes no --format");
    return OK;
}

static const struct command_option options[] = {
    {"list", 'l', NULL, "show what the files contain and store nothing", OPTION_FLAG(struct import, list)},
    {"format", 0, "table|json|csv", "form of the list, or (json) of what became of each file (table)",
     OPTION_CHOICE(struct import, format)},
    {"json", 0, NULL, "the same as --format json", OPTION_CHOICE(struct import, format),
     .number = TABLE_JSON},
    {"t4", 0, "FILE", "write the results of one file in the T4 format and store nothing",
     OPTION_TEXT(struct import, t4)},
    {"accept-kernels", 0, NULL,
     "take the texts of own kernels, too: code of whoever wrote them, which will run on your GPUs",
     OPTION_FLAG(struct import, accept)},
    OPTION_ROW_DB(struct import, file)};

static const char text[] =
    "Import winners and trials that tune export wrote, and inspect the files of other auto-tuners.\vWinners "
    "(JSON lines) become winners of this database unless it has better evidence for another (see tune merge "
    "--help). Because they were measured elsewhere they are used but count as stale, and the next tune "
    "--shape races them again. Trials (T4) are the start of the next search; they make no winners by "
    "themselves. Winners and trials of a kernel that this program does not have, or has in another version, "
    "are counted and left out. To combine whole databases, with the evidence of their races, use tune "
    "merge.\n"
    "\n"
    "T4 files and Kernel Tuner's cache files may be gzip-compressed or truncated, and may describe any "
    "kernel; --list shows device, kernel, parameters, the number of configurations by result, and the best. "
    "Results of other kernels say nothing about ours, so they are not stored; --t4 FILE writes them as a "
    "complete T4 file, which other tools read.\n"
    "\n"
    "Everything is checked; nothing from a file is ever compiled or executed, but own kernels that "
    "--accept-kernels takes.\n"
    "\n"
    "Examples:\n"
    "  tune import h200.jsonl\n"
    "  tune import --json h200.jsonl\n"
    "  tune import --list cache/*.json.gz\n"
    "  tune import --t4 whole.json cut_off_cache.json\n"
    "\n"
    "Exit status: 0 done; 2 wrong command line; 3 a file contains nothing that could be imported; 4 the "
    "database is foreign, newer or damaged; 7 a file cannot be read or written; 8 another process has locked "
    "the database.";

/* ---- listing ---- */

static const struct column columns[] = {
    {"file", "file", COLUMN_TEXT | COLUMN_KEY, 0},
    {"form", "form", COLUMN_TEXT | COLUMN_RANK(3), 0},
    {"device", "device", COLUMN_TEXT | COLUMN_RANK(2), 0},
    {"kernel", "kernel", COLUMN_TEXT | COLUMN_RANK(1), 0},
    {"problem", "problem", COLUMN_TEXT | COLUMN_RANK(3), 0},
    {"results", "results", COLUMN_NUMBER, 0},
    {"correct", "correct", COLUMN_NUMBER, 0},
    {"incorrect", "wrong", COLUMN_NUMBER | COLUMN_RANK(5), 0},
    {"constraints", "not allowed", COLUMN_NUMBER | COLUMN_RANK(5), 0},
    {"compile", "not compiled", COLUMN_NUMBER | COLUMN_RANK(5), 0},
    {"runtime", "not run", COLUMN_NUMBER | COLUMN_RANK(5), 0},
    {"timeout", "timed out", COLUMN_NUMBER | COLUMN_RANK(5), 0},
    {"best_ms", "best (ms)", COLUMN_NUMBER | COLUMN_RANK(1), 4},
    {"best", "best configuration", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(4), 0},
    {"parameters", NULL, COLUMN_TEXT, 0},
    {"ours", NULL, COLUMN_NUMBER, 0},
    {"broken", "broken", COLUMN_NUMBER | COLUMN_RANK(4), 0},
    {"cut_off", "cut off", COLUMN_BOOL | COLUMN_RANK(4), 0},
};

/* "BM=128 BN=64": the members of a configuration. */
static void configuration_text(json_t *configuration, char *words, size_t room)
{
    const char *key;
    json_t *value;
    size_t used = 0;
    words[0] = '\0';
    json_object_foreach(configuration, key, value)
    {
        char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        const char *shown = json_is_string(value) ? json_string_value(value) : dumped ? dumped : "";
        if (used < room)
            used += (size_t)snprintf(words + used, room - used, "%s%s=%s", used ? " " : "", key, shown);
        free(dumped);
    }
}

static void parameters_text(const json_t *names, const json_t *best, char *words, size_t room)
{
    size_t used = 0, i;
    json_t *name;
    const char *key;
    words[0] = '\0';
    json_array_foreach(names, i, name) if (used < room && json_is_string(name)) used +=
        (size_t)snprintf(words + used, room - used, "%s%s", used ? " " : "", json_string_value(name));
    if (used) return;
    json_object_foreach((json_t *)(uintptr_t)best, key, name) if (used < room) used +=
        (size_t)snprintf(words + used, room - used, "%s%s", used ? " " : "", key);
}

static void add_row(struct table *t, const char *path, const struct recorded *r)
{
    char best[1024], parameters[1024];
    configuration_text(r->best, best, sizeof best);
    parameters_text(r->parameters, r->best, parameters, sizeof parameters);
    table_text(t, path);
    table_text(t, r->format == RECORDED_CACHE ? "Kernel Tuner cache" : "T4");
    table_text(t, table_said(r->device));
    table_text(t, table_said(r->kernel));
    table_text(t, table_said(r->problem));
    table_number(t, (double)r->rows);
    for (int i = 0; i < RECORDED_VERDICTS; i++) table_number(t, (double)r->counts[i]);
    table_number(t, table_known(r->best_ms));
    table_text(t, table_said(best));
    table_text(t, table_said(parameters));
    table_number(t, (double)r->ours);
    table_number(t, (double)r->broken);
    table_bool(t, r->cut);
}

/* Winners as lines: read like the others, only that nothing is looked at closely. */
static void add_winners(struct table *t, const char *path, const char *bytes, size_t length)
{
    double lines = 0;
    for (size_t i = 0; i < length; i++) lines += bytes[i] == '\n' || i + 1 == length;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (i == 0) table_text(t, path);
        else if (i == 1) table_text(t, "winners");
        else if ((columns[i].kind & COLUMN_KIND) == COLUMN_TEXT) table_text(t, NULL);
        else if ((columns[i].kind & COLUMN_KIND) == COLUMN_BOOL) table_bool(t, false);
        else table_number(t, i == 5 ? lines : (double)NAN);
    }
}

/* ---- one file ---- */

static enum status unknown(const char *path)
{
    char command[SUITE_COMMAND_MAX];
    if (suite_is(path))
        return fail(E_INPUT, "%s holds problems, no results: %s tunes them", path,
                    suite_command(path, command));
    return fail(
        E_INPUT,
        "%s is none of what is read: winners as JSON lines (tune export --json), T4, a cache file of Kernel "
        "Tuner",
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
                         struct recorded *r, bool winners)
{
    struct imported imported = {0};
    enum status st = open_database(im);
    if (!st) st = db_import_start(im->db);
    if (st) return st;
    st = winners ? import_winners(im->db, bytes, length, im->descriptors, &imported)
                 : import_trials(im->db, bytes, length, r, &imported);
    if ((st = db_import_end(im->db, st))) return st;
    if (!im->files) say(path, &imported, winners);
    else if (!list_file(im->files, path, &imported, winners))
        return fail(E_MEMORY, "out of memory while importing %s", path);
    if (imported.read > imported.useless + imported.broken || imported.added) return OK;
    return fail(E_INPUT, "%s holds nothing that could be taken in", path);
}

/* Results of another kernel. */
static enum status refuse(const char *path, const struct recorded *r)
{
    return fail(E_INPUT,
                "%s holds %" PRId64
                " results of %.80s%s: results of other kernels say nothing of ours and are not "
                "stored; --list shows them, --t4 FILE writes them in the T4 format",
                path, r->rows, r->kernel[0] ? r->kernel : "another kernel", r->cut ? " (it is cut off)" : "");
}

struct t4_out {
    FILE *stream;
    double unit_ms;
    int64_t written;
    bool failed;
};

/* Both spellings of times, in milliseconds. */
static bool write_row(void *self, const struct recorded_row *row)
{
    struct t4_out *out = self;
    json_t *runtimes = json_array(), *time;
    size_t i;
    json_array_foreach(row->runtimes, i, time) if (json_is_number(time))
        json_array_append_new(runtimes, json_real(json_number_value(time) * out->unit_ms));
    json_t *measurements =
        row->time_ms > 0 ? json_pack("[{s:s, s:f, s:s}]", "name", "time", "value", row->time_ms, "unit", "ms")
                         : json_array();
    json_t *json = json_pack("{s:s, s:O, s:[s], s:{s:f, s:f, s:o, s:f, s:f, s:f}, s:s, s:i, s:o}",
                             "timestamp", row->timestamp, "configuration", row->configuration, "objectives",
                             "time", "times", "compilation_time", row->compile_ms, "compilation",
                             row->compile_ms, "runtimes", runtimes, "framework", 0.0, "search_algorithm", 0.0,
                             "validation", 0.0, "invalidity", recorded_verdict_name(row->verdict),
                             "correctness", row->verdict == RECORDED_CORRECT, "measurements", measurements);
    if (json && row->gemmtune) json_object_set(json, "gemmtune", (json_t *)(uintptr_t)row->gemmtune);
    fputs(out->written++ ? ",\n" : "\n", out->stream);
    out->failed = !json || json_dumpf(json, out->stream, JSON_COMPACT | JSON_ENSURE_ASCII) != 0;
    json_decref(json);
    return !out->failed;
}

static enum status convert(struct import *im, const char *bytes, size_t length, struct recorded *r)
{
    struct outfile out;
    enum status st = outfile_open(im->t4, &out);
    if (st) return st;
    struct t4_out rows = {.stream = out.stream, .unit_ms = r->unit_ms};
    json_t *metadata =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o*}", "timeunit", "milliseconds", "generator", command_version,
                  "device_name", r->device, "kernel_name", r->kernel, "problem_size", r->problem, "gemmtune",
                  r->gpus ? json_pack("{s:O}", "gpus", r->gpus) : NULL);
    fputs("{\"schema_version\": \"1.0.0\",\n\"metadata\": ", out.stream);
    if (!metadata || json_dumpf(metadata, out.stream, JSON_ENSURE_ASCII)) rows.failed = true;
    json_decref(metadata);
    fputs(",\n\"results\": [", out.stream);
    if (!rows.failed) st = recorded_rows(bytes, length, r, write_row, &rows);
    fputs("\n]}\n", out.stream);
    /* What could not be written is told when the file is closed. */
    if (!st && rows.failed && !ferror(out.stream))
        st = fail(E_MEMORY, "out of memory while writing %s", im->t4);
    if (!st && r->rows == 0) st = fail(E_INPUT, "there is no result in %s", r->path);
    return outfile_close(&out, st);
}

static enum status import_results(struct import *im, const char *path, const char *bytes, size_t length,
                                  struct recorded *r)
{
    if (im->t4) return convert(im, bytes, length, r);
    if (!im->list && r->gpus) return store(im, path, bytes, length, r, false);
    enum status st = recorded_rows(bytes, length, r, NULL, NULL);
    if (st) return st;
    if (!im->list) return refuse(path, r);
    add_row(im->table, path, r);
    return OK;
}

static enum status import_file(struct import *im, const char *path)
{
    char *bytes = NULL;
    size_t length = 0;
    struct recorded r = {.unit_ms = 1};
    enum status st = recorded_read(path, &bytes, &length);
    if (st) return st;
    if (winners_here(bytes, length)) {
        if (im->t4) st = fail(E_INPUT, "%s holds winners; --t4 is for results", path);
        else if (im->list) add_winners(im->table, path, bytes, length);
        else st = store(im, path, bytes, length, &r, true);
    } else if (!(st = recorded_open(path, bytes, length, &r))) {
        st = r.format == RECORDED_UNKNOWN ? unknown(path) : import_results(im, path, bytes, length, &r);
    }
    recorded_close(&r);
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
    struct import im = {.list = false};
    enum status st = command_line_read(&cmd_import_line, argc, argv, &im);
    db_accepts_kernels = im.accept;
    if (!st && !(im.table = table_new(columns, sizeof columns / sizeof *columns)))
        st = fail(E_MEMORY, "out of memory");
    if (!st && im.format == TABLE_JSON && !im.list && !(im.files = json_array()))
        st = fail(E_MEMORY, "out of memory");
    for (int i = 0; !st && i < im.paths.count; i++) st = import_file(&im, im.paths.at[i]);
    if (im.files) st = print_files(&im, st);
    if (!st && im.list) st = table_print(im.table, im.format, stdout);
    table_free(im.table);
    json_decref(im.files);
    return db_finish(im.db, st);
}
