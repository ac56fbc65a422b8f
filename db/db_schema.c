#include "db_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const char text_schema_sql[];

/* The next version gets a row here, and one in steps (docs/database.md). */
static const char *const schemas[DB_VERSION - DB_OLDEST + 1] = {text_schema_sql};

/* Additions to version 2; docs/database.md says what may be added. */
static const char *const growth[] = {
    /* Notes about a run's search for a problem, one sentence each; shown by explain. */
    "CREATE TABLE search_notes (run_id INTEGER NOT NULL REFERENCES runs (id), "
    "problem_id INTEGER NOT NULL REFERENCES problems (id), text TEXT NOT NULL, "
    "PRIMARY KEY (run_id, problem_id, text)) STRICT, WITHOUT ROWID",
    /* A user's decision for a problem on a GPU. pin 1: this configuration is the winner (of several the one
     * changed last); 0: it never is. holds 0: removed. changed_us: time of the change, in the same form as
     * all times. */
    "CREATE TABLE preferences (gpu_id INTEGER NOT NULL REFERENCES gpus (id), "
    "problem_id INTEGER NOT NULL REFERENCES problems (id), pin INTEGER NOT NULL, config TEXT NOT NULL, "
    "holds INTEGER NOT NULL, changed_us INTEGER NOT NULL, "
    "PRIMARY KEY (gpu_id, problem_id, pin, config)) STRICT, WITHOUT ROWID",
    /* bool: its configuration was pinned, not chosen among others */
    "ALTER TABLE decisions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    /* How the calls of the race that decided were timed: 0 repeated alone, 1 behind another kernel, 2 under
     * load (timing.h). objective: what the winner was chosen by, 0 time, 1 energy. joules, rival_joules: the
     * energy of a call by the board's counter; 0: not measured. */
    "ALTER TABLE decisions ADD COLUMN timing INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE decisions ADD COLUMN objective INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE decisions ADD COLUMN joules REAL NOT NULL DEFAULT 0; "
    "ALTER TABLE decisions ADD COLUMN rival_joules REAL NOT NULL DEFAULT 0",
    /* The same of a block, and the GPU's state at its end: MHz, watt (the driver's mean, which lags by up to
     * a second), NVML's bit mask; 0: unknown. */
    "ALTER TABLE decision_samples ADD COLUMN timing INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE decision_samples ADD COLUMN joules REAL NOT NULL DEFAULT 0; "
    "ALTER TABLE decision_samples ADD COLUMN sm_clock_mhz INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE decision_samples ADD COLUMN power_w REAL NOT NULL DEFAULT 0; "
    "ALTER TABLE decision_samples ADD COLUMN throttle_reasons INTEGER NOT NULL DEFAULT 0",
};

const struct db_form db_form = {.oldest = DB_OLDEST,
                                .version = DB_VERSION,
                                .schemas = schemas,
                                .growth = growth,
                                .growth_count = sizeof growth / sizeof *growth};

int db_ask(sqlite3 *handle, const char *sql, int64_t *value)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL);
    if (rc) return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) *value = sqlite3_column_int64(stmt, 0);
    int finalized = sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : finalized;
}

enum status db_identify(sqlite3 *handle, const char *path, const struct db_form *form, int *version,
                        bool *empty)
{
    int64_t application = 0, user = 0, objects = 0;
    int rc = db_ask(handle, "PRAGMA application_id", &application);
    if (!rc) rc = db_ask(handle, "PRAGMA user_version", &user);
    if (!rc) rc = db_ask(handle, "SELECT count(*) FROM sqlite_schema", &objects);
    if (rc) return db_error(handle, path, rc, "read it");
    *version = 0;
    *empty = application == 0 && user == 0 && objects == 0;
    if (*empty) return OK;
    if (application != DB_APPLICATION_ID)
        return fail(E_DB, "%s is an SQLite database of another program; name another file%s", path,
                    db_choose);
    if (user > form->version)
        return fail(
            E_DB,
            "%s has version %lld, this program knows versions up to %d; use a newer gemmtune, or another "
            "file%s",
            path, (long long)user, form->version, db_choose);
    if (user < 1)
        return fail(E_DB, "%s has the impossible version %lld: it is damaged", path, (long long)user);
    if (user < form->oldest)
        return fail(E_DB,
                    "%s is a database of version %lld, from before the first release: no published gemmtune "
                    "wrote it or reads it; put it aside and tune again, or name another file%s",
                    path, (long long)user, db_choose);
    *version = (int)user;
    return OK;
}

