#include "db_internal.h"

#include <stdlib.h>
#include <string.h>

static enum status store_note(struct db *db, int64_t run_id, const struct problem *problem, const char *text)
{
    int64_t problem_id;
    enum status st = db_add_problem(db, problem, &problem_id);
    if (st) return st;
    struct binder b;
    st = db_prepare_with(db,
                         "INSERT INTO search_notes (run_id, problem_id, text) "
                         "VALUES (?1, ?2, ?3) "
                         "ON CONFLICT DO NOTHING",
                         (int64_t[]){run_id, problem_id}, 2, &b);
    if (st) return st;
    bind_text(&b, text);
    return db_run(db, &b, NULL, "store a note");
}

enum status db_note(struct db *db, int64_t run_id, const struct problem *problem, const char *text)
{
    enum status st = db_begin(db);
    return st ? st : db_end(db, store_note(db, run_id, problem, text));
}

static enum status list_notes(struct db *db, int64_t gpu_id, int64_t problem_id,
                              bool (*visit)(void *self, const struct db_search_note *note), void *self,
                              bool *more)
{
    struct binder b;
    enum status st = db_prepare_with(db,
                                     "SELECT n.run_id, r.started_us, n.text "
                                     "FROM search_notes n "
                                     "JOIN runs r ON r.id = n.run_id "
                                     "WHERE r.gpu_id = ?1 AND (?2 = 0 OR n.problem_id = ?2) "
                                     "ORDER BY r.started_us DESC, n.run_id DESC, n.text",
                                     (int64_t[]){gpu_id, problem_id}, 2, &b);
    if (st) return st;
    bool row;
    while (*more && !(st = db_step(db, b.stmt, &row, "read the notes")) && row) {
        struct reader r = read_start(b.stmt);
        struct db_search_note note;
        note.run_id = read_long(&r, "run_id", 1, INT64_MAX);
        db_time_text(read_long(&r, "started_us", 0, DB_TIME_MAX), note.when);
        read_text(&r, "note", note.text, sizeof note.text);
        if (r.bad && (st = db_broken(db, r.bad, note.run_id))) break;
        *more = visit(self, &note);
    }
    sqlite3_reset(b.stmt);
    return st;
}

enum status db_notes(struct db *db, const struct db_filter *filter,
                     bool (*visit)(void *self, const struct db_search_note *note), void *self)
{
    int64_t *gpus, problem_id;
    int count;
    bool more = true;
    enum status st = db_match(db, filter, &gpus, &count, &problem_id);
    for (int i = 0; !st && more && i < count; i++)
        st = list_notes(db, gpus[i], problem_id, visit, self, &more);
    free(gpus);
    return st;
}
