#include "db_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Rows whose hash differs from that of their content. */
static const struct {
    const char *what, *sql;
} hashes[] = {
    {"GPUs", "SELECT min(id) FROM gpus WHERE hash <> content_hash(name, arch, sm_count)"},
    {"GPU figures",
     "SELECT min(id) FROM gpu_figures f WHERE hash <> content_hash((SELECT hash FROM gpus WHERE id = "
     "f.gpu_id), " DB_FIGURES_CONTENT ", " DB_FIGURES_RATES ")"},
    {"problems", "SELECT min(id) FROM problems WHERE hash <> content_hash(text)"},
    {"configurations",
     "SELECT min(id) FROM configs WHERE hash <> content_hash(template, kernel_hash, schema_hash, text)"},
    {"runs", "SELECT min(id) FROM runs r WHERE hash <> content_hash((SELECT hash FROM gpus WHERE id = "
             "r.gpu_id), (SELECT "
             "hash FROM gpu_figures WHERE id = r.figures_id), " DB_RUN_CONTENT ")"},
    {"trials", NULL}, /* db_check_trials */
    {"decisions", "SELECT min(id) FROM decisions x WHERE hash <> content_hash((SELECT hash FROM runs WHERE "
                  "id = x.run_id), "
                  "(SELECT hash FROM problems WHERE id = x.problem_id), (SELECT hash FROM configs WHERE id = "
                  "x.config_id), " DB_EVIDENCE ", " DB_DECISION_CONTENT ")"},
};

/* Values that are stored twice for speed. */
static const struct {
    const char *what, *sql;
} doubles[] = {
    {"a trial's GPU is its run's", NULL}, /* db_check_trials */
    {"a decision's GPU is its run's",
     "SELECT min(d.id) FROM decisions d JOIN runs r ON r.id = d.run_id WHERE d.gpu_id <> r.gpu_id"},
    {"a winner is its decision's",
     "SELECT min(d.id) FROM winners w JOIN decisions d ON d.id = w.decision_id WHERE "
     "(w.gpu_id, w.problem_id, w.cold) <> (d.gpu_id, d.problem_id, d.cold)"},
};

struct checking {
    struct db *db;
    void (*visit)(void *self, const char *what, const char *finding);
    void *self;
    bool clean;
};

static void tell(struct checking *c, const char *what, const char *finding)
{
    if (finding[0]) c->clean = false;
    c->visit(c->self, what, finding);
}

/* Runs a check: its first row's first column must be NULL, absent or `good`. */
static enum status ask(struct checking *c, sqlite3 *handle, const char *what, const char *sql,
                       const char *good, const char *format)
{
    sqlite3_stmt *stmt = NULL;
    char finding[256] = "";
    int rc = sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL);
    if (!rc) rc = sqlite3_step(stmt);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    if (text && !(good && strcmp(text, good) == 0))
        snprintf(finding, sizeof finding, "%s%.200s", format, text);
    enum status st =
        rc == SQLITE_ROW || rc == SQLITE_DONE ? OK : db_error(handle, c->db->path, rc, "check it");
    sqlite3_finalize(stmt);
    if (!st) tell(c, what, finding);
    return st;
}

/* True if type, op and epilogue agree with the text. */
static bool is_kind(struct reader *r, const char *text, const struct problem *p)
{
    char type[DB_TEXT_MAX], op[8], epilogue[DB_TEXT_MAX], wanted[EPILOGUE_TEXT_MAX];
    read_text(r, "type", type, sizeof type);
    read_text(r, "op", op, sizeof op);
    read_text(r, "epilogue", epilogue, sizeof epilogue);
    epilogue_format(p->epilogue, wanted);
    const size_t length = strcspn(text, ":");
    return strlen(type) == length && strncmp(type, text, length) == 0 &&
           strcmp(op, problem_op_name(p)) == 0 && strcmp(epilogue, wanted) == 0;
}

/* True for a problem that only a later version can read, as far as that can be seen: the columns have the
 * right types. */
static bool is_of_later_version(sqlite3_stmt *stmt, const char *text)
{
    struct reader r = {.stmt = stmt, .next = 2};
    char type[DB_TEXT_MAX], word[DB_TEXT_MAX];
    static const char *const words[] = {"op", "epilogue"}, *const sizes[] = {"m", "n", "k", "batch"};
    read_text(&r, "type", type, sizeof type);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) read_text(&r, words[i], word, sizeof word);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) read_long(&r, sizes[i], 0, INT64_MAX);
    return !r.bad && db_may_be_of_later_version(text, type);
}