/* Of four bytes of a file's header, the highest first. */
static uint32_t header_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

bool db_is_newer(const char *path)
{
    enum { USER_VERSION = 60, APPLICATION_ID = 68, HEADER_BYTES = 100 };
    unsigned char header[HEADER_BYTES] = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    if (file < 0) return false;
    const bool whole = pread(file, header, sizeof header, 0) == sizeof header;
    close(file);
    const uint32_t version = header_number(header + USER_VERSION);
    return whole && memcmp(header, "SQLite format 3", 16) == 0 &&
           header_number(header + APPLICATION_ID) == DB_APPLICATION_ID && version > DB_VERSION &&
           version <= INT32_MAX;
}

/* Stores the check's first finding as a sentence. */
static int keep_finding(void *text, int count, char **values, char **names)
{
    (void)names;
    char *finding = text;
    if (count > 0 && values[0] && !finding[0]) snprintf(finding, 200, "%s", values[0]);
    return 0;
}

enum status db_check_structure(sqlite3 *handle, const char *path, bool full)
{
    char finding[200] = "";
    const char *sql = full ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)";
    int rc = sqlite3_exec(handle, sql, keep_finding, finding, NULL);
    if (rc) return db_error(handle, path, rc, "check it");
    if (strcmp(finding, "ok") == 0) return OK;
    return fail(E_DB, "%s is damaged (%s); put it aside and go on with a backup or a new file%s", path,
                finding, db_choose);
}

/* --- is it the schema that we know? --- */

#define SCHEMA_SQL "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

enum likeness { SAME, MORE, OTHER };

static const char *text_of(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The place where ALTER TABLE inserts a new column: before the constraints of the table. */
static const char *end_of_columns(const char *table)
{
    const char *key = strstr(table, "\n    PRIMARY KEY ("), *end = key;
    if (!key) return strrchr(table, ')');
    while (end > table && end[-1] != '\n') end--;
    const char *comment = strstr(end, "--");
    for (end = comment && comment < key ? comment : key; end > table && *end != ',';) end--;
    return end;
}

/* Additions without parentheses and quotes cannot compute anything. */
static bool has_plain_columns_more(const char *ours, const char *theirs)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ,.-'";
    const char *end = end_of_columns(ours);
    if (!end || strlen(theirs) <= strlen(ours)) return false;
    const char *added = theirs + (end - ours);
    const size_t more = strlen(theirs) - strlen(ours);
    return strncmp(ours, theirs, (size_t)(end - ours)) == 0 && strcmp(end, added + more) == 0 &&
           begins(added, ", ") && strspn(added, plain) >= more && !memmem(added, more, "--", 2);
}

/* Tables that this program does not know are never read, and indices of plain columns change no result;
 * views, triggers and virtual tables could. */
static bool is_harmless(sqlite3 *model, sqlite3_stmt *stmt)
{
    const char *type = text_of(stmt, 0), *sql = text_of(stmt, 3);
    sqlite3_stmt *known;
    if (strcmp(type, "table") == 0) return begins(sql, "CREATE TABLE ");
    if (strcmp(type, "index") != 0) return false;
    if (sql[0]) {
        const char *open = strchr(sql, '(');
        return begins(sql, "CREATE INDEX ") && open && strcspn(open + 1, "(") == strlen(open + 1) &&
               strcspn(open, ")") + 1 == strlen(open);
    }
    /* An index made by a constraint: on a table of ours it would refuse rows. */
    bool ours = true;
    if (sqlite3_prepare_v2(model, "SELECT 1 FROM sqlite_schema WHERE name = ?1", -1, &known, NULL) ==
            SQLITE_OK &&
        sqlite3_bind_text(known, 1, text_of(stmt, 2), -1, SQLITE_TRANSIENT) == SQLITE_OK)
        ours = sqlite3_step(known) != SQLITE_DONE;
    sqlite3_finalize(known);
    return !ours;
}

