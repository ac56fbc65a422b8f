/* db_own.c — texts of own kernels, whose configurations are in the file (kernel_templates/own/own.h). A text
 * is code that would be compiled and run: what nobody but this user and root could have written is offered to
 * db_take_kernel, the rest only listed.
 */
#include "db_internal.h"

#include "db_exchange.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status (*db_take_kernel)(const char *text);
bool db_accepts_kernels;

#define TEXT_BYTES_MOST (4 << 20)

/* A table that only files with own kernels have, so that no other file has to grow; a program that does not
 * know it leaves it alone. name: of the template. */
#define KERNELS_TABLE                                                                                        \
    "CREATE TABLE own_kernels (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID"
#define FIND_TABLE "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'own_kernels'"

static enum status make_table(struct db *db)
{
    const struct binder b = db_bind(db, FIND_TABLE);
    int64_t has = 0;
    enum status st = db_integer(db, &b, &has, "look for own kernels");
    if (st || has) return st;
    db_guard(db, false);
    st = db_exec(db, KERNELS_TABLE, "store the text of an own kernel");
    db_guard(db, true);
    return st;
}

static enum status store(struct db *db, const char *name, const char *text)
{
    enum status st = make_table(db);
    if (st) return st;
    struct binder b =
        db_bind(db, "INSERT INTO own_kernels (name, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    bind_text(&b, name);
    bind_text(&b, text);
    return db_run(db, &b, NULL, "store the text of an own kernel");
}

enum status db_keep_kernel(struct db *db, const struct template *t)
{
    return store(db, t->name, t->own);
}

static enum status visit_row(struct db *db, sqlite3_stmt *row,
                             enum status (*visit)(void *, const char *, const char *), void *self)
{
    const char *const name = (const char *)sqlite3_column_text(row, 0), *const text =
                                                                            (const char *)sqlite3_column_text(
                                                                                row, 1);
    const bool good =
        name && text && sqlite3_column_bytes(row, 1) < TEXT_BYTES_MOST && strlen(name) < DB_TEXT_MAX;
    return good ? visit(self, name, text) : db_broken(db, "own_kernels", 0);
}

/* Of the file itself: a copy that has grown for reading need not have the table. */
enum status db_own_kernels(struct db *db,
                           enum status (*visit)(void *self, const char *name, const char *text), void *self)
{
    sqlite3 *const file = db->file ? db->file : db->handle;
    sqlite3_stmt *rows = NULL;
    int64_t has = 0;
    int rc = db_ask(file, FIND_TABLE, &has);
    if (rc) return db_error(file, db->path, rc, "look for own kernels");
    if (!has) return OK;
    enum status st = OK;
    rc = sqlite3_prepare_v2(file, "SELECT name, text FROM own_kernels ORDER BY name", -1, &rows, NULL);
    while (!rc && !st && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
        st = visit_row(db, rows, visit, self);
        rc = SQLITE_OK;
    }
    if (!st && rc && rc != SQLITE_DONE) st = db_error(file, db->path, rc, "read its own kernels");
    sqlite3_finalize(rows);
    return st;
}

bool db_is_trusted(const char *path, char why[DB_LACKING_MAX])
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    const bool group = info.st_mode & S_IWGRP && info.st_gid != info.st_uid;
    if ((info.st_uid == 0 || info.st_uid == geteuid()) && !group && !(info.st_mode & S_IWOTH)) return true;
    snprintf(why, DB_LACKING_MAX,
             "%.400s belongs to user %lu and has mode %04o: others could have written its own kernels, which "
             "are not used; "
             "let it belong to you or to root, and chmod go-w it",
             path, (unsigned long)info.st_uid, (unsigned)info.st_mode & 07777);
    return false;
}

static enum status take(void *self, const char *name, const char *text)
{
    (void)self, (void)name;
    /* One that is not understood stays unknown, and its rows unusable. */
    const enum status st = db_take_kernel(text);
    return st == E_MEMORY ? st : OK;
}

enum status db_take_own(struct db *db)
{
    char why[DB_LACKING_MAX];
    if (!db_take_kernel || !db_is_trusted(db->path, why)) return OK;
    return db_own_kernels(db, take, NULL);
}

/* ---- from another file ---- */

struct copying {
    struct db *to, *from;
    int count;
    char names[200];
};

static enum status note_new(void *self, const char *name, const char *text)
{
    struct copying *c = self;
    int64_t known = 0;
    const enum status made = make_table(c->to);
    if (made) return made;
    struct binder b = db_bind(c->to, "SELECT count(*) FROM own_kernels WHERE name = ?1 AND text = ?2");
    bind_text(&b, name);
    bind_text(&b, text);
    const enum status st = db_integer(c->to, &b, &known, "look for an own kernel");
    if (st || known) return st;
    const size_t used = strlen(c->names);
    snprintf(c->names + used, sizeof c->names - used, "%s%.60s", c->count ? ", " : "", name);
    c->count++;
    return OK;
}

static enum status copy_kernel(void *self, const char *name, const char *text)
{
    return store(((struct copying *)self)->to, name, text);
}

enum status db_copy_own(struct db *to, struct db *from, struct db_merged *merged)
{
    struct copying c = {.to = to, .from = from};
    enum status st = db_own_kernels(from, note_new, &c);
    if (!st && c.count && !db_accepts_kernels)
        return fail(E_INPUT,
                    "%s has %d own kernel%s that this file has not (%.180s): that is code, which would run "
                    "on your GPUs; "
                    "--accept-kernels takes it",
                    from->path, c.count, c.count == 1 ? "" : "s", c.names);
    if (!st) st = db_own_kernels(from, copy_kernel, &c);
    if (st || !c.count) return st;
    if (!merged->kernels) memcpy(merged->kernel_names, c.names, sizeof merged->kernel_names);
    merged->kernels += c.count;
    return OK;
}
