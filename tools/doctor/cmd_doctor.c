/* cmd_doctor.c — tune doctor: what is installed, what is missing, what to do. Looks at everything, changes
 * nothing, and never stops at the first thing that is wrong.
 */
#include "cache.h"
#include "command_line.h"
#include "commands.h"
#include "compile.h"
#include "db.h"
#include "env.h"
#include "gpu.h"
#include "paths.h"
#include "print.h"
#include "survey.h"
#include "table.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *db, *cache;
    enum table_format format;
};

static const struct command_option option_list[] = {
    OPTION_ROWS_FORMAT(struct options, format),
    {"db", 0, "FILE", "the database to check", OPTION_TEXT(struct options, db)},
    {"cache", 0, "DIR", "the folder of compiled kernels to check", OPTION_TEXT(struct options, cache)}};

/* The report as it grows, and the first thing without which tuning cannot work. */
struct report {
    json_t *findings;
    bool gpu; /* one at least is usable */
    enum status blocker;
    char why[512];
};

static void add(struct report *report, const char *item, bool found, const char *version, const char *detail,
                const char *advice)
{
    json_array_append_new(report->findings, survey_finding(item, found, version, detail, advice));
}

static void block(struct report *report, enum status st, const char *what, const char *detail)
{
    if (report->blocker) return;
    report->blocker = st;
    snprintf(report->why, sizeof report->why, "tuning cannot work here: %.30s: %.400s", what, detail);
}

/* NVRTC is the one part of NVIDIA's software that tuning cannot do without. */
static void judge_survey(struct report *report)
{
    size_t i;
    json_t *finding;
    json_array_foreach(report->findings, i, finding)
    {
        const char *item = json_string_value(json_object_get(finding, "item"));
        bool found = json_is_true(json_object_get(finding, "found"));
        report->gpu = report->gpu || (found && strncmp(item, "GPU ", 4) == 0);
        if (strcmp(item, "NVRTC") == 0 && !found)
            block(report, E_COMPILER, item, json_string_value(json_object_get(finding, "detail")));
    }
}

static int count_files(const char *folder, const char *suffix)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        count += dot && strcmp(dot, suffix) == 0;
    }
    if (dir) closedir(dir);
    return count;
}

static void look_at_configs(struct report *report)
{
    static const char advice[] =
        "reinstall the program, or set GEMMTUNE_CONFIGS to the folder configs of its source";
    char path[1024], spaces[1024], gpus[1024], detail[1200];
    struct gpu *list = NULL;
    size_t count = 0;
    enum status st = paths_configs("", path, sizeof path);
    if (!st) st = paths_configs("spaces", spaces, sizeof spaces);
    if (!st) st = paths_configs("gpus", gpus, sizeof gpus);
    if (!st) st = gpu_list(gpus, &list, &count);
    free(list);
    if (st) {
        add(report, "configs", false, "", status_text(), advice);
        block(report, st, "configs", status_text());
        return;
    }
    int files = count_files(spaces, ".conf");
    snprintf(detail, sizeof detail, "%s: %d space file%s, %zu GPU descriptor%s", path, files, PRINT_S(files),
             count, PRINT_S(count));
    add(report, "configs", files > 0, "", detail, files > 0 ? "" : advice);
    if (files == 0) block(report, E_IO, "configs", detail);
}

/* True if a file of that name could be made: its nearest folder that is there can be written. */
static bool can_be_made(const char *path)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    for (;;) {
        const char *parent = dirname(folder);
        struct stat info;
        if (stat(parent, &info) == 0) return S_ISDIR(info.st_mode) && access(parent, W_OK | X_OK) == 0;
        if (strcmp(parent, "/") == 0 || strcmp(parent, ".") == 0) return false;
        memmove(folder, parent, strlen(parent) + 1);
    }
}

static void judge_database(struct report *report, struct db *db, const char *path)
{
    char findings[2048] = "", detail[1200];
    struct stat info = {0};
    bool clean = false;
    enum status st = db_check(db, findings, sizeof findings, &clean);
    if (st || !clean) {
        snprintf(detail, sizeof detail, "%.700s: %.400s", path, st ? status_text() : findings);
        detail[strcspn(detail, "\n")] = '\0';
        add(report, "database", false, "", detail,
            "tune verify tells more; restore the backup beside it, or move it away");
        block(report, E_DB, "database", detail);
        return;
    }
    stat(path, &info);
    bool writable = access(path, W_OK) == 0 && can_be_made(path);
    snprintf(detail, sizeof detail, "%s: %lld KiB, intact, %s", path, (long long)(info.st_size + 1023) / 1024,
             writable ? "writable" : "read-only");
    add(report, "database", true, "", detail,
        writable ? "" : "queries work; for tuning set GEMMTUNE_DB or --db to a file you can write");
    if (!writable) block(report, E_IO, "database", detail);
}

static void look_at_database(struct report *report, const char *chosen)
{
    char path[1024], detail[1200];
    struct db *db = NULL;
    enum status st = chosen ? OK : db_default_path(path, sizeof path);
    if (chosen) snprintf(path, sizeof path, "%s", chosen);
    if (st) {
        add(report, "database", false, "", status_text(), "set GEMMTUNE_DB or give --db FILE");
        block(report, st, "database", status_text());
        return;
    }
    st = db_open(path, DB_READ, &db);
    if (!st) {
        judge_database(report, db, path);
        db_close(db);
        return;
    }
    bool fresh = st == E_ABSENT && can_be_made(path);
    if (st == E_ABSENT)
        snprintf(detail, sizeof detail, "%s: not there yet%s", path,
                 fresh ? "; the first tune makes it" : ", and cannot be made");
    else snprintf(detail, sizeof detail, "%s", status_text());
    add(report, "database", false, "", detail, fresh ? "" : "set GEMMTUNE_DB or --db to another file");
    if (!fresh) block(report, st == E_ABSENT ? E_IO : st, "database", detail);
}

