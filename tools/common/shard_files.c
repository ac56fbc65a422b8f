#include "shard_files.h"

#include "command_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void refuse(struct shard_file *file, enum status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(struct shard_file *file, enum status st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(file->why, sizeof file->why, format, args);
    va_end(args);
    file->st = st;
}

static enum status read_mark(struct shard_file *file)
{
    struct db *db;
    enum status st = db_open(file->path, DB_READ, &db);
    if (st == E_DB) file->other_version = db_is_newer(file->path);
    if (st) return st;
    st = db_shard_get(db, &file->shard);
    char why[DB_LACKING_MAX];
    if (st == E_ABSENT && db_lacks_log(db, why))
        st = fail(E_INPUT, "%s does not say which shard it is: %s", file->path, why);
    else if (st == E_ABSENT)
        st = fail(
            E_INPUT,
            "%s belongs to no shard: it was made without --shard; tune merge takes it in without --shards",
            file->path);
    db_close(db);
    return st;
}

static void judge(struct shard_file *file, const struct shard_kind *kind, const char *version)
{
    const struct db_shard *s = &file->shard;
    if (strcmp(s->suite, kind->suite) != 0)
        refuse(file, E_INPUT, "%s is shard %d/%d of another suite (%s, not %s)", file->path, s->number,
               s->count, s->suite, kind->suite);
    else if (s->count != kind->count)
        refuse(file, E_INPUT, "%s is one of %d shards of this suite, not of %d", file->path, s->count,
               kind->count);
    else if ((file->other_version = strcmp(s->version, version) != 0))
        refuse(file, E_INPUT,
               "%s was tuned by tune %s, and this is tune %s: merge it with that one, or without --shards",
               file->path, s->version, version);
}

enum status shard_files_read(struct shard_file *files, int count, struct shard_kind *kind)
{
    const char *blank = strchr(command_version, ' '), *version = blank ? blank + 1 : command_version;
    for (int i = 0; i < count; i++) {
        struct shard_file *f = &files[i];
        f->st = read_mark(f);
        if (f->st == E_MEMORY) return f->st;
        if (f->st) snprintf(f->why, sizeof f->why, "%.500s", status_text());
        if (f->st || *kind->suite) continue;
        snprintf(kind->suite, sizeof kind->suite, "%s", f->shard.suite);
        kind->count = f->shard.count;
    }
    for (int i = 0; i < count; i++)
        if (!files[i].st) judge(&files[i], kind, version);
    return OK;
}
