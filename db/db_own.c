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

enum status db_keep_kernel(struct db *db, const struct template *t)
{
    struct binder b =
        db_bind(db, "INSERT INTO own_kernels (name, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    bind_text(&b, t->name);
    bind_text(&b, t->own);
    return db_run(db, &b, NULL, "store the text of an own kernel");
}

/* Files of before have no such table. */
static enum status has_table(struct db *db, int64_t *has)
{
    const struct binder b =
        db_bind(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'own_kernels'");
    return db_integer(db, &b, has, "look for own kernels");
}

enum status db_own_kernels(struct db *db,
                           enum status (*visit)(void *self, const char *name, const char *text), void *self)
{
    int64_t has;
    enum status st = has_table(db, &has);
    if (st || !has) return st;
    const struct binder read = db_bind(db, "SELECT name, text FROM own_kernels ORDER BY name");
    bool row;
    while (!st && !(st = db_next(db, &read, &row, "read own kernels")) && row) {
        const char *const name = (const char *)sqlite3_column_text(read.stmt, 0), *const text = (const char *)
                                                                                      sqlite3_column_text(
                                                                                          read.stmt, 1);
        if (!name || !text || sqlite3_column_bytes(read.stmt, 1) >= TEXT_BYTES_MOST ||
            strlen(name) >= DB_TEXT_MAX)
            st = db_broken(db, "own_kernels", 0);
        else st = visit(self, name, text);
    }
    db_done(&read);
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
    struct copying *c = self;
    struct binder b =
        db_bind(c->to, "INSERT INTO own_kernels (name, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    bind_text(&b, name);
    bind_text(&b, text);
    return db_run(c->to, &b, NULL, "copy the text of an own kernel");
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
