#include "db_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_of_later_version(struct db *db, const char *text)
{
    struct problem problem;
    int64_t intact = 0;
    if (!text || problem_parse(text, &problem) == OK) return false;
    struct binder b = db_bind(db, "SELECT hash IS content_hash(text) FROM problems WHERE text = ?1");
    bind_text(&b, text);
    return db_integer(db, &b, &intact, "look for a problem") == OK && intact;
}

bool db_is_of_later_version(struct db *db, const char *text)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    const bool later = is_of_later_version(db, text);
    fail(E_DB, "%s", sentence); /* what was said before */
    return later;
}

bool db_may_be_of_later_version(const char *text, const char *type)
{
    const size_t length = strcspn(text, ":");
    struct problem problem;
    for (const char *c = text; *c; c++)
        if (!isgraph((unsigned char)*c)) return false;
    return text[length] == ':' && strlen(type) == length && strncmp(type, text, length) == 0 &&
           problem_parse(text, &problem) != OK;
}

/* Adds the number that a statement gives for a problem. */
static enum status add_count(struct db *db, const char *sql, int64_t problem_id, int64_t *count)
{
    int64_t more = 0;
    struct binder b = db_bind(db, sql);
    bind_int(&b, problem_id);
    const enum status st = db_integer(db, &b, &more, "count rows");
    *count += more;
    return st;
}

enum status db_count_later(struct db *db, struct db_later *later)
{
    *later = (struct db_later){.problems = 0};
    if (!db->left_out) return OK;
    const struct binder b = db_bind(db, "SELECT id, text FROM problems ORDER BY id");
    enum status st = OK;
    bool row;
    while (!st && !(st = db_next(db, &b, &row, "count rows")) && row) {
        const int64_t id = sqlite3_column_int64(b.stmt, 0);
        if (!db_is_of_later_version(db, (const char *)sqlite3_column_text(b.stmt, 1))) continue;
        later->problems++;
        st = add_count(db, "SELECT count(*) FROM trials WHERE problem_id = ?1", id, &later->trials);
        if (!st)
            st = add_count(db, "SELECT count(*) FROM winners WHERE problem_id = ?1", id, &later->winners);
    }
    db_done(&b);
    return st;
}