static enum status check_problems(struct checking *c)
{
    const struct binder b =
        db_bind(c->db, "SELECT id, text, type, op, epilogue, m, n, k, batch FROM problems ORDER BY id");
    char finding[512] = "";
    enum status st = OK;
    bool row;
    while (!finding[0] && !(st = db_next(c->db, &b, &row, "check the problems")) && row) {
        struct reader r = read_start(b.stmt);
        struct problem p = {0};
        char text[PROBLEM_TEXT_MAX], canonical[PROBLEM_TEXT_MAX] = "";
        int64_t id = read_long(&r, "id", 1, INT64_MAX);
        read_text(&r, "text", text, sizeof text);
        if (!r.bad && is_of_later_version(b.stmt, text)) continue;
        if (!r.bad && problem_parse(text, &p) == OK) problem_key(&p, canonical);
        if (!is_kind(&r, canonical, &p) && !r.bad) r.bad = "type";
        read_long(&r, "m", p.m, p.m);
        read_long(&r, "n", p.n, p.n);
        read_long(&r, "k", p.k, p.k);
        read_long(&r, "batch", p.batch, p.batch);
        if (r.bad || strcmp(text, canonical) != 0)
            snprintf(finding, sizeof finding, "problem %" PRId64 " ('%.100s') is not in its canonical form",
                     id, text);
    }
    db_done(&b);
    if (!st) tell(c, "texts of problems", finding);
    return st;
}

enum status db_check_each(struct db *db, void (*visit)(void *self, const char *what, const char *finding),
                          void *self, bool *clean)
{
    struct checking c = {.db = db, .visit = visit, .self = self, .clean = true};
    sqlite3 *handle = db->handle, *file = db->file ? db->file : handle;
    struct db_trial_findings trials;
    enum status st = ask(&c, file, "structure of the file", "PRAGMA integrity_check(1)", "ok", "");
    if (!st && c.clean)
        st = ask(&c, file, "references between tables",
                 "SELECT \"table\" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check",
                 NULL, "");
    if (!st && c.clean) st = db_check_trials(db, &trials);
    for (size_t i = 0; !st && c.clean && i < sizeof doubles / sizeof *doubles; i++) {
        if (doubles[i].sql) st = ask(&c, handle, doubles[i].what, doubles[i].sql, NULL, "not so in row ");
        else tell(&c, doubles[i].what, trials.gpu);
    }
    for (size_t i = 0; !st && c.clean && i < sizeof hashes / sizeof *hashes; i++) {
        char what[64];
        snprintf(what, sizeof what, "content of %s", hashes[i].what);
        if (hashes[i].sql) st = ask(&c, handle, what, hashes[i].sql, NULL, "does not match its hash in row ");
        else tell(&c, what, trials.content);
    }
    if (!st && c.clean) st = check_problems(&c);
    if (!st && c.clean) tell(&c, "values of trials", trials.values);
    if (!st && c.clean) {
        char finding[256];
        if (!(st = db_check_values(db, finding, sizeof finding))) tell(&c, "other values", finding);
    }
    *clean = !st && c.clean;
    return st;
}

struct lines {
    char *text;
    size_t room, used;
};

static void add_line(void *self, const char *what, const char *finding)
{
    struct lines *lines = self;
    if (!finding[0] || lines->used >= lines->room) return;
    int length = snprintf(lines->text + lines->used, lines->room - lines->used, "%s: %s\n", what, finding);
    if (length > 0) lines->used += (size_t)length;
}

enum status db_check(struct db *db, char *text, size_t room, bool *clean)
{
    struct lines lines = {.text = text, .room = room};
    if (room) text[0] = '\0';
    return db_check_each(db, add_line, &lines, clean);
}

enum status db_check_whole(struct db *db)
{
    char text[300];
    bool clean = false;
    if (db->created) return OK;
    if (db->mode == DB_WRITE) db_guard(db, false); /* the guard would take pragma tables for new tables */
    /* What the schema's CHECKs ask is asked by the checks of hashes and values, too, at a fraction of the
     * cost: SQLite makes the list of verdicts anew for each trial. A reader does not even know the CHECKs. */
    enum status st =
        db_exec(db, DB_CACHE_BULK "; PRAGMA ignore_check_constraints = ON", "prepare for checking");
    if (!st) st = db_check(db, text, sizeof text, &clean);
    if (db->mode == DB_WRITE) db_guard(db, true);
    const enum status normal =
        db_exec(db, DB_CACHE "; PRAGMA ignore_check_constraints = OFF", "set the size of its cache");
    if (!st) st = normal;
    if (st || clean) return st;
    text[strcspn(text, "\n")] = '\0';
    return fail(E_DB,
                "%s fails its check (%s): it is neither read nor written; tune verify lists the damage; go "
                "on with a backup or a new file%s",
                db->path, text, db_choose);
}

enum status db_count(struct db *db, struct db_counts *counts)
{
    const struct {
        const char *sql;
        int64_t *value;
    } parts[] = {{"SELECT count(*) FROM gpus", &counts->gpus},
                 {"SELECT count(*) FROM problems", &counts->problems},
                 {"SELECT count(*) FROM configs", &counts->configs},
                 {"SELECT count(*) FROM runs", &counts->runs},
                 {"SELECT count(*) FROM trials", &counts->trials},
                 {"SELECT count(*) FROM attempts", &counts->attempts},
                 {"SELECT count(*) FROM decisions", &counts->decisions},
                 {"SELECT count(*) FROM winners", &counts->winners}};
    enum status st = OK;
    for (size_t i = 0; !st && i < sizeof parts / sizeof *parts; i++) {
        struct binder b = db_bind(db, parts[i].sql);
        st = db_integer(db, &b, parts[i].value, "count rows");
    }
    return st;
}