static enum likeness compare_object(sqlite3_stmt *ours, sqlite3_stmt *theirs)
{
    if (strcmp(text_of(ours, 2), text_of(theirs, 2)) != 0) return OTHER;
    if (sqlite3_column_type(ours, 3) != sqlite3_column_type(theirs, 3)) return OTHER;
    if (strcmp(text_of(ours, 3), text_of(theirs, 3)) == 0) return SAME;
    const bool table = strcmp(text_of(ours, 0), "table") == 0;
    return table && has_plain_columns_more(text_of(ours, 3), text_of(theirs, 3)) ? MORE : OTHER;
}

/* Compares two schemas object by object; *name: the first difference. */
static int compare(sqlite3 *model, sqlite3_stmt *ours, sqlite3_stmt *theirs, char name[100],
                   enum likeness *like)
{
    int x = sqlite3_step(ours), y = sqlite3_step(theirs);
    *like = SAME;
    while (*like != OTHER && (x == SQLITE_ROW || y == SQLITE_ROW)) {
        if (x != SQLITE_ROW && x != SQLITE_DONE) return x;
        if (y != SQLITE_ROW && y != SQLITE_DONE) return y;
        int order = x != SQLITE_ROW ? 1 : y != SQLITE_ROW ? -1 : strcmp(text_of(ours, 0), text_of(theirs, 0));
        if (!order) order = strcmp(text_of(ours, 1), text_of(theirs, 1));
        enum likeness object = order < 0    ? OTHER
                               : order == 0 ? compare_object(ours, theirs)
                                            : (is_harmless(model, theirs) ? MORE : OTHER);
        if (object > *like) *like = object;
        if (object == OTHER) snprintf(name, 100, "%s", text_of(order < 0 ? ours : theirs, 1));
        if (order <= 0) x = sqlite3_step(ours);
        if (order >= 0) y = sqlite3_step(theirs);
    }
    return x == SQLITE_ROW || x == SQLITE_DONE ? SQLITE_OK : x;
}

int db_make_tables(sqlite3 *handle, const struct db_form *form, int version, int grown)
{
    int rc = sqlite3_exec(handle, form->schemas[version - form->oldest], NULL, NULL, NULL);
    for (int i = 0; !rc && i < grown; i++) rc = sqlite3_exec(handle, form->growth[i], NULL, NULL, NULL);
    return rc;
}

static enum status compare_with(sqlite3 *handle, const char *path, const struct db_form *form, int version,
                                int grown, char name[100], enum likeness *like)
{
    sqlite3 *model = NULL;
    sqlite3_stmt *ours = NULL, *theirs = NULL;
    int rc = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (!rc) rc = db_make_tables(model, form, version, grown);
    if (!rc) rc = sqlite3_prepare_v2(model, SCHEMA_SQL, -1, &ours, NULL);
    enum status st = rc ? db_error(model, path, rc, "build the schema to compare with") : OK;
    if (!st) rc = sqlite3_prepare_v2(handle, SCHEMA_SQL, -1, &theirs, NULL);
    if (!st && !rc) rc = compare(model, ours, theirs, name, like);
    if (!st && rc) st = db_error(handle, path, rc, "read its schema");
    sqlite3_finalize(ours);
    sqlite3_finalize(theirs);
    sqlite3_close(model);
    return st;
}

enum status db_check_schema(sqlite3 *handle, const char *path, const struct db_form *form, int version,
                            int *missing)
{
    const int most = version == form->version ? form->growth_count : 0;
    char first[100] = "", name[100];
    enum likeness like = OTHER, full = OTHER;
    enum status st = OK;
    for (int grown = most; !st && like != SAME && grown >= 0; grown--) {
        *missing = most - grown;
        st = compare_with(handle, path, form, version, grown, grown == most ? first : name, &like);
        if (grown == most) full = like;
    }
    if (st || like == SAME) return st;
    *missing = 0;
    if (full == MORE && version == form->version) return OK;
    return fail(E_DB,
                "%s calls itself version %d of gemmtune's database, but its tables differ (%s): another "
                "program changed it; name another file%s",
                path, version, first, db_choose);
}