/* Most machines have none. */
static void look_at_system(struct report *report)
{
    char path[1024], detail[1200];
    struct db *db = NULL;
    enum status st = db_system_path(path, sizeof path);
    if (st == E_ABSENT && !env_text("GEMMTUNE_SYSTEM_DB")) return;
    if (!st) st = db_open(path, DB_READ, &db);
    snprintf(detail, sizeof detail, "%s", st ? status_text() : path);
    add(report, "system database", !st, "", detail,
        st ? "winners of the user's database and pretuned ones are used" : "");
    db_close(db);
}

static void look_at_cache(struct report *report, const char *chosen)
{
    static const char advice[] =
        "set GEMMTUNE_CACHE to a folder you can write; until then each run compiles its kernels anew";
    char usual[1024], detail[1300];
    const char *const path = chosen ? chosen : usual;
    int64_t entries = 0, bytes = 0;
    enum status st = chosen ? cache_make_folder(chosen) : compile_cache_folder(usual, sizeof usual);
    if (!st) st = cache_usage(path, &entries, &bytes);
    if (st) {
        add(report, "cache", false, "", status_text(), advice);
        return;
    }
    bool writable = access(path, W_OK | X_OK) == 0;
    snprintf(detail, sizeof detail, "%s: %lld kernel%s, %.1f of %lld MiB, %s", path, (long long)entries,
             PRINT_S(entries), (double)bytes / 1048576, (long long)(cache_limit() >> 20),
             writable ? "writable" : "read-only");
    add(report, "cache", writable, "", detail, writable ? "" : advice);
}

static void look_at_environment(struct report *report)
{
    struct env_finding finding;
    for (size_t i = 0; env_finding(i, &finding); i++)
        add(report, finding.name, finding.understood, "", finding.said,
            finding.understood ? "" : "set it to what docs/environment.md says, or unset it");
}

static const char *field(const json_t *finding, const char *name)
{
    const char *text = json_string_value(json_object_get(finding, name));
    return text && text[0] ? text : NULL;
}

static enum status print(const struct report *report, enum table_format format)
{
    static const struct column columns[] = {
        {"item", "", COLUMN_TEXT | COLUMN_KEY, 0}, {"found", "found", COLUMN_BOOL | COLUMN_KEY, 0},
        {"version", "version", COLUMN_TEXT, 0},    {"detail", "", COLUMN_TEXT | COLUMN_LAST, 0},
        {"advice", NULL, COLUMN_TEXT, 0},
    };
    size_t i;
    json_t *finding;
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    if (!table) return fail(E_MEMORY, "out of memory");
    json_array_foreach(report->findings, i, finding)
    {
        bool found = json_is_true(json_object_get(finding, "found"));
        /* For people what is missing is told below the table, with what to do. */
        bool told_below = format == TABLE_TEXT && !found && field(finding, "advice");
        table_text(table, field(finding, "item"));
        table_bool(table, found);
        table_text(table, field(finding, "version"));
        table_text(table, told_below ? NULL : field(finding, "detail"));
        table_text(table, field(finding, "advice"));
    }
    enum status st = table_print(table, format, stdout);
    table_free(table);
    if (st || format != TABLE_TEXT) return st;
    json_array_foreach(report->findings, i, finding)
    {
        if (!field(finding, "advice")) continue;
        bool found = json_is_true(json_object_get(finding, "found"));
        print_end(stdout);
        print_line(stdout, "%s: %s", field(finding, "item"), field(finding, found ? "advice" : "detail"));
        if (!found) print_line(stdout, "    -> %s", field(finding, "advice"));
    }
    if (report->blocker) return OK;
    print_end(stdout);
    print_line(stdout, "%s",
               report->gpu ? "Tuning can work here."
                           : "Predicting for a named GPU can work here; measuring needs a GPU.");
    return OK;
}

const struct command_line cmd_doctor_line = {
    .options = option_list,
    .option_count = sizeof option_list / sizeof *option_list,
    .about = "Check driver, GPUs, NVML, NVRTC, cuBLAS, the configs, the database and the cache of compiled "
             "kernels; say what is there, what is missing and what to do.\vExit code 0 if tuning works on "
             "this "
             "machine: measuring with a GPU, or predicting for a named GPU without one. Creates the cache "
             "folder and changes nothing else.",
};

enum status cmd_doctor(int argc, char **argv)
{
    struct options options = {.format = TABLE_TEXT};
    enum status st = command_line_read(&cmd_doctor_line, argc, argv, &options);
    if (st) return st;

    struct report report = {0};
    st = survey_machine(&report.findings);
    if (st) return st;
    judge_survey(&report);
    look_at_configs(&report);
    look_at_database(&report, options.db);
    look_at_system(&report);
    look_at_cache(&report, options.cache);
    look_at_environment(&report);
    st = print(&report, options.format);
    json_decref(report.findings);
    if (st) return st;
    return report.blocker ? fail(report.blocker, "%s", report.why) : OK;
}
