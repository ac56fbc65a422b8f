/* db_files.h — the file of a database as others see it: what it looks like, and changed as anybody could. */
#ifndef GT_DB_FILES_H
#define GT_DB_FILES_H

#include "store.h"

/* Its bytes; size -1 where there is none. */
struct look {
    char *bytes;
    long size;
};

static inline struct look look_at(const char *path)
{
    struct look look = {.size = -1};
    FILE *file = fopen(path, "rb");
    if (!file) return look;
    fseek(file, 0, SEEK_END);
    look.size = ftell(file);
    rewind(file);
    look.bytes = malloc((size_t)look.size + 1);
    assert_int_equal(fread(look.bytes, 1, (size_t)look.size, file), look.size);
    fclose(file);
    return look;
}

/* Frees what the file looked like before. */
static inline void assert_looks_like(const char *path, struct look before)
{
    struct look after = look_at(path);
    assert_int_equal(after.size, before.size);
    if (after.size > 0) assert_memory_equal(after.bytes, before.bytes, (size_t)after.size);
    free(after.bytes);
    free(before.bytes);
}

/* A database with some trials and a winner, at rest. */
static inline void make_database(int trials)
{
    struct db *db = store_open(DB_WRITE);
    const struct problem problem = problem_make(64, 64, 64);
    const int64_t run = store_some(db, trials);
    struct db_winner w = {
        .base.problem = problem, .config = store_legal_config(), .base.cold = true, .base.time_us = 1};
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    db_close(db);
}

/* Run SQL on the file as anybody could. */
static inline void meddle(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    char *why = NULL;
    if (sqlite3_exec(handle, sql, NULL, NULL, &why)) fail_msg("%s: %s", sql, why);
    sqlite3_close(handle);
}

#endif
